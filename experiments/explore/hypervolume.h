// SPDX-License-Identifier: Apache-2.0
#pragma once
// The hypervolume of a front: the volume that lies between its points and a reference, the measure of how good a set
// of designs is. Every objective is to be least.

#include <vector>

namespace tilescope::experiments {

// The volume of all that at least one of the points dominates and that dominates the reference; exact. Points that are
// not better than the reference everywhere add nothing. By exclusive volumes (WFG: While, Bradstreet, Barone, 2012).
double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference);

}  // namespace tilescope::experiments
