// SPDX-License-Identifier: Apache-2.0
#pragma once
// The boxes that a kernel's TMA copies move, as its parameters (tensor maps) describe them.

#include <vector>

#include "backends/cuda/tensor_map.h"
#include "lower/kernel.h"

namespace tilescope::cuda {

TensorMap map_of(const lower::Kernel& k, const lower::TmaBox& copy);

// Those of all its boxes in the order in which they stand, equal ones once.
std::vector<TensorMap> maps_of(const lower::Kernel& k);

}  // namespace tilescope::cuda
