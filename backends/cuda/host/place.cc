// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/place.h"

#include <cstdarg>
#include <cstdio>
#include <unistd.h>

namespace tilescope::cuda::host {

Place place;

void fail(const char* format, ...) {
  if (*place.kernel != '\0') std::fprintf(stderr, "%s: ", place.kernel);
  if (place.block >= 0) std::fprintf(stderr, "block %lld, ", place.block);
  if (place.thread >= 0) std::fprintf(stderr, "thread %d, ", place.thread - place.first_thread);
  if (place.line > 0) std::fprintf(stderr, "line %d: ", place.line);
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  _exit(1);
}

}  // namespace tilescope::cuda::host
