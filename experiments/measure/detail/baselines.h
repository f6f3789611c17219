// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the vendor's own libraries take for an operator, as tasks of a plan; for the .cc files of experiments/.

#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/plan.h"
#include "tile/program.h"

namespace tilescope::experiments {

// The lines of the task, without its timing, whose outputs are checked loosely: these libraries round in ways of their
// own. Nothing where that library has no call that is this operator. `p` is a program of it and `m` what it is lowered
// to.
std::optional<std::string> baseline_lines(Baseline b, const tile::RProgram& p, const lower::Module& m,
                                          const std::vector<SampledOutput>& outputs);

}  // namespace tilescope::experiments
