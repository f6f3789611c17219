// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop of a group whose reductions are carried across steps (Edge::carried): the stages that it contains, the axis
// of each along which it steps, and the factors that rescale partial results (expr/online_reduction.h).
//
// In every step the stages of the loop run one after the other. A stage whose axis is spatial, a stepped one, computes
// a step's tile of its results; the tile begins where the step does. A stage that reduces its axis, a carried one, adds
// the step's part to accumulators that persist across steps, and writes its results after the last step. A maximum or
// minimum that a stage of the loop reads is written in every step, so that the reader gets the running value.

#include <cstdint>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "expr/online_reduction.h"
#include "tile/program.h"

namespace tilescope::tile {

struct GroupLoop {
  std::size_t first = 0, last = 0;     // by place in the group; all stages between them belong to the loop
  std::int64_t steps = 1, extent = 1;  // `extent`: elements of a step
  std::vector<std::size_t> axes;       // of stages first .. last
  std::vector<bool> carried;           // of those stages: it reduces its axis
  std::vector<bool> running;  // of those stages: it is carried, and a stage of the loop reads its running value
  std::vector<std::optional<expr::Rescaling>> rescalings;  // of those stages; `extremum` counts from `first`

  bool has(std::size_t place) const { return place >= first && place <= last; }
  bool stepped(std::size_t place) const { return has(place) && !carried[place - first]; }
  // Whether the stage's results are written after the last step.
  bool leaves_behind(std::size_t place) const {
    return has(place) && carried[place - first] && !running[place - first];
  }
  bool runs(std::size_t place) const { return has(place) && running[place - first]; }
  std::optional<std::size_t> axis(std::size_t place) const {
    return has(place) ? std::optional(axes[place - first]) : std::nullopt;
  }
  const expr::Rescaling* rescaling(std::size_t place) const {
    return has(place) && rescalings[place - first] ? &*rescalings[place - first] : nullptr;
  }
  // The coefficient of the running maximum or minimum at that place, where it rescales partial sums.
  std::optional<double> coefficient(std::size_t place) const;
};

// By place in the group, the axis along which the loop steps; nullopt for stages outside the loop. Determined by edges
// alone; where edges contradict each other, the first one decides.
std::vector<std::optional<std::size_t>> loop_axes(const RProgram& p, const std::vector<std::size_t>& group,
                                                  const arch::ArchSpec& a);

// The loop of a group, or nullopt where no edge is carried. Returns nullopt after errors `at` the place of a stage
// where the stages cannot form the loop; messages name the axes and extents, or the tensor that is read otherwise. The
// loops of the stages must not be collapsed.
std::optional<GroupLoop> loop_of(const RProgram& p, const std::vector<std::size_t>& group, const arch::ArchSpec& a,
                                 base::Diagnostics& diags, const ProgramPlaces& at = {});

// Whether the tensor of an edge stays inside the core.
bool inside_core(const Edge& e, const arch::ArchSpec& a);

}  // namespace tilescope::tile
