// SPDX-License-Identifier: Apache-2.0
#pragma once
// What searches find over what they tried, as a picture.

#include <string>

#include "experiments/search/quality.h"

namespace tilescope::experiments {

// Writes, as an SVG, the geometric mean over operators of the best time over the best known one (up, both logarithmic)
// after so many programs (right): a curve a search, a point for construction's first program and for its best of ten.
// Throws std::runtime_error where the file cannot be written.
void write_search_plot(const SearchQuality& q, std::size_t budget, const std::string& title, const std::string& path);

}  // namespace tilescope::experiments
