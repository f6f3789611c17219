// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file that $FAKE_DRIVER_LOG names: what the fake libraries were asked, a line each.

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tilescope::tests {

inline void log_line(const std::string& what) {
  const char* file = std::getenv("FAKE_DRIVER_LOG");
  if (file == nullptr) return;
  std::FILE* log = std::fopen(file, "a");
  std::fprintf(log, "%s\n", what.c_str());
  std::fclose(log);
}

// "NAME A B C".
template <class... Numbers>
void log_call(const char* name, Numbers... numbers) {
  log_line((name + ... + (" " + std::to_string(numbers))));
}

}  // namespace tilescope::tests
