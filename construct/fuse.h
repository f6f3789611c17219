// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fusion: which stages of an expression share a kernel, and how each of them is scheduled there. It follows Welder's
// two steps (OSDI'23, section 4.2), GraphConnecting over the connect level of tensors and SubGraphTiling over the tiles
// of connected stages, with the model in place of the measurements. It connects runs of neighbouring stages, and finds
// the fastest of all ways to cut the expression into runs. It tries a run with whole tensors, and as an online
// reduction along every axis that allows it (tile/group_loop.h).
//
// Ignores: splits of a reduction, and fusion of stages that are not neighbours.

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

class KnownRuns;

// A run of stages as one kernel: their programs, and the time of the kernel.
struct FusedKernel {
  std::vector<tile::StageProgram> programs;
  base::Microseconds time;
  std::vector<tile::Edge> edges = {};  // between the stages, which they number from 0 on
};

// The fastest kernel of the stages first .. last that the search finds. It takes output tiles of the last stage in the
// order of a rough time of their traffic and arithmetic; each fixes the tiles of the other stages, and the model ranks
// their schedules. nullopt where no such kernel fits the chip, or where a stage outside the run reads the result of any
// but the last stage.
std::optional<FusedKernel> fuse_group(const expr::Expression& e, std::size_t first, std::size_t last,
                                      const model::Machine& machine, const Restrictions& given = {});

// The fastest fused program of an expression of several stages; `alone` has the best program of every stage as a kernel
// of its own. `known`, which may be null, saves work in calls for expressions with runs in common, on one chip under
// one set of restrictions, and does not change results. With Fuse::kInline stages share kernels as epilogues alone.
// nullopt where no fusion is faster than these.
std::optional<tile::RProgram> fuse(const expr::Expression& e, const std::vector<Ranked>& alone,
                                   const model::Machine& machine, const Restrictions& given = {},
                                   KnownRuns* known = nullptr);

}  // namespace tilescope::construct
