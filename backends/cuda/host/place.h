// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the kernel is that runs, and how a run ends that must not go on.

namespace tilescope::cuda::host {

struct Place {
  const char* kernel = "";
  long long block = -1;  // none runs where it is negative
  int thread = -1;
  int line = 0;  // of the emitted text
};

extern Place place;

// Prints the place and what is wrong there, and ends the process with status 1.
[[noreturn]] [[gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace tilescope::cuda::host
