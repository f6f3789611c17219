// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scatter plot of our times against measured ones.

#include <string>

#include "experiments/accuracy/compare.h"

namespace tilescope::experiments {

// Writes an SVG with predicted times of all rows, and simulated ones where there are any, against measured times. Both
// axes are logarithmic. Throws std::runtime_error where the file cannot be written.
void write_scatter_plot(const Comparison& c, const std::string& title, const std::string& path);

}  // namespace tilescope::experiments
