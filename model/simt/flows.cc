// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/flows.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/integer.h"
#include "model/simt/detail/gathered.h"
#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "model/simt/transfer/results.h"
#include "model/simt/warp_access.h"

namespace tilescope::model {
namespace {

using tile::Extents;
using tile::Operand;
using tile::StageProgram;

// The greatest power of two that divides every start of the operand's runs, in bytes; 0 where all start at 0.
std::int64_t start_multiple_of_runs(const StageProgram& p, const Operand& o) {
  std::int64_t bits = 0;  // the lowest bit that any step of a start sets
  const auto step = [&](std::int64_t elements) { bits |= elements * o.element.n; };
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const std::int64_t stride = o.steps[d].front().stride;
    step(o.dims[d].low * stride);
    for (const expr::Term& t : o.dims[d].terms)
      step(t.coefficient * p.block[static_cast<std::size_t>(t.axis)] * stride);
    for (const tile::CollapsedStep& s : o.steps[d])
      if (&s != &o.steps[d].front()) step(s.stride);
    if (d + 1 < o.dims.size()) step(stride);
  }
  return bits & -bits;
}

// Bytes in whole granules of one run of a tile, whose start is any such multiple.
double run_bytes_of(const Operand& o, const tile::Runs& runs, std::int64_t start_multiple, std::int64_t granule) {
  const std::int64_t alignment = start_multiple == 0 ? granule : std::min(start_multiple, granule);
  return run_bytes_in_sectors(runs.length, runs.stride, o.element.n, alignment, granule);
}

// One number per tile axis.
using Shares = base::FixedVector<double, tile::kMaxAxes>;

// Share of the blocks' tiles along each axis that lies inside the stage's ranges.
Shares shares_inside(const StageProgram& p) {
  Shares shares;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
    const std::int64_t n = p.space->axes[a].extent;
    const std::int64_t block = std::min(n, p.block[a]);  // tiles longer than the axis are cut to it
    const std::int64_t part = base::round_up(base::ceil_div(n, p.split[a]), block);  // of a reduction; else all
    shares.push_back(static_cast<double>(n) / static_cast<double>(p.split[a] * part));
  }
  return shares;
}

double share_inside(const Shares& shares, const Operand& o) {
  double share = 1;
  for (std::size_t a = 0; a < shares.size(); ++a)
    if (shares[a] < 1 && o.uses(static_cast<int>(a))) share *= shares[a];
  return share;
}

// Distinct elements of an operand under a tile: an im2col data tile repeats what neighbouring patches share, as often
// as the whole operand does.
double distinct_elements(const Operand& o, const Extents& tile) {
  double n = static_cast<double>(tile::data_tile_elements_inside(o, tile));
  if (!o.im2col) return n;
  double whole = 1;
  for (const tile::TileDim& d : o.dims) whole *= static_cast<double>(d.extent);
  return n * std::min(1.0, static_cast<double>(o.elements) / whole);
}

// Runs of an operand's distinct elements under a tile.
double runs_under(const Operand& o, const Extents& tile, const tile::Runs& runs) {
  return distinct_elements(o, tile) / static_cast<double>(runs.length);
}

// Bytes of the lines of the core's cache under a tile of an operand.
double line_bytes_of(const Geometry& g, const Operand& o, const Extents& tile, std::int64_t start_multiple) {
  if (o.gathered) return gathered_granules(o, tile, g.line_bytes) * static_cast<double>(g.line_bytes);
  const tile::Runs runs = tile::runs_of(o, tile);
  return static_cast<double>(runs.count) * run_bytes_of(o, runs, start_multiple, g.line_bytes);
}

// Bytes that the lines of a block's direct reads of one step take up in its core's cache.
double lines_of_direct_reads(const Counts& c, const Geometry& g,
                             const base::FixedVector<Flow, tile::kMaxOperands>& flows) {
  double bytes = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i].comes == InputCounts::Comes::kDirect)
      bytes += line_bytes_of(g, c.program->space->inputs[i], c.program->block, flows[i].start_multiple);
  return bytes;
}

// Whether an input passes the core's cache on its way.
bool through_core_cache(const StageProgram& p, const Geometry& g, std::size_t i) {
  const auto by_loads = [](const auto& entry) { return loads_through_core_cache(entry); };
  return !p.operands[i].cached || std::visit(by_loads, transfer_of(p, i, g));
}

