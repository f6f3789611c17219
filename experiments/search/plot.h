// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plot of search results against the number of tried programs.

#include <string>

#include "experiments/search/quality.h"

namespace tilescope::experiments {

// Writes an SVG with logarithmic axes. Up: geometric mean over operators of the best time over the best known one.
// Right: number of tried programs. Each search is a curve; construction's first program and its best of ten are a point
// each. Throws std::runtime_error where the file cannot be written.
void write_search_plot(const SearchQuality& q, std::size_t budget, const std::string& title, const std::string& path);

}  // namespace tilescope::experiments
