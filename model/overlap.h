#pragma once
// How well blocks that share a core overlap: a closed queueing network, solved by exact mean value analysis
// (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980).
// A block is a customer that visits every resource once per step and waits in between; resources serve one at a time.
// Between one block (the sum of all its times) and many (the busiest resource) nothing is fitted.

#include <span>

namespace tilescope::model {

// Cycles from step to step of all of `customers` blocks, each of which needs resource r for demand[r] cycles and waits
// for `waiting` cycles per step. At most kMostResources demands; customers may be any number above 0.
inline constexpr std::size_t kMostResources = 8;
double cycles_per_round(std::span<const double> demand, double waiting, int customers);

}  // namespace tilescope::model