// The least that an operand moves between core and device: what is loaded through the core's cache fills its sectors.
std::int64_t sector_of(const StageProgram& p, const Geometry& g, std::size_t i) {
  const bool loaded = i < p.space->inputs.size() && through_core_cache(p, g, i);
  return loaded ? g.load_sector_bytes : g.sector_bytes;
}

// Share of a block's threads and steps that lie inside axes which the block's tile is longer than: others ask for
// nothing.
double share_of_cut_tiles(const StageProgram& p, const Operand& o) {
  double share = 1;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    if (const std::int64_t n = p.space->axes[a].extent; p.block[a] > n && o.uses(static_cast<int>(a)))
      share *= static_cast<double>(n) / static_cast<double>(p.block[a]);
  return share;
}

// Bytes of all requests of one block, in whole sectors.
double requested_bytes(const StageProgram& p, const Geometry& g, std::size_t i, const ResultAccess& asked,
                       AccessTable* known) {
  const double warps = std::max(1.0, static_cast<double>(p.threads()) / static_cast<double>(g.warp));
  const std::int64_t sector = sector_of(p, g, i);
  const Operand& o = p.space->operand(i);
  const double sectors = o.gathered ? gathered_granules_of_access(p, i, g.warp, sector)
                                    : static_cast<double>(granules_of(asked.access, sector, known));
  return asked.per_warp * warps * (sectors * static_cast<double>(sector)) * share_of_cut_tiles(p, o);
}

}  // namespace

// Copies go through the runs of their tile; an engine asks for whole runs.
double request_bytes_of(const StageProgram& p, const Geometry& g, std::size_t i, const ResultAccess* asked,
                        AccessTable* known) {
  const std::int64_t line = g.device_line_bytes, sector = sector_of(p, g, i);
  if (p.space->operand(i).gathered) {
    const auto granules = [&](std::int64_t of) {
      return p.operands[i].cached ? gathered_granules_of_copy(p, i, g.warp, of)
                                  : gathered_granules_of_access(p, i, g.warp, of);
    };
    return granules(sector) * static_cast<double>(sector) / granules(line);
  }
  const auto of_access = [&](const AccessPattern& access) {
    return static_cast<double>(granules_of(access, sector, known) * sector) /
           static_cast<double>(granules_of(access, line, known));
  };
  if (asked != nullptr && !asked->by_engine) return of_access(asked->access);
  const bool by_engine = asked != nullptr || std::holds_alternative<tile::Tma>(transfer_of(p, i, g));
  if (!by_engine && p.operands[i].blocked) return of_access(copied_access(p, i, g.warp));
  const Operand& o = p.space->operand(i);
  tile::Runs runs = tile::runs_of(o, p.block);
  if (!by_engine) runs.length = std::min(runs.length, g.warp * p.operands[i].vector);
  const std::int64_t multiple = start_multiple_of_runs(p, o);
  return static_cast<double>(line) * run_bytes_of(o, runs, multiple, sector) / run_bytes_of(o, runs, multiple, line);
}

