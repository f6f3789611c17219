// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups: stages of a program that one kernel computes, one after the other in every block, because tensors pass
// between them inside the core (Welder OSDI'23, section 3: a tile-graph whose edges connect above memory).
//
// The last stage's blocks are the kernel's blocks. The part of a kept tensor that a block reads determines where the
// tile of the producing stage begins and how large it must be. Every block recomputes the halos that it reads. Stages
// may advance step by step along an axis that later ones of them reduce (tile/group_loop.h); their tiles then hold one
// step's part of it. A tensor that passes in registers goes from a stage, the holder, to epilogues directly after it,
// which compute their results in the threads that hold the holder's (microkernel/epilogue.h).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/group_loop.h"
#include "tile/program.h"

namespace tilescope::tile {

// The stages of one kernel, in the program's order.
using Group = std::vector<std::size_t>;

// The edges of an expression: each later stage that reads an earlier one's tensor, through the chip's outermost level.
std::vector<Edge> edges_of(const expr::Expression& e, const arch::ArchSpec& a);

// The groups in the order in which kernels run; every stage is in one of them. Edges at a level other than the
// outermost join stages.
std::vector<Group> groups_of(const RProgram& p, const arch::ArchSpec& a);

// The origin of a tile along an axis: a sum over the kernel's spatial axes of the block's origin, plus an offset, plus
// `step` for every earlier step of the group's loop.
struct TileBegin {
  base::FixedVector<expr::Term, kMaxAxes> terms;
  std::int64_t offset = 0;
  std::int64_t step = 0;

  bool operator==(const TileBegin&) const = default;
};

// A stage within its group.
struct GroupedStage {
  std::size_t stage = 0;          // index in the program
  std::vector<TileBegin> begins;  // by spatial axis
  // By input: the position in the group of the stage that left it in the scratchpad (kept), or whose threads hold it
  // (held); or -1.
  std::vector<int> kept_inputs, held_inputs;
  bool keeps_output = false;  // its results stay in the scratchpad
  bool holds_output = false;  // its results pass on in registers
  base::Bytes staging;        // offset of its own scratchpad: cached tiles, partial results of a shared reduction
  base::Bytes kept;           // offset of its kept results, with rows padded as its output's plan says
  base::Bytes factors;  // of a running maximum that rescales sums: offset of the factors, laid out like the results
};

// Whether results of a stage reach memory.
inline bool leaves(const GroupedStage& s) { return !s.keeps_output && !s.holds_output; }

struct GroupLayout {
  std::vector<GroupedStage> stages;
  std::optional<GroupLoop> loop;
  std::int64_t threads = 1;  // of a block; a multiple of every stage's threads
  base::Bytes bytes;         // of a block's scratchpad
};

// The layout of a group; for a group of one that of staging_of. Returns nullopt, after errors `at` the place of a
// stage, where the stages cannot form one kernel. Messages name the axis and its extents, the tensor that is read
// outside, or the limit that is exceeded.
std::optional<GroupLayout> layout_of(const RProgram& p, const Group& group, const arch::ArchSpec& a,
                                     base::Diagnostics& diags, const ProgramPlaces& at = {});

// Extents, along its spatial axes, of the data that a block reads of the i-th stage's tensor in the group, determined
// by the later stages' programs alone. Returns nullopt where the places that they read move apart from block to block.
std::optional<Extents> kept_extents(const RProgram& p, const Group& group, std::size_t i, const arch::ArchSpec& a);

// Calls `found` for every stage of the group but the last one, from the last to the first, with its place and its
// kept_extents, and gives the stage a tile of that size for those before it, whatever computes it. Ends where `found`
// returns false. Returns whether all stages were called.
bool set_kept_extents(RProgram& p, const Group& group, const arch::ArchSpec& a,
                      const std::function<bool(std::size_t place, const Extents& extents)>& found);

// The widest access of an input in elements, at most `vector`, that is aligned wherever the tile of the stage at that
// place of the group begins.
std::int64_t aligned_vector(const RProgram& p, const GroupLayout& group, std::size_t place, std::size_t input,
                            std::int64_t vector);

// The program of the stage at that place, in which `padding` of kept inputs of a matrix instruction is set to the
// difference between the kept rows and the rows of the stage's own tiles. They are then read like cached tiles.
StageProgram with_kept_rows(const RProgram& p, const GroupLayout& group, std::size_t place);

// 32-bit registers per thread that the accumulators of other stages in the loop take while the stage at that place of
// the group computes, in addition to the `registers` of the stage's own program.
std::int64_t carried_registers(const RProgram& p, const GroupLayout& group, std::size_t place);

// Number of elements in the tile of results that a stage keeps, padding included.
std::int64_t kept_elements(const StageProgram& p);

}  // namespace tilescope::tile
