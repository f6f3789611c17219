// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/chains.h"

#include <algorithm>
#include <utility>

#include "arch/derive.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"

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

namespace {

// The edges between the stages first .. last, numbered within the run, all through memory so far.
std::vector<tile::Edge> edges_within(const expr::Expression& e, std::size_t first, std::size_t last,
                                     const arch::ArchSpec& a) {
  std::vector<tile::Edge> out;
  for (tile::Edge& edge : tile::edges_of(e, a)) {
    const auto in = [&](int s) { return static_cast<std::size_t>(s) >= first && static_cast<std::size_t>(s) <= last; };
    if (!in(edge.from) || !in(edge.to)) continue;
    edge.from -= static_cast<int>(first);
    edge.to -= static_cast<int>(first);
    out.push_back(std::move(edge));
  }
  return out;
}

// Puts the stages of a run into chains of whole rows, one after the other.
class RowChains {
 public:
  RowChains(const expr::Expression& e, const std::vector<SpacePtr>& spaces, const std::vector<bool>& products,
            std::size_t first, std::size_t last, const arch::ArchSpec& a)
      : spaces_(spaces), products_(products), first_(first), rows_(last - first + 1, false) {
    out_.by_rows = true;
    out_.edges = edges_within(e, first, last, a);
    for (std::size_t s = 0; s < rows_.size(); ++s) add(s);
    for (tile::Edge& edge : out_.edges) {
      const bool in = holds(static_cast<std::size_t>(edge.from), static_cast<std::size_t>(edge.to));
      edge.level = in ? arch::registers_of(a)->name : arch::scratchpad_of(a)->name;
    }
  }

  std::optional<Passing> passing() && {
    if (std::find(rows_.begin(), rows_.end(), true) == rows_.end()) return std::nullopt;
    // A tensor passes in one way to all its readers, and rows in registers alone.
    for (const tile::Edge& x : out_.edges) {
      const auto from = static_cast<std::size_t>(x.from);
      if (rows_[from] && !holds(from, static_cast<std::size_t>(x.to))) return std::nullopt;
      for (const tile::Edge& y : out_.edges)
        if (x.from == y.from && x.level != y.level) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  const tile::TileSpace& space(std::size_t s) const { return *spaces_[first_ + s]; }
  bool reduces(std::size_t s) const { return space(s).axes.size() > space(s).spatial; }
  std::size_t holder_of(std::size_t s) const { return out_.chains[s].holder; }

  void add(std::size_t s) {
    const bool joins = s > 0 && products_[first_ + holder_of(s - 1)] && continues(s, holder_of(s - 1));
    const std::size_t holder = joins ? holder_of(s - 1) : s;
    rows_[s] = joins && reduces(s);
    out_.chains.push_back({holder, s});
    for (std::size_t i = holder; i < s; ++i) out_.chains[i].end = s;
  }

  // Whether a stage behind a chain goes on in its threads: it reads results of the chain at their own places, and rows.
  bool continues(std::size_t s, std::size_t holder) const {
    bool any = false;
    for (const tile::Edge& e : out_.edges) {
      const auto from = static_cast<std::size_t>(e.from);
      if (static_cast<std::size_t>(e.to) != s) continue;
      if (rows_[from] && !reduces(s) && tile::axes_of_reads(space(s), e.tensor)) continue;
      if (rows_[from] || from < holder) return false;
      if (!(reduces(s) ? tile::row_reduction_refusal(space(s), e.tensor)
                       : tile::epilogue_refusal(space(s), space(from), e.tensor))
               .empty())
        return false;
      any = true;
    }
    return any;
  }

  // Whether a tensor passes in registers.
  bool holds(std::size_t from, std::size_t to) const {
    const bool own = holder_of(to) == to;
    if (!own) return rows_[from] || holder_of(from) == holder_of(to);
    return !rows_[from] && products_[first_ + to] && products_[first_ + holder_of(from)] &&
           space(to).tensor_name(space(to).inputs.front()) == space(from).output.name;
  }

  const std::vector<SpacePtr>& spaces_;
  const std::vector<bool>& products_;
  const std::size_t first_;
  std::vector<bool> rows_;  // by stage of the run: it is a row reduction
  Passing out_;
};

}  // namespace

Passing passing_in(std::vector<Chain> chains, const expr::Expression& e, std::size_t first, const arch::ArchSpec& a) {
  const std::size_t last = first + chains.size() - 1;
  Passing out{std::move(chains), edges_within(e, first, last, a), false};
  for (tile::Edge& edge : out.edges) {
    const auto holder = [&](int s) { return out.chains[static_cast<std::size_t>(s)].holder; };
    edge.level = holder(edge.from) == holder(edge.to) ? arch::registers_of(a)->name : arch::scratchpad_of(a)->name;
  }
  return out;
}

std::optional<Passing> passing_by_rows(const expr::Expression& e, const std::vector<SpacePtr>& spaces,
                                       const std::vector<bool>& products, std::size_t first, std::size_t last,
                                       const arch::ArchSpec& a) {
  return RowChains(e, spaces, products, first, last, a).passing();
}

}  // namespace tilescope::construct
