// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/overlap.h"

#include <algorithm>

#include "base/check.h"

namespace tilescope::model {

void add(Estimate& e, const Part& part) {
  base::check(e.terms.size() == part.busy_us.size() + 2, "latency and launch follow the terms that overlap");
  const double busiest_us = *std::max_element(part.busy_us.begin(), part.busy_us.end());
  const double elapsed_us = std::max(part.elapsed_us, busiest_us);
  NamedTerm* term = e.terms.begin();
  for (const double us : part.busy_us) (term++)->time_us += us;
  (term++)->time_us += elapsed_us - busiest_us;
  term->time_us += part.launch_us;
  e.total_us += part.launch_us + elapsed_us;
}

}  // namespace tilescope::model