namespace {

// The block tile with `loops` of the innermost reduction loops run to their end, and the steps that these take. Along
// these loops the tile is cut to the axis: by so much the last step's is longer.
struct Stretch {
  Extents tile;
  double steps = 1;
  Shares longer;  // by axis
  // What two neighbouring steps of the outermost of these loops touch, the inner ones run to their end.
  Extents together;
};
Stretch stretch_of(const StageProgram& p, std::size_t loops) {
  Stretch s{p.block, 1, Shares(p.space->axes.size(), 1.0), p.block};
  for (std::size_t k = 0; k < loops; ++k) {
    const auto a = static_cast<std::size_t>(p.reduction_order[p.reduction_order.size() - 1 - k]);
    const std::int64_t part = base::ceil_div(p.space->axes[a].extent, p.split[a]);
    const std::int64_t steps = base::ceil_div(part, p.block[a]);
    s.steps *= static_cast<double>(steps);
    const std::int64_t n = p.space->axes[a].extent, covered = std::min(n, p.block[a]) * steps;
    s.longer[a] = static_cast<double>(covered) / static_cast<double>(std::min(n, covered));
    s.together = s.tile;
    s.together[a] *= std::min<std::int64_t>(2, steps);
    s.tile[a] *= steps;
  }
  return s;
}

// A copied operand's bytes where a step finds what the one before it left in the core's cache.
void add_loops(Flow& f, const StageProgram& p, const Geometry& g, std::size_t i) {
  const Operand& o = p.space->inputs[i];
  for (std::size_t loops = 1; loops <= p.reduction_order.size(); ++loops) {
    const Stretch s = stretch_of(p, loops);
    Flow::Loops of;
    for (const Operand& input : p.space->inputs)
      of.lines_bytes += line_bytes_of(g, input, s.together, start_multiple_of_runs(p, input));
    const tile::Runs runs = tile::runs_of(o, s.tile);
    of.step_bytes =
        static_cast<double>(runs.count) * run_bytes_of(o, runs, f.start_multiple, sector_of(p, g, i)) / s.steps;
    for (std::size_t a = 0; a < s.longer.size(); ++a)
      if (s.longer[a] != 1 && o.uses(static_cast<int>(a)))
        of.step_bytes *= s.longer[a];  // the share inside takes off what was cut
    f.loops.push_back(of);
  }
}

// Share of the granules of one store of a warp that it does not cover, whose start is any such multiple; of boxes, of
// those of the block's tile.
double share_stored_in_parts(const StageProgram& p, const ResultAccess& stores, std::int64_t start_multiple,
                             std::int64_t sector) {
  const std::int64_t alignment = start_multiple == 0 ? sector : std::min(start_multiple, sector);
  if (stores.by_engine) {
    const Operand& o = p.space->output;
    const tile::Runs runs = tile::runs_of(o, p.block);
    return partly_covered_bytes(runs.length, runs.stride, o.element.n, alignment, sector, sector) /
           run_bytes_of(o, runs, start_multiple, sector);
  }
  const WarpAccess addresses = stores.access.addresses();
  double partly = 0, touched = 0;
  for (std::int64_t from = 0; from < sector; from += alignment) {
    WarpAccess moved = addresses;
    const std::int64_t first = *std::min_element(moved.offset.begin(), moved.offset.end());
    for (std::int64_t& offset : moved.offset) offset += from - first;
    partly += static_cast<double>(granules_partly_covered(addresses, sector, from));
    touched += static_cast<double>(granules_touched(moved, sector));
  }
  return partly / touched;
}

// Of an operand that is gathered, where the rest is known.
void find_gathered(Flow& f, const Operand& o, const Extents& block, const Extents& all, std::int64_t sector) {
  f.step_bytes = gathered_granules(o, block, sector) * static_cast<double>(sector);
  f.useful_bytes = f.touched_bytes = gathered_bytes(o, block);
  f.all_touched_bytes = gathered_bytes(o, all);
}

// Of an operand; `shares` are those of the blocks' tiles inside the stage's ranges.
Flow flow_of(const Counts& c, const Geometry& g, std::size_t i, const Shares& shares, const ResultAccess& asked,
             AccessTable* known, ResultCounts& results) {
  const StageProgram& p = *c.program;
  const Operand& o = p.space->operand(i);
  const auto element = static_cast<double>(o.element.n);
  const bool output = i == p.space->inputs.size();
  const tile::Runs runs = tile::runs_of(o, p.block);
  const std::int64_t sector = sector_of(p, g, i);
  Flow f;
  f.moves = true;
  f.through_core_cache = !output && through_core_cache(p, g, i);
  f.granule = std::max(sector, g.dram_granule_bytes);
  f.start_multiple = start_multiple_of_runs(p, o);
  f.inside = share_inside(shares, o);
  f.step_bytes = static_cast<double>(runs.count) * run_bytes_of(o, runs, f.start_multiple, sector);
  f.useful_bytes = static_cast<double>(runs.count * runs.length) * element;
  f.whole_bytes = static_cast<double>(o.elements) * element;
  f.all_touched_bytes = tile::touched_elements(o, c.all) * element;
  f.all_bytes = dram_bytes_under(o, c.all, f.start_multiple, f.granule);
  if (o.gathered) find_gathered(f, o, p.block, c.all, sector);
  if (!output && p.operands[i].cached) {
    if (!o.gathered && f.step_bytes > f.useful_bytes && g.has_core_cache && f.through_core_cache) add_loops(f, p, g, i);
    if (g.bounds_requests) f.request_bytes = request_bytes_of(p, g, i, nullptr, known);
    return f;
  }
  f.requested_bytes = requested_bytes(p, g, i, asked, known);
  if (g.bounds_requests) f.request_bytes = request_bytes_of(p, g, i, &asked, known);
  if (!output) {
    if (!o.gathered) f.touched_bytes = tile::touched_elements(o, p.block) * element;
    return f;
  }
  f.step_bytes = std::max(f.step_bytes, f.requested_bytes);  // stores go through the core's cache one by one
  const bool fetched = g.partial_write == arch::PartialWrite::kFetched;
  if (!fetched && g.write_granule_bytes == 0) return f;
  if (!g.has_device_caches)
    results.stored_in_parts = share_stored_in_parts(p, asked, f.start_multiple, g.write_granule_bytes);
  else
    results.stored_in_parts = fetched ? share_stored_in_parts(p, asked, f.start_multiple, g.sector_bytes) : 1;
  if (g.has_device_caches) results.all_in_parts_bytes = read_bytes_under(o, c.all, f.start_multiple, g);
  return f;
}

}  // namespace

