#pragma once
// How fast the blocks of each place go through their steps, told from windows.

#include <vector>

#include "sim/gpu/turnover.h"
#include "sim/gpu/windows.h"

namespace tilescope::sim {

// From two windows that follow each other, which together tell what lasts of the differences between blocks alike; or
// from one, which cannot tell.
std::vector<PlaceRate> place_rates(const Window& first, const Window& second);
std::vector<PlaceRate> place_rates(const Window& w);

}  // namespace tilescope::sim
