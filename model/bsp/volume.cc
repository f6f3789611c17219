// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/volume.h"

#include <algorithm>
#include <vector>

#include "base/dtype.h"
#include "model/bsp/detail/brought.h"
#include "model/bsp/detail/halo.h"
#include "tile/bsp/memory.h"

namespace tilescope::model::bsp {
namespace {

using tile::BspStage;
using tile::Dataflow;
using tile::Window;

struct Range {
  std::int64_t begin = 0, length = 0;
};

// The pieces of an axis that all cores together see of it while its loop runs once, with such a window.
std::vector<Range> pieces_of(const BspStage& s, std::size_t axis, Window window) {
  std::vector<Range> out;
  const std::int64_t extent = s.space->axes[axis].extent, part = s.part(axis);
  const std::int64_t slice = s.blocks_of_slice(axis) * s.block[axis];
  for (std::int64_t g = 0; g < s.grid[axis]; ++g) {
    const std::int64_t first = g * part, last = std::min(first + part, extent);
    const auto add = [&](std::int64_t begin, std::int64_t end) {
      out.push_back({begin, std::max<std::int64_t>(0, std::min(end, last) - begin)});
    };
    if (window == Window::kPart) {
      add(first, first + part);
      continue;
    }
    for (std::int64_t i = 0; i < s.slices(axis); ++i) {
      const std::int64_t begin = first + i * slice;
      if (window == Window::kSlice) add(begin, begin + slice);
      for (std::int64_t b = 0; window == Window::kBlock && b < s.blocks_of_slice(axis); ++b)
        add(begin + b * s.block[axis], std::min(begin + (b + 1) * s.block[axis], begin + slice));
    }
  }
  return out;
}

// Elements inside the tensor along one dimension, summed over all pieces of the axes that it follows.
double dimension_sum(const BspStage& s, const tile::TileDim& dim, const tile::Windows& windows) {
  double sum = 0;
  std::vector<std::vector<Range>> pieces;
  for (const expr::Term& t : dim.terms)
    pieces.push_back(pieces_of(s, static_cast<std::size_t>(t.axis), windows[static_cast<std::size_t>(t.axis)]));
  const auto visit = [&](const auto& self, std::size_t term, std::int64_t begin, std::int64_t last) -> void {
    if (term == dim.terms.size()) {
      if (dim.whole) begin = 0, last = dim.extent - 1;
      begin = std::max<std::int64_t>(0, begin);
      last = std::min(last, dim.extent - 1);
      sum += static_cast<double>(std::max<std::int64_t>(0, last - begin + 1));
      return;
    }
    for (const Range& r : pieces[term]) {
      if (r.length == 0) continue;
      const std::int64_t c = dim.terms[term].coefficient, one = c * r.begin, other = c * (r.begin + r.length - 1);
      self(self, term + 1, begin + std::min(one, other), last + std::max(one, other));
    }
  };
  visit(visit, 0, dim.low, dim.low + dim.spread);
  return sum;
}

// Elements of an operand's boxes, summed over all cores and over all pieces of the loops that its window follows.
double box_sum(const BspStage& s, const tile::Operand& o, const tile::Windows& windows) {
  double sum = 1;
  for (const tile::TileDim& d : o.dims) sum *= dimension_sum(s, d, windows);
  // Cores that differ along other axes have the same boxes.
  for (std::size_t a = 0; a < s.grid.size(); ++a)
    if (!o.uses(static_cast<int>(a))) sum *= static_cast<double>(s.grid[a]);
  return sum;
}

// How often an operand's pieces come by: loops that it does not follow, outside one that changes what it holds.
double repeats(const BspStage& s, const tile::Operand& o, const tile::Windows& windows) {
  double n = 1, outside = 1;
  for (const int axis : s.loop_order) {
    const auto a = static_cast<std::size_t>(axis);
    const bool followed = o.uses(axis) && windows[a] != Window::kPart;
    if (!followed) outside *= static_cast<double>(s.blocks(a));
    const std::int64_t pieces = windows[a] == Window::kSlice ? s.slices(a) : s.blocks(a);
    if (followed && pieces > 1) n = outside;
  }
  return n;
}

}  // namespace

Brought brought(const BspStage& s, std::size_t i, bool prearranged) {
  const tile::Operand& o = s.space->inputs[i];
  const tile::Windows windows = tile::input_windows(s, i);
  const double once = box_sum(s, o, windows) * static_cast<double>(o.element.n);
  const double all = once * repeats(s, o, windows);
  // Of what is gathered every core brings its ring's part of it from the home.
  const double brings = s.dataflow[i].gathers() ? 1 / static_cast<double>(s.dataflow[i].ring) : 1;
  if (s.dataflow[i].how == Dataflow::kFetch) return {all, all * brings};
  if (s.dataflow[i].how == Dataflow::kStationary)
    return prearranged ? Brought{halo_bytes(s, i), 0} : Brought{once, once * brings};
  // A slice that passes round was brought first, to another core of every ring.
  const double first = once / static_cast<double>(s.dataflow[i].ring);
  return prearranged ? Brought{all - first, 0} : Brought{all, first};
}

double reduced_bytes(const BspStage& s) {
  const std::int64_t parts = tile::partial_sums(s);
  if (parts == 1) return 0;
  const double sums = box_sum(s, s.space->output, tile::sums_windows(s)) / static_cast<double>(parts);
  return sums * static_cast<double>(parts - 1) * static_cast<double>(base::size_of(s.space->expression.accumulate).n);
}

double part_bytes(const BspStage& s, const tile::Operand& o) {
  return box_sum(s, o, tile::Windows(s.grid.size(), Window::kPart)) * static_cast<double>(o.element.n);
}

Volume volume_of(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  Volume out;
  for (std::size_t n = 0; n < stages.size(); ++n) {
    const BspStage& s = stages[n];
    for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
      const Brought b = brought(s, i, tile::prearranged(stages) && n == 0);
      out.delivered_bytes += b.all;
      if (tile::homes_in_dram(stages, a) && tile::is_outside(stages, n, i)) out.from_dram += b.from_home;
    }
    out.delivered_bytes += reduced_bytes(s);
    const tile::Operand& o = s.space->output;
    if (tile::is_stored(stages, n, a)) out.to_dram += static_cast<double>(o.elements * o.element.n);
    double points = 1;
    for (const tile::TileAxis& axis : s.space->axes) points *= static_cast<double>(axis.extent);
    out.points += points;
  }
  return out;
}

}  // namespace tilescope::model::bsp
