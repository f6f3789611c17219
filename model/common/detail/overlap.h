// SPDX-License-Identifier: Apache-2.0
#pragma once
// How terms become a time, and how well blocks that share a core overlap.
//
// The latter is a closed queueing network, solved by exact mean value analysis
// (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980).
// A block is a customer that visits every resource once per step and waits in between; resources serve one at a time.
// Between one block (the sum of all its times) and many (the busiest resource) nothing is fitted.

#include <array>
#include <cstddef>
#include <span>

#include "base/fixed_vector.h"
#include "model/common/estimate.h"

namespace tilescope::model {

// Cycles from step to step of all of `customers` blocks, each of which needs resource r for demand[r] cycles and waits
// for `waiting` cycles per step: less than none where it is at several resources at a time. At most kMaxResources
// demands; customers may be any number above 0.
inline constexpr std::size_t kMaxResources = 10;
double cycles_per_round(std::span<const double> demand, double waiting, int customers);

// The same question, to be answered with others.
struct Round {
  std::array<double, kMaxResources> demand{};
  double waiting = 0;
  int customers = 0;
};
// The cycles of each, to the last bit as cycles_per_round has them: several networks at a time, in the lanes of one
// vector, on any machine alike.
void solve(std::span<const Round> rounds, std::span<double> cycles);

// What begins when all before it has ended: a kernel.
struct Part {
  base::FixedVector<double, kMaxTerms> busy_us = {};  // of each term that overlaps
  double elapsed_us = 0;                              // from its first instruction to its last one
  double launch_us = 0;
};

// Adds a part's terms and time to an estimate, whose terms are those that overlap, then latency and launch. The part
// takes no less than the busiest of its terms; in what it takes beyond that everything waits (latency).
void add(Estimate& e, const Part& part);

}  // namespace tilescope::model
