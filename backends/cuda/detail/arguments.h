// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel takes as arguments, beside maps of tensors.

#include <vector>

#include "lower/kernel.h"

namespace tilescope::cuda {

// Arrays that a kernel knows by their addresses, and not by their boxes alone: positions in Module::globals.
std::vector<int> used_globals(const lower::Kernel& k);

// Scalars that its formulas read: positions in Module::scalars, in order.
std::vector<int> used_scalars(const lower::Kernel& k);

}  // namespace tilescope::cuda
