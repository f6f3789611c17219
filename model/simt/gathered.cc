// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/gathered.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/integer.h"
#include "model/simt/detail/flows.h"
#include "model/simt/warp_access.h"

namespace tilescope::model {
namespace {

using Kind = expr::IndexDistribution::Kind;
using tile::Extents;
using tile::GatheredDim;
using tile::Operand;

bool of_table(const Operand& o, std::size_t d) { return o.gathered->gives(o.dims[d]); }

// What a tile covers: elements of the table, and of each row, which one of them selects, runs in each of the slabs that
// the dimensions before the gathered one make.
struct Covered {
  double entries = 1, slabs = 1, runs = 1;
  std::int64_t run = 1;  // elements
};

Covered covered_by(const Operand& o, const Extents& tile) {
  const tile::TileShape shape = tile::data_tile(o, tile);
  Covered out;
  bool joined = true;  // every faster dimension is taken whole
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t n = std::min(shape[d], o.dims[d].extent);
    if (of_table(o, d)) {
      const std::int64_t page = o.dims[d].page, rows = std::min(n, page);
      out.entries *= static_cast<double>(base::ceil_div(n, page));
      if (page == 1) continue;
      if (joined)
        out.run *= rows;
      else
        out.runs *= static_cast<double>(rows);
      joined = joined && rows == page;
    } else if (o.dims[d].first_dim < o.gathered->dim) {
      out.slabs *= static_cast<double>(n);
    } else if (joined) {
      out.run *= n;
      joined = n == o.dims[d].extent;
    } else {
      out.runs *= static_cast<double>(n);
    }
  }
  return out;
}

std::int64_t page_of(const GatheredDim& g) { return g.indices.kind == Kind::kPages ? g.indices.page : 1; }

// Different ones among `drawn` of `slots`, of `all` that the table draws.
double different(const GatheredDim& g, double slots, double drawn, double all) {
  const auto occupied = [&](double n) { return slots <= 1 ? 1.0 : -slots * std::expm1(n * std::log1p(-1 / slots)); };
  if (drawn <= 1) return drawn;
  if (g.indices.kind == Kind::kEven) return std::min(slots, std::max(1.0, drawn * std::min(1.0, slots / all)));
  if (g.indices.kind == Kind::kDistinct && slots >= static_cast<double>(g.extent)) return std::min(drawn, slots);
  if (g.indices.kind != Kind::kSorted || all <= drawn) return occupied(drawn);
  return 1 + (drawn - 1) * (occupied(all) - 1) / (all - 1);
}

// Granules of `entries` neighbouring elements of the table; `of_row`: granules of what each selects, in `bytes` of it.
double granules(const Operand& o, double entries, double bytes, double of_row, std::int64_t granule) {
  const GatheredDim& g = *o.gathered;
  const std::int64_t row = g.stride * o.element.n;
  const auto page = static_cast<double>(page_of(g)), rows = std::min(page, std::max(1.0, entries));
  const double extent = static_cast<double>(g.extent), unit_bytes = page * static_cast<double>(row);
  double of_unit = rows * of_row;
  if (bytes >= static_cast<double>(row)) {  // whole rows of a page lie side by side
    const auto length = static_cast<std::int64_t>(rows) * row;
    of_unit = run_bytes_in_sectors(length, 1, 1, std::gcd(length, granule), granule) / static_cast<double>(granule);
  }
  const double places = extent * static_cast<double>(row) / static_cast<double>(granule);
  const double slots = unit_bytes >= static_cast<double>(granule) ? extent / page : places;
  const double units = different(g, std::max(1.0, slots), entries / rows, static_cast<double>(g.entries) / page);
  return std::min(units * of_unit, std::max(of_unit, std::ceil(places)));
}

}  // namespace

double gathered_bytes(const Operand& o, const Extents& tile) {
  const GatheredDim& g = *o.gathered;
  const Covered c = covered_by(o, tile);
  const auto page = static_cast<double>(page_of(g)), rows = std::min(page, std::max(1.0, c.entries));
  const double different_rows = rows * different(g, std::max(1.0, static_cast<double>(g.extent) / page),
                                                 c.entries / rows, static_cast<double>(g.entries) / page);
  return different_rows * c.slabs * c.runs * static_cast<double>(c.run * o.element.n);
}

