// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's report as a Simulation; for api/ and experiments/ alone, so that cli/ sees rows only.

#include "api/common/simulation.h"
#include "arch/spec.h"
#include "energy/energy.h"
#include "sim/common/report.h"

namespace tilescope::api {

// `time_at`, the simulated time at another clock, may be empty; then nothing is said of the board's power limit.
Simulation simulation_of(const sim::SimReport& report, const arch::ArchSpec& a, const energy::TimeAt& time_at = {});

}  // namespace tilescope::api
