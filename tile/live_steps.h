// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of a block in which terms count (expr/live_terms.h). A program's block takes no other steps of a reduction:
// of causal attention not those whose keys are all behind the block's queries, of a window not those before it either.
//
// A half-space Σ c_a x_a + c >= 0 has a point in a step of a block exactly where its greatest value there is not
// negative. Along a spatial axis the block's elements are begin_a .. begin_a + block_a - 1, along a reduced one all of
// them, and along the stepped axis A those of the step, s E .. s E + E - 1, so that the greatest value is
//
//   Σ_a c_a begin_a + c + Σ_a max(c_a, 0) (elements_a - 1) + c_A E s.
//
// Begins are affine in where the kernel's block begins. With c_A < 0 the condition holds up to a last step, with
// c_A > 0 from a first one on.
//
// Ignores, so that steps are taken that could be left out: collapsed axes, split reductions, copies by TMA, the first
// steps of a ring of stages, a stepped axis around which another one of several steps goes, all but the tightest
// half-space for each end. A block whose whole tile a mask hides takes no step where that follows from the stepped
// axis, and else all; one of a group's loop takes at least one, which leaves the running values behind.

#include <cstdint>
#include <optional>

#include "base/fixed_vector.h"
#include "tile/group.h"
#include "tile/program.h"

namespace tilescope::tile {

// Terms count in step s along the axis only where offset + Σ coefficient * begin + per_step * s >= 0; begins are those
// of the kernel's block along its spatial axes.
struct StepLimit {
  base::FixedVector<expr::Term, kMaxAxes> terms;
  std::int64_t offset = 0;
  std::int64_t per_step = 0;  // not zero

  bool operator==(const StepLimit&) const = default;
};

struct LiveSteps {
  std::optional<StepLimit> first, last;        // of the steps along the axis
  std::int64_t count = 1;                      // of steps along the axis, in all
  std::int64_t faster = 1;                     // steps of the loop in each: those along axes inside it
  base::FixedVector<int, kMaxAxes> axes = {};  // of a stage whose own steps they are: tile axes that decide it

  bool all() const { return !first && !last; }
};

// Of the loop of a group.
LiveSteps live_steps_of_loop(const RProgram& p, const GroupLayout& group);

// Of the reduction of the stage at a place of a group, outside of the group's loop.
LiveSteps live_steps_of_stage(const RProgram& p, const GroupLayout& group, std::size_t place);

// Of a stage that is a kernel by itself.
LiveSteps live_steps_of(const StageProgram& p);

}  // namespace tilescope::tile
