// SPDX-License-Identifier: Apache-2.0
#pragma once
// The function that ranks programs: construct/ builds programs and asks a cost model for their time. The cost model
// comes from experiments/ (the model, the simulator, a measurement), so that construction depends on none of them.

#include <functional>
#include <vector>

#include "base/units.h"
#include "tile/program.h"

namespace tilescope::construct {

// The time of a program; infinite where the cost model cannot tell.
using CostModel = std::function<base::Microseconds(const tile::RProgram&)>;

struct Ranked {
  tile::StageProgram program;
  base::Microseconds time;
};

}  // namespace tilescope::construct
