// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/parts.h"

#include <algorithm>

#include "base/check.h"

namespace tilescope::model {

namespace {

double busiest_us(const Part& part) { return *std::max_element(part.busy_us.begin(), part.busy_us.end()); }

}  // namespace

double total_us(const Part& part) { return part.launch_us + std::max(part.elapsed_us, busiest_us(part)); }

void add(Estimate& e, const Part& part) {
  base::check(e.terms.size() == part.busy_us.size() + 2, "latency and launch follow the terms that overlap");
  const double busiest = busiest_us(part);
  NamedTerm* term = e.terms.begin();
  for (const double us : part.busy_us) (term++)->time_us += us;
  (term++)->time_us += std::max(part.elapsed_us, busiest) - busiest;
  term->time_us += part.launch_us;
  e.total_us += total_us(part);
}

}  // namespace tilescope::model
