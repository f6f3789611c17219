// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that only read, for a compiler that leaves out what is not used; for the .cc files of experiments/ and for
// tests.

#include "lower/kernel.h"

namespace tilescope::experiments {

// The same kernels, every element that they load added to a sum, which a thread would store if its block were none of
// the grid: the compiler does not know the grid. In a loop that is not unrolled it would do so in some iteration, where
// it loaded from, so that no iteration may take the loads of another one for its own. Registers that are stored without
// ever being written begin at one. Loads of f32 alone; other ones stay as they are.
lower::Module kept_alive(lower::Module m);

}  // namespace tilescope::experiments
