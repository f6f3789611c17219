// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's report as a Simulation; for api/ and experiments/ alone, so that cli/ sees rows only.

#include "api/common/simulation.h"
#include "arch/spec.h"
#include "sim/common/report.h"

namespace tilescope::api {

Simulation simulation_of(const sim::SimReport& report, const arch::ArchSpec& a);

}  // namespace tilescope::api