double dram_bytes_under(const Operand& o, const Extents& tile, std::int64_t start_multiple, std::int64_t granule) {
  if (o.gathered) return gathered_granules(o, tile, granule) * static_cast<double>(granule);
  const tile::Runs runs = tile::runs_of(o, tile);
  return runs_under(o, tile, runs) * run_bytes_of(o, runs, start_multiple, granule);
}

double read_bytes_under(const Operand& o, const Extents& tile, std::int64_t start_multiple, const Geometry& g) {
  const tile::Runs runs = tile::runs_of(o, tile);
  const std::int64_t starts = distinct_elements(o, tile) < static_cast<double>(o.elements) ? start_multiple : 0;
  if (g.partial_write == arch::PartialWrite::kFetched) return dram_bytes_under(o, tile, starts, g.dram_granule_bytes);
  const std::int64_t alignment = starts == 0 ? g.burst_bytes : std::min(starts, g.burst_bytes);
  return runs_under(o, tile, runs) *
         partly_covered_bytes(runs.length, runs.stride, o.element.n, alignment, g.burst_bytes, g.write_granule_bytes);
}

double partly_covered_bytes(std::int64_t length, std::int64_t stride, std::int64_t element_bytes,
                            std::int64_t alignment_bytes, std::int64_t burst_bytes, std::int64_t granule_bytes) {
  if (stride > 1)
    return element_bytes % granule_bytes == 0
               ? 0
               : run_bytes_in_sectors(length, stride, element_bytes, alignment_bytes, burst_bytes);
  std::int64_t bursts = 0, starts = 0;
  for (std::int64_t start = 0; start < burst_bytes; start += alignment_bytes, ++starts) {
    const std::int64_t end = start + length * element_bytes, last = (end - 1) / burst_bytes;
    const bool begins_within = start % granule_bytes != 0, ends_within = end % granule_bytes != 0;
    bursts += last == 0 ? (begins_within || ends_within) : begins_within + ends_within;
  }
  return static_cast<double>(bursts * burst_bytes) / static_cast<double>(starts);
}

double run_bytes_in_sectors(std::int64_t length, std::int64_t stride, std::int64_t element_bytes,
                            std::int64_t alignment_bytes, std::int64_t sector_bytes) {
  if (stride * element_bytes >= sector_bytes) return static_cast<double>(length * sector_bytes);
  const std::int64_t span = ((length - 1) * stride + 1) * element_bytes;
  // A start at offset s within a sector needs ceil((s + span) / sector) of them; s takes every multiple of the
  // alignment.
  return static_cast<double>(base::round_up(span, alignment_bytes) + sector_bytes - alignment_bytes);
}

void add_flows(Counts& c, const KernelStage& kernel, const Geometry& g, std::span<const ResultAccess> asked,
               AccessTable* known, base::FixedVector<Flow, tile::kMaxOperands>& flows) {
  const StageProgram& p = *c.program;
  const std::size_t inputs = p.space->inputs.size();
  const Shares shares = shares_inside(p);
  for (std::size_t i = 0; i <= inputs; ++i) {
    const bool stays = i == inputs ? kernel.stays() : kernel.inside(i);
    flows.push_back(stays ? Flow{} : flow_of(c, g, i, shares, asked[i], known, c.output));
  }
  if (g.has_core_cache) c.direct_lines_bytes = lines_of_direct_reads(c, g, flows);
}

}  // namespace tilescope::model
