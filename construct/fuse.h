// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which stages of an expression share a kernel, and how each of them is scheduled there: Welder's two steps (OSDI'23,
// section 4.2), GraphConnecting over the connect level of tensors and SubGraphTiling over the tiles of connected
// stages, with the model in place of the measurements. Runs of neighbouring stages are connected; of all ways to cut
// the expression into runs the fastest is found. A run is tried with its tensors whole, and carried on from step to
// step along every axis that allows it (tile/group_loop.h).
//
// Ignores: splits of a reduction, and stages that are no neighbours.

#include <cstddef>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "construct/cost_model.h"
#include "construct/restrictions.h"
#include "expr/expression.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::construct {

// A run of stages as one kernel: their programs, and the time of the kernel.
struct FusedKernel {
  std::vector<tile::StageProgram> programs;
  base::Microseconds time;
  std::vector<tile::Edge> edges = {};  // between them, which number them from 0 on
};

// The fastest kernel of the stages first .. last that the search finds: output tiles of the last stage in the order of
// what they move, each of which fixes the tiles of the others, with the schedules that the model likes best. Nothing
// where no such kernel fits the chip, or a stage's tensor is read outside.
std::optional<FusedKernel> fuse_group(const expr::Expression& e, std::size_t first, std::size_t last,
                                      const model::Machine& machine, const Restrictions& given = {});

// The fastest program of an expression of several stages, where `alone` has the best program of every stage as a kernel
// of its own. Nothing where no connection is faster than that.
std::optional<tile::RProgram> fuse(const expr::Expression& e, const std::vector<Ranked>& alone,
                                   const model::Machine& machine, const Restrictions& given = {});

}  // namespace tilescope::construct