double gathered_granules(const Operand& o, const Extents& tile, std::int64_t granule) {
  const Covered c = covered_by(o, tile);
  const std::int64_t bytes = c.run * o.element.n, row = o.gathered->stride * o.element.n;
  const double of_row = c.runs * run_bytes_in_sectors(bytes, 1, 1, std::gcd(std::gcd(row, bytes), granule), granule) /
                        static_cast<double>(granule);
  return c.slabs * granules(o, c.entries, c.runs * static_cast<double>(bytes), of_row, granule);
}

double gathered_granules_of_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                                   std::int64_t granule) {
  const Operand& o = p.space->inputs[operand];
  const AccessPattern row = row_access(p, operand, warp);
  double entries = 1, lanes = static_cast<double>(row.lanes());  // lanes that are left to axes
  const auto add = [&](std::size_t axis, std::int64_t threads) {
    const double within = std::min(static_cast<double>(threads), lanes);
    lanes = std::max(1.0, lanes / within);
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms)
        if (of_table(o, d) && t.axis == static_cast<int>(axis))
          entries *= std::max(1.0, within / static_cast<double>(o.dims[d].page));
  };
  if (p.sharers() > 1)
    for (std::size_t i = p.reduction_order.size(); i-- > 0;)
      add(static_cast<std::size_t>(p.reduction_order[i]),
          p.reduction_threads[static_cast<std::size_t>(p.reduction_order[i])]);
  for (std::size_t i = p.thread_order.size(); i-- > 0;)
    add(static_cast<std::size_t>(p.thread_order[i]), p.mapping[static_cast<std::size_t>(p.thread_order[i])].threads);
  const double of_row = static_cast<double>(granules_touched(row, granule));
  const double bytes = static_cast<double>(row.lanes() * row.bytes()) / entries;
  return std::max(1.0, granules(o, entries, bytes, of_row, granule));
}

namespace {

// One copy of a warp takes neighbouring pieces of the tile: parts of so many runs, each by an index.
struct CopiedRuns {
  std::int64_t runs = 1, length = 1;  // elements
};
CopiedRuns copied_runs(const tile::StageProgram& p, std::size_t operand, std::int64_t warp) {
  const Operand& o = p.space->inputs[operand];
  const std::int64_t all =
      std::min(std::min(warp, p.threads()) * p.operands[operand].vector, tile::data_tile_elements(o, p.block));
  const std::int64_t length = std::min(all, covered_by(o, p.block).run);
  return {base::ceil_div(all, length), length};
}

}  // namespace

double gathered_granules_of_copy(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                                 std::int64_t granule) {
  const Operand& o = p.space->inputs[operand];
  const CopiedRuns copied = copied_runs(p, operand, warp);
  const std::int64_t bytes = copied.length * o.element.n, row = o.gathered->stride * o.element.n;
  return static_cast<double>(copied.runs) *
         run_bytes_in_sectors(bytes, 1, 1, std::gcd(std::gcd(row, bytes), granule), granule) /
         static_cast<double>(granule);
}

AccessPattern index_access_of_copy(const tile::StageProgram& p, std::size_t operand, std::int64_t warp) {
  const std::int64_t element = p.space->inputs[p.space->inputs[operand].gathered->table].element.n;
  const std::int64_t lanes = std::min(warp, p.threads()), runs = std::min(lanes, copied_runs(p, operand, warp).runs);
  AccessPattern access(element, lanes / runs * runs);
  access.add(lanes / runs, 0);
  access.add(runs, element);
  return access;
}

std::int64_t gathered_run(const Operand& o, const Extents& tile) {
  const Covered c = covered_by(o, tile);
  if (o.gathered->indices.kind == Kind::kSorted)
    return std::max(c.run, static_cast<std::int64_t>(gathered_bytes(o, tile) / c.slabs) / o.element.n);
  if (c.run < o.gathered->stride) return c.run;
  return c.run * std::min(page_of(*o.gathered), static_cast<std::int64_t>(std::max(1.0, c.entries)));
}

}  // namespace tilescope::model
