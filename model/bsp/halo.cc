// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/halo.h"

#include <algorithm>
#include <cstdlib>

#include "base/integer.h"
#include "model/bsp/detail/places.h"

namespace tilescope::model::bsp {
namespace {

using tile::BspStage;

// Cores along an axis that have iterations; the iterations of one of them.
std::int64_t used(const BspStage& s, std::size_t axis) {
  return base::ceil_div(s.space->axes[axis].extent, s.part(axis));
}
std::int64_t iterations(const BspStage& s, std::size_t axis, std::int64_t at) {
  return std::clamp<std::int64_t>(s.space->axes[axis].extent - at * s.part(axis), 0, s.part(axis));
}

// The axis that moves a dimension's windows from core to core, and no other dimension's; or none.
struct Mover {
  int axis = -1;
  std::int64_t coefficient = 0;
};

Mover mover_of(const BspStage& s, const tile::Operand& o, std::size_t dim) {
  Mover out;
  int dims = 0;
  if (o.dims[dim].whole) return {};
  for (const expr::Term& t : o.dims[dim].terms) {
    const auto a = static_cast<std::size_t>(t.axis);
    if (s.grid[a] == 1 || a >= s.space->spatial) continue;
    if (out.axis >= 0 || t.coefficient < 1) return {};
    out = {t.axis, t.coefficient};
  }
  for (const tile::TileDim& d : o.dims)
    for (const expr::Term& t : d.terms) dims += t.axis == out.axis;
  return dims == 1 ? out : Mover{};
}

// Of one dimension, for a core with given coordinates: the first index and the length of its window, which may reach
// over the tensor's ends, and those of the part that lies on it. Parts follow each other without gap or overlap.
struct Span {
  std::int64_t begin = 0, end = 0, own_begin = 0, own_end = 0;

