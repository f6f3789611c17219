// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a stage is its kernel's: stages of a group (tile/group.h) share blocks and scratchpad, and pass tensors on
// inside the core.

#include <cstdint>
#include <optional>

#include "arch/spec.h"
#include "tile/group.h"
#include "tile/program.h"

namespace tilescope::model {

struct KernelStage {
  std::int64_t blocks = 1;  // of the kernel, each of which computes a tile of the stage
  base::Bytes scratchpad;   // of a block
  // By input that stays in the scratchpad: elements between neighbours of its tile's dimensions.
  base::FixedVector<std::optional<tile::TileShape>, tile::kMaxOperands> kept_pitch;
  base::FixedVector<bool, tile::kMaxOperands> held;  // by input that reaches the stage in registers
  bool keeps_output = false;
  bool holds_output = false;  // its results go on in registers
  bool first = true;          // of its kernel
  // In the loop of a group whose reductions are carried on (tile/group_loop.h): how often a block computes the stage in
  // such a way that its results leave, and the spatial axis of which it has a step's part each time.
  std::int64_t repeats = 1;
  std::optional<std::size_t> stepped;
  const expr::Rescaling* rescaling = nullptr;  // of its sums in every step; the group's
  bool leaves_factors = false;                 // a running maximum, with what sums are rescaled by
  std::int64_t carried_registers = 0;          // of a thread, that other stages' sums take meanwhile

  // Steps each time, and in all.
  std::int64_t steps(const tile::StageProgram& p) const { return stepped ? p.steps() : p.steps() / repeats; }
  std::int64_t all_steps(const tile::StageProgram& p) const { return steps(p) * repeats; }

  bool kept(std::size_t input) const { return input < kept_pitch.size() && kept_pitch[input].has_value(); }
  // Whether an input comes, and whether results leave, without passing through memory.
  bool inside(std::size_t input) const { return kept(input) || (input < held.size() && held[input]); }
  bool stays() const { return keeps_output || holds_output; }
};

// Of a stage that is a kernel by itself.
KernelStage alone(const tile::StageProgram& p, const arch::CoreSpec& core);

// By place in the group.
std::vector<KernelStage> kernel_stages(const tile::RProgram& p, const tile::GroupLayout& group);

}  // namespace tilescope::model
