// SPDX-License-Identifier: Apache-2.0
#pragma once
// How fast the blocks of each place go through their steps, told from sampling units.

#include <vector>

#include "sim/gpu/detail/fast_forward.h"
#include "sim/gpu/sampling_units.h"

namespace tilescope::sim {

// From two sampling units that follow each other, which together tell what lasts of the differences between blocks
// alike; or from one, which cannot tell.
std::vector<PlaceRate> place_rates(const SamplingUnit& first, const SamplingUnit& second);
std::vector<PlaceRate> place_rates(const SamplingUnit& w);

}  // namespace tilescope::sim
