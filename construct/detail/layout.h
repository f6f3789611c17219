// SPDX-License-Identifier: Apache-2.0
#pragma once
// How one tile lies in the chip: reduction step, which threads own neighbouring elements, what is cached and how its
// rows are padded or rotated, how many steps are under way, how results leave, which blocks run side by side, in how
// many parts a reduction is shared. The choices that ROLLER leaves to fixed rules, made for the banks, granules and
// cores of the chip at hand.

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "arch/spec.h"
#include "model/simt/cached_costs.h"
#include "tile/program.h"

namespace tilescope::construct {

// Which thread owns what of a block, by spatial axis.
using Mapping = base::FixedVector<tile::AxisMapping, tile::kMaxAxes>;

// Parts that a reduction is cut into at most.
inline constexpr std::int64_t kMaxParts = 64;

// What was found out about layouts of one stage's programs on one chip, for callers that lay out many. Not for several
// threads.
class LayoutMemory {
 public:
  explicit LayoutMemory(model::CachedCosts& costs) : costs_(costs) {}

  model::CachedCosts& costs() { return costs_; }
  // How an operand of that use (model/simt/cached_costs.h) was placed; not cached where it was not yet.
  tile::OperandPlan& placed(std::size_t use, bool pads) {
    if (use >= placed_.size()) placed_.resize(use + 1);
    return placed_[use][pads ? 1 : 0];
  }

 private:
  model::CachedCosts& costs_;
  std::vector<std::array<tile::OperandPlan, 2>> placed_;
};

struct LayoutRules {
  const arch::ArchSpec& arch;
  bool pads = true;               // cached rows may be padded or rotated
  LayoutMemory* known = nullptr;  // where there is one
  bool direct_stores = false;     // results leave from registers alone
};

// Has the program's cached rows placed for the chip's banks (of no padding, one bank, one vector, rule 3 of
// tile/align.h, and rotations by a bank or a vector, the first that needs fewest passes over copy and use) and its
// widest vectors.
void apply_layout(tile::StageProgram& p, const LayoutRules& rules);

// Adds the program with other threads and reduction steps, as tile::make_stage_program has them, and all else as it is,
// laid out; false where it may not have them. The program is none of those it is added to.
bool add_remade(const tile::StageProgram& p, const Mapping& mapping, const tile::Extents& step,
                const LayoutRules& rules, std::vector<tile::StageProgram>& out);

// One thing about a program that may be otherwise while its blocks and threads compute the same elements: adds what it
// could be instead, each laid out; not all of them fit the chip. The program is none of those it is added to.
using LayoutKnob = void (*)(const tile::StageProgram&, const LayoutRules&, std::vector<tile::StageProgram>& out);
inline constexpr std::size_t kLayoutKnobs = 10;  // how many of them layout.cc has
std::span<const LayoutKnob, kLayoutKnobs> layout_knobs();

// What of the operands is cached: everything, nothing, or all but one.
void other_staging(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);
// Those of them that ask how many cores the chip has.
void other_block_orders(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);
void other_splits(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);

// The program with copies of as many steps under way as there may be; nothing where it has them, or copies nothing step
// by step.
std::optional<tile::StageProgram> with_deepest_pipeline(const tile::StageProgram& p, const LayoutRules& rules);

// The program laid out, and every combination of what its choices could be.
std::vector<tile::StageProgram> layouts_of(const tile::StageProgram& p, const LayoutRules& rules);

// Whether blocks lie along more than one axis, so that they may come in several orders.
bool has_block_orders(const tile::StageProgram& p);

// Rows of blocks in a group that makes what a core each computes about as high as it is wide: a power of two. Whether
// the program has so many blocks, and its rows are a multiple of the group.
std::int64_t square_group(std::int64_t cores);
bool groups_fit(const tile::StageProgram& p, std::int64_t cores);

// The program with its longest reduction cut into so many parts; nothing where there may not be so many, where the
// reduction has fewer steps, or where they would cut its register tiles or fragments.
std::optional<tile::StageProgram> split_into(const tile::StageProgram& p, std::int64_t parts, const LayoutRules& rules);

}  // namespace tilescope::construct
