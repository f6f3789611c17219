// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sweep's points as plans see them; for the .cc files of experiments/ alone.

#include "experiments/explore/plan.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {

// The axes are the base, those of the file but followers, and the source of programs; design d is the point behind the
// bases of that number.
DesignSpace space_of(const SweepSpec& spec, const SweepPlan& plan);

}  // namespace tilescope::experiments
