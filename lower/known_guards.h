// SPDX-License-Identifier: Apache-2.0
#pragma once
// Guards that the ranges of indices decide, where they stand: inside loops, roles and Ifs, whose own guards hold there.

#include "lower/kernel.h"

namespace tilescope::lower {

// The kernel without guards that always hold; the statements of an If that loses all of its guards stand in its place.
// A guard that never holds becomes kNever. It does what the kernel does, copy by copy.
Kernel without_known_guards(Kernel kernel);

// A guard that never holds.
bool never_holds(const Guard& guard);

}  // namespace tilescope::lower
