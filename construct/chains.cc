// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/chains.h"

#include <algorithm>

#include "tile/microkernel/epilogue.h"

namespace tilescope::construct {
namespace {

// Whether every thread's results of a stage are worth computing on where they are: of a product, whose operands are
// reused, or without a reduction. Threads share other reductions, and leave results to each other in the scratchpad.
bool holds_results(const tile::TileSpace& space) {
  if (space.axes.size() == space.spatial) return true;
  const auto reused = [&](const tile::Operand& o) {
    for (std::size_t a = 0; a < space.spatial; ++a)
      if (!o.uses(static_cast<int>(a))) return true;
    return false;
  };
  return std::count_if(space.inputs.begin(), space.inputs.end(), reused) > 1;
}

// The last of the stages first .. last that can be epilogues of the first, one after the other: none of their tensors
// but the last one's is read elsewhere.
std::size_t end_of_epilogues(const expr::Expression& e, const std::vector<SpacePtr>& spaces, std::size_t first,
                             std::size_t last) {
  if (!holds_results(*spaces[first])) return first;
  const auto reads = [&](std::size_t stage, std::size_t of) {
    const auto& all = e.stages[stage].reads;
    return std::any_of(all.begin(), all.end(), [&](const expr::Read& r) { return r.tensor == e.stages[of].output; });
  };
  std::size_t end = first;
  for (bool follows = true; follows && end < last;) {
    follows = false;
    for (std::size_t of = first; of <= end; ++of) {
      if (!reads(end + 1, of)) continue;
      const tile::TileSpace &space = *spaces[end + 1], &holder = *spaces[of];
      follows = tile::epilogue_refusal(space, holder, holder.output.name).empty();
      if (!follows) break;
    }
    end += follows ? 1 : 0;
  }
  for (; end > first; --end) {
    bool inside = true;
    for (std::size_t of = first; of < end; ++of)
      for (std::size_t s = end + 1; s < e.stages.size(); ++s) inside = inside && !reads(s, of);
    if (inside) break;
  }
  return end;
}

}  // namespace

std::vector<Chain> chains_of(const expr::Expression& e, const std::vector<SpacePtr>& spaces, std::size_t first,
                             std::size_t last, bool of_products) {
  std::vector<Chain> out;
  for (std::size_t s = first; s <= last;) {
    const bool reduces = spaces[s]->axes.size() > spaces[s]->spatial;
    const Chain chain{s - first, (of_products || !reduces ? end_of_epilogues(e, spaces, s, last) : s) - first};
    for (; s <= chain.end + first; ++s) out.push_back(chain);
  }
  return out;
}

}  // namespace tilescope::construct
