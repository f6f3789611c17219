// SPDX-License-Identifier: Apache-2.0
#pragma once
// How terms become a time.

#include "base/fixed_vector.h"
#include "model/common/estimate.h"

namespace tilescope::model {

// What begins when all before it has ended: a kernel.
struct Part {
  base::FixedVector<double, kMaxTerms> busy_us = {};  // of each term that overlaps
  double elapsed_us = 0;                              // from its first instruction to its last one
  double launch_us = 0;
};

// A part takes no less than the busiest of its terms, behind its launch. Microseconds.
double total_us(const Part& part);

// Adds a part's terms and time to an estimate, whose terms are those that overlap, then latency and launch. In what the
// part takes beyond the busiest of its terms everything waits (latency).
void add(Estimate& e, const Part& part);

}  // namespace tilescope::model
