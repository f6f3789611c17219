// SPDX-License-Identifier: Apache-2.0
#include "api/timed_kernels.h"

#include <string>

namespace tilescope::api {

std::vector<TimedTerm> timed_terms(const model::Estimate& e) {
  std::vector<TimedTerm> out;
  for (const model::NamedTerm& t : e.terms) out.push_back({std::string(t.name), t.time_us, t.overlaps});
  return out;
}

}  // namespace tilescope::api