  // Indices inside a dimension of such an extent.
  static std::int64_t inside(std::int64_t from, std::int64_t to, std::int64_t extent) {
    return std::max<std::int64_t>(0, std::min(to, extent) - std::max<std::int64_t>(0, from));
  }
};

// `at`: the core's coordinate along an axis.
template <class At>
Span span_of(const BspStage& s, const tile::Operand& o, std::size_t dim, const Mover& mover, const At& at) {
  const tile::TileDim& d = o.dims[dim];
  if (d.whole) return {0, d.extent, 0, d.extent};
  // What other axes add is alike on neighbours; the mover's full part, so that they share as much everywhere.
  std::int64_t begin = d.low, taps = d.spread + 1, own = 0;
  for (const expr::Term& t : d.terms) {
    const auto a = static_cast<std::size_t>(t.axis);
    const std::int64_t n = iterations(s, a, at(a)), first = t.coefficient * at(a) * s.part(a);
    if (n == 0) return {};
    if (t.axis == mover.axis) {
      begin += first, own = t.coefficient * (n - 1);
      continue;
    }
    begin += std::min(first, first + t.coefficient * (n - 1));
    taps += std::abs(t.coefficient) * (n - 1);
  }
  Span out{begin, begin + own + taps, begin, begin + own + taps};
  const std::int64_t shared = taps - mover.coefficient;
  if (mover.axis < 0 || shared <= 0) return out;
  const auto a = static_cast<std::size_t>(mover.axis);
  if (at(a) > 0) out.own_begin = begin + shared / 2;
  if (at(a) + 1 < used(s, a)) out.own_end = begin + mover.coefficient * s.part(a) + shared / 2;
  return out;
}

// Sums over all coordinates of the axes that a dimension follows: of windows, and of the parts that lie on cores.
struct Sums {
  double windows = 0, owned = 0;
};

Sums sums_of(const BspStage& s, const tile::Operand& o, std::size_t dim) {
  const Mover mover = mover_of(s, o, dim);
  const tile::TileDim& d = o.dims[dim];
  std::vector<std::int64_t> at(s.grid.size(), 0);
  Sums out;
  const auto visit = [&](const auto& self, std::size_t term) -> void {
    if (term == d.terms.size()) {
      const Span span = span_of(s, o, dim, mover, [&](std::size_t a) { return at[a]; });
      out.windows += static_cast<double>(Span::inside(span.begin, span.end, d.extent));
      out.owned += static_cast<double>(Span::inside(span.own_begin, span.own_end, d.extent));
      return;
    }
    const auto a = static_cast<std::size_t>(d.terms[term].axis);
    for (at[a] = 0; at[a] < s.grid[a]; ++at[a]) self(self, term + 1);
  };
  visit(visit, 0);
  return out;
}

bool exchanges_halo(const BspStage& s, std::size_t input) {
  return s.dataflow[input].how == tile::Dataflow::kStationary;
}

}  // namespace

std::vector<HaloPart> halo_parts(const BspStage& s, std::size_t input, std::int64_t core) {
  std::vector<HaloPart> out;
  if (!exchanges_halo(s, input)) return out;
  for (std::size_t a = 0; a < s.grid.size(); ++a)
    if (iterations(s, a, coordinate(s, a, core)) == 0) return out;
  const tile::Operand& o = s.space->inputs[input];
  // By dimension: what the window has on neighbours, which are so far away, and on the core itself.
  struct Piece {
    std::int64_t distance = 0, length = 0;
  };
  std::vector<std::vector<Piece>> pieces;
  std::vector<std::int64_t> windows;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const Mover mover = mover_of(s, o, d);
    const std::int64_t extent = o.dims[d].extent;
    const auto at = [&](std::size_t a) { return coordinate(s, a, core); };
    const Span own = span_of(s, o, d, mover, at);
    windows.push_back(Span::inside(own.begin, own.end, extent));
    pieces.emplace_back();
    const auto a = static_cast<std::size_t>(std::max(0, mover.axis));
    const std::int64_t here = mover.axis < 0 ? 0 : at(a);
    const auto add = [&](std::int64_t there, const Span& owner) {
      const std::int64_t from = std::max(own.begin, owner.own_begin), to = std::min(own.end, owner.own_end);
      const std::int64_t length = Span::inside(from, to, extent);
      if (length > 0) pieces.back().push_back({(there - here) * (mover.axis < 0 ? 0 : s.core_stride(a)), length});
      return from < to;
    };
    add(here, own);
    // Away from the core until windows part.
    for (const std::int64_t way : {-1, 1})
      for (std::int64_t there = here + way; mover.axis >= 0 && there >= 0 && there < used(s, a); there += way)
        if (!add(there, span_of(s, o, d, mover, [&](std::size_t x) { return x == a ? there : at(x); }))) break;
  }
  const auto choose = [&](const auto& self, std::size_t d, HaloPart part, std::int64_t elements, bool whole) -> void {
    if (d == 0) {
      part.bytes = elements * o.element.n;
      if (part.from != core) out.push_back(part);
      return;
    }
    // Runs take the inner dimensions that the part has whole, and the next one.
    for (const Piece& p : pieces[d - 1]) {
      HaloPart next{part.from + p.distance, 0, whole ? part.runs : part.runs * p.length};
      self(self, d - 1, next, elements * p.length, whole && p.length == windows[d - 1]);
    }
  };
  choose(choose, o.dims.size(), {core, 0, 1}, 1, true);
  return out;
}

std::int64_t core_of_most_halo(const BspStage& s) {
  std::int64_t core = 0;
  for (std::size_t a = 0; a < s.space->spatial; ++a) core += (used(s, a) - 1) / 2 * s.core_stride(a);
  return core;
}

double halo_bytes(const BspStage& s, std::size_t input) {
  if (!exchanges_halo(s, input)) return 0;
  const tile::Operand& o = s.space->inputs[input];
  double windows = 1, owned = 1;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const Sums sums = sums_of(s, o, d);
    windows *= sums.windows, owned *= sums.owned;
  }
  // Cores that differ along other axes have windows that are the same.
  double copies = 1;
  for (std::size_t a = 0; a < s.grid.size(); ++a)
    if (!o.uses(static_cast<int>(a))) copies *= static_cast<double>(used(s, a));
  return (windows - owned) * copies * static_cast<double>(o.element.n);
}

}  // namespace tilescope::model::bsp
