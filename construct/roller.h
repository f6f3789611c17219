#pragma once
// ROLLER's construction (OSDI'22, section 3.3) for one stage: grow aligned rTiles level by level, lay them out for the
// chip, and let a judge rank the programs.

#include <cstdint>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "construct/judge.h"
#include "expr/expression.h"
#include "model/staged_costs.h"

namespace tilescope::construct {

// What of the programs is given, so that the rest is constructed for it: a sweep asks what padding is worth, or what a
// chip does to one tile.
struct Restrictions {
  bool pads = true;            // staged rows may be padded or rotated
  bool direct_stores = false;  // results leave from registers alone, not through the scratchpad
  // Which of the chip's matrix instructions may multiply, with the reason where one may not (lower/lower.h); all where
  // nothing says so.
  bool (*lowerable)(const arch::ComputeSpec& instruction, const arch::ArchSpec& a, std::string& why) = nullptr;
  std::string instruction = {};          // the only one of them that may, by name; any where empty
  std::vector<std::int64_t> block = {};  // extents of the block tile along the spatial axes; free where empty
};

// The best `keep` programs of a single-stage expression on a chip, best first, no two of the same tiles. Deterministic.
// Empty only where no program fits the chip and the restrictions.
// `known`, which the judge may share, remembers the bank passes that were counted.
std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const Judge& judge,
                           std::size_t keep, const Restrictions& restrictions = {},
                           model::StagedCosts* known = nullptr);

}  // namespace tilescope::construct
