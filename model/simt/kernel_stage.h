// SPDX-License-Identifier: Apache-2.0
#pragma once
// The properties of a stage that its kernel determines: stages of a group (tile/group.h) share blocks and scratchpad,
// and pass tensors on inside the core.

#include <cstdint>
#include <optional>

#include "arch/spec.h"
#include "model/simt/step_shares.h"
#include "tile/group.h"
#include "tile/program.h"

namespace tilescope::model {

struct KernelStage {
  std::int64_t blocks = 1;   // of the kernel; each computes a tile of the stage
  base::Bytes scratchpad;    // of a block
  std::int64_t threads = 0;  // of a block, where other stages of the kernel have more than this one
  // By input: for one that stays in the scratchpad, the elements between neighbours along each dimension of its tile.
  base::FixedVector<std::optional<tile::TileShape>, tile::kMaxOperands> kept_pitch;
  base::FixedVector<bool, tile::kMaxOperands> held;  // by input: whether it reaches the stage in registers
  bool keeps_output = false;
  bool holds_output = false;  // its results stay in registers for the next stage
  bool first = true;          // of its kernel
  // In the loop of a group with online reductions (tile/group_loop.h): how often a block computes the stage so that its
  // results leave, and the spatial axis along which each time covers one step's part.
  std::int64_t repeats = 1;
  std::optional<std::size_t> stepped;
  const expr::Rescaling* rescaling = nullptr;  // of its sums in every step; owned by the group; null: none
  bool factors_by_rows = false;        // these factors, or those that it leaves, are in registers of the rows' lanes
  bool leaves_factors = false;         // a running maximum that also leaves the factors by which sums are rescaled
  bool in_ring = false;                // of the loop, whose steps have one barrier for all stages (tile/loop_ring.h)
  std::int64_t carried_registers = 0;  // of a thread, for the sums that other stages keep meanwhile
  StepShares shares;                   // of the steps, or repeats, that blocks take

  // Reduction steps of one repeat, and of all repeats.
  std::int64_t steps(const tile::StageProgram& p) const { return stepped ? p.steps() : p.steps() / repeats; }
  std::int64_t all_steps(const tile::StageProgram& p) const { return steps(p) * repeats; }

  bool kept(std::size_t input) const { return input < kept_pitch.size() && kept_pitch[input].has_value(); }
  // Whether an input arrives, and whether results leave, without passing through memory.
  bool inside(std::size_t input) const { return kept(input) || (input < held.size() && held[input]); }
  bool stays() const { return keeps_output || holds_output; }
};

// For a stage that is a kernel by itself.
KernelStage alone(const tile::StageProgram& p, const arch::CoreSpec& core);

// One entry for each stage of the group, in order.
std::vector<KernelStage> kernel_stages(const tile::RProgram& p, const tile::GroupLayout& group);

}  // namespace tilescope::model
