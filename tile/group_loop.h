// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop of a group whose reductions are carried on (Edge::carried): which stages it goes around, along which of
// their axes, and what their partial results are multiplied by (expr/online_reduction.h).
//
// In every step the stages of the loop run one after the other. A stage whose axis is spatial, a stepped one, computes
// a step's tile of its results; the tile begins where the step does. A stage that reduces its axis, a carried one, adds
// the step's part to accumulators that live on; its results leave behind the last step. A maximum or minimum that a
// stage of the loop reads leaves in every step, so that the reader has the running one.

#include <cstdint>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "expr/online_reduction.h"
#include "tile/program.h"

namespace tilescope::tile {

struct GroupLoop {
  std::size_t first = 0, last = 0;     // stages by place in the group, none between that is not in it
  std::int64_t steps = 1, extent = 1;  // elements of a step
  std::vector<std::size_t> axes;       // of stages first .. last
  std::vector<bool> carried;           // of those stages: it reduces its axis
  std::vector<bool> running;           // and a stage of the loop reads what it has so far
  std::vector<std::optional<expr::Rescaling>> rescalings;  // of those stages; extrema count from `first`

  bool has(std::size_t place) const { return place >= first && place <= last; }
  bool stepped(std::size_t place) const { return has(place) && !carried[place - first]; }
  // Whose results leave behind the last step.
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
  // Of a running maximum or minimum that partial sums are rescaled by: the coefficient.
  std::optional<double> coefficient(std::size_t place) const;
};

// The axis of the loop by place in the group, or nothing for stages outside it; by edges alone. Where edges contradict
// each other, what the first of them says.
std::vector<std::optional<std::size_t>> loop_axes(const RProgram& p, const std::vector<std::size_t>& group,
                                                  const arch::ArchSpec& a);

// The loop of a group, or nothing where no edge is carried. Nothing, after errors `at` the place of a stage, also where
// the stages cannot be carried on: which axis and which extents, which tensor is read otherwise. Loops of the stages
// stand one by one.
std::optional<GroupLoop> loop_of(const RProgram& p, const std::vector<std::size_t>& group, const arch::ArchSpec& a,
                                 base::Diagnostics& diags, const ProgramPlaces& at = {});

// Whether the tensor of an edge passes inside the core.
bool inside_core(const Edge& e, const arch::ArchSpec& a);

}  // namespace tilescope::tile
