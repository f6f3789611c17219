// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups: stages of a program that one kernel computes, one after the other in every block, because tensors pass
// between them inside the core (Welder OSDI'23, section 3: a tile-graph whose edges connect above memory).
//
// The last stage's blocks are the kernel's. What a block of it reads of a kept tensor fixes where the tile of the stage
// that writes it begins, and how large it has to be; halos are computed again by every block that reads them. Stages
// may go step by step along an axis that later ones of them reduce (tile/group_loop.h): then a tile has a step's part
// of it. A tensor that passes in registers goes from a stage, the holder, to epilogues right behind it, which compute
// their results where the holder's threads have theirs (microkernel/epilogue.h).

#include <cstdint>
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

// Where a later stage of an expression reads what an earlier one writes, through the chip's outermost level.
std::vector<Edge> edges_of(const expr::Expression& e, const arch::ArchSpec& a);

// In the order in which kernels run; every stage is in one of them. Edges at another level than the outermost join
// stages.
std::vector<Group> groups_of(const RProgram& p, const arch::ArchSpec& a);

// Where a tile begins along an axis: a sum over the kernel's spatial axes of where its block does, an offset, and so
// much for every step of the group's loop before.
struct TileBegin {
  base::FixedVector<expr::Term, kMaxAxes> terms;
  std::int64_t offset = 0;
  std::int64_t step = 0;

  bool operator==(const TileBegin&) const = default;
};

// A stage within its group.
struct GroupedStage {
  std::size_t stage = 0;          // of the program
  std::vector<TileBegin> begins;  // by spatial axis
  // By input: the stage of the group, by place in it, that left it in the scratchpad, or whose threads hold it; or -1.
  std::vector<int> kept_inputs, held_inputs;
  bool keeps_output = false;  // its results stay in the scratchpad
  bool holds_output = false;  // they go on in registers
  base::Bytes staging;        // where its own scratchpad begins: cached tiles, and what shares of results meet in
  base::Bytes kept;           // where its results begin, rows as its output's plan pads them
  base::Bytes factors;        // of a running maximum that sums are rescaled by: where the factors begin, laid out alike
};

// Whether results of a stage reach memory.
inline bool leaves(const GroupedStage& s) { return !s.keeps_output && !s.holds_output; }

struct GroupLayout {
  std::vector<GroupedStage> stages;
  std::optional<GroupLoop> loop;
  std::int64_t threads = 1;  // of a block, a multiple of every stage's
  base::Bytes bytes;         // of a block's scratchpad
};

// Of a group of one, what staging_of says. Nothing, after errors `at` the place of a stage, where the stages cannot be
// one kernel: which axis and which extents, which tensor is read outside, which limit is exceeded by what.
std::optional<GroupLayout> layout_of(const RProgram& p, const Group& group, const arch::ArchSpec& a,
                                     base::Diagnostics& diags, const ProgramPlaces& at = {});

// Extents along its spatial axes of what a block reads of the i-th stage's tensor in the group, from the programs of
// the stages behind it alone. Nothing where they read at places that move apart from block to block.
std::optional<Extents> kept_extents(const RProgram& p, const Group& group, std::size_t i, const arch::ArchSpec& a);

// The most elements, at most `vector`, that one access of an input may have so that it is aligned wherever the tile of
// the stage at that place of the group begins.
std::int64_t aligned_vector(const RProgram& p, const GroupLayout& group, std::size_t place, std::size_t input,
                            std::int64_t vector);

// The program of the stage at that place, `padding` of kept inputs of a matrix instruction being what their rows are
// longer than those of its own tiles would be: then they are read as cached tiles are.
StageProgram with_kept_rows(const RProgram& p, const GroupLayout& group, std::size_t place);

// 32-bit registers of a thread that the sums of other stages take while the stage at that place of the group computes:
// of those that are carried on around it. What a stage's program says of `registers` comes on top.
std::int64_t carried_registers(const RProgram& p, const GroupLayout& group, std::size_t place);

// Elements of the tile of results that a stage keeps, rows padded.
std::int64_t kept_elements(const StageProgram& p);

}  // namespace tilescope::tile
