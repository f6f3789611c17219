// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of `diff`: what the change of a time comes from, and costs by part.

#include <string>

#include "api/diff.h"

namespace tilescope::cli {

// The two chips by the names that heads of columns give them.
struct Sides {
  std::string left, right;
};

// A waterfall from the left time to the right one, and the kernels whose times change most.
void print_time(const api::TimeChange& time, const std::string& work, const Sides& chips);

// The parts of a cost, or why there are none. `what`: energy, area, price.
void print_cost(const std::string& what, const api::CostDifference& cost, const Sides& chips);

}  // namespace tilescope::cli
