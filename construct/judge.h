#pragma once
// Who ranks programs: construct/ builds them and asks a judge for their time. The judge comes from experiments/ (the
// model, the simulator, a measurement), so that construction depends on none of them.

#include <functional>
#include <vector>

#include "base/units.h"
#include "tile/program.h"

namespace tilescope::construct {

// The time of a program; infinite where the judge cannot tell.
using Judge = std::function<base::Microseconds(const tile::RProgram&)>;

struct Ranked {
  tile::StageProgram program;
  base::Microseconds time;
};

}  // namespace tilescope::construct
