// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's report as a Simulation; for the .cc files of experiments/ alone, so that cli/ sees rows only.

#include "experiments/common/simulation.h"
#include "sim/common/report.h"

namespace tilescope::experiments {

Simulation simulation_of(const sim::SimReport& report);

}  // namespace tilescope::experiments
