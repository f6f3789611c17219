// SPDX-License-Identifier: Apache-2.0
#pragma once
// The current place in the running kernel, and the end of a run that fails.

namespace tilescope::cuda::host {

struct Place {
  const char* kernel = "";
  long long block = -1;  // negative: no block runs
  int thread = -1;       // of those of its cluster, block by block
  int line = 0;          // of the emitted text
  int first_thread = 0;  // of its block, as `thread`
};

extern Place place;

// Prints the place and the message to stderr, and ends the process with status 1.
[[noreturn]] [[gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace tilescope::cuda::host
