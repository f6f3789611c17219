// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the model's estimate to what differences of times are made of; for api/ alone, so that cli/ sees only rows.

#include <vector>

#include "api/common/time_changes.h"
#include "model/common/estimate.h"

namespace tilescope::api {

// The estimate's terms, each alone.
std::vector<TimedTerm> timed_terms(const model::Estimate& e);

}  // namespace tilescope::api
