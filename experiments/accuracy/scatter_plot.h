// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of ours over measured ones as a picture.

#include <string>

#include "experiments/accuracy/compare.h"

namespace tilescope::experiments {

// Writes predicted over measured times of all rows, simulated ones beside them where there are some, as an SVG with
// both axes logarithmic. Throws std::runtime_error where the file cannot be written.
void write_scatter_plot(const Comparison& c, const std::string& title, const std::string& path);

}  // namespace tilescope::experiments
