// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much a kernel computes, from its statements alone.

#include "lower/kernel.h"

namespace tilescope::lower {

// Arithmetic operations of all threads: one for each operator, call and step of a reduction, two for each multiply-add
// of a matrix instruction. Statements with guards count as if they always ran; `at_most` says that there are some.
struct Operations {
  double count = 0;
  bool at_most = false;
};
Operations operations_of(const Kernel& k);

}  // namespace tilescope::lower
