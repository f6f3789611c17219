// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/integer.h"
#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"
#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "model/simt/transfer/results.h"
#include "model/simt/warp_access.h"
#include "tile/staging.h"

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

// Bytes of DRAM, in its granules, that hold an operand's distinct elements under a tile.
double dram_bytes_under(const Operand& o, const Extents& tile, std::int64_t start_multiple, std::int64_t granule) {
  const tile::Runs runs = tile::runs_of(o, tile);
  return runs_under(o, tile, runs) * run_bytes_of(o, runs, start_multiple, granule);
}

// What the blocks of one wave cover along every axis: consecutive blocks in the program's block_order, and all of a
// reduction, and of what a block goes through step by step. A part of a row counts as that part, so that a block more
// is never a row more.
Extents wave_tile(const StageProgram& p, const KernelStage& kernel, std::int64_t resident) {
  auto left = static_cast<double>(resident);
  base::FixedVector<double, tile::kMaxAxes> covered;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) covered.push_back(static_cast<double>(p.block[a]));
  const auto digits = p.block_digits();
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i].axis == kernel.stepped) continue;
    const auto count = static_cast<double>(digits[i].count);
    covered[digits[i].axis] *= std::clamp(left, 1.0, count);
    left /= count;
  }
  Extents tile;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
    const std::int64_t n = p.space->axes[a].extent;
    const bool part = a < p.space->spatial && a != kernel.stepped;
    tile.push_back(part ? std::min(n, static_cast<std::int64_t>(std::ceil(covered[a]))) : n);
  }
  return tile;
}

// What they cover at one moment: of a reduction, and of what a block goes through, one step.
Extents moment_tile(const StageProgram& p, const KernelStage& kernel, const Extents& wave) {
  Extents tile = wave;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    if (a >= p.space->spatial || a == kernel.stepped) tile[a] = std::min(p.space->axes[a].extent, p.block[a]);
  return tile;
}

// Bytes of the lines of the core's cache under a tile of an operand.
double line_bytes_of(const StageProgram& p, const Machine& m, const Operand& o, const Extents& tile) {
  const tile::Runs runs = tile::runs_of(o, tile);
  return static_cast<double>(runs.count) *
         run_bytes_of(o, runs, start_multiple_of_runs(p, o), static_cast<std::int64_t>(m.line_bytes));
}

// Bytes of the core's cache that what blocks stage leaves over; may be negative.
double room_in_core_cache(const Machine& m, const KernelStage& kernel, std::int64_t per_core) {
  const double cached = m.core_cache_shared ? static_cast<double>(kernel.scratchpad.n * per_core) : 0;
  return m.core_cache_bytes - cached;
}

// Bytes that the lines of a block's direct reads of one step take up in its core's cache.
double lines_of_direct_reads(const StageProgram& p, const Machine& m, const KernelStage& kernel) {
  double bytes = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (p.operands[i].cached || kernel.inside(i)) continue;
    bytes += line_bytes_of(p, m, p.space->inputs[i], p.block);
  }
  return bytes;
}

// Share of direct reads that no longer find their line in the core's cache.
double evicted_share(const StageProgram& p, const Machine& m, const KernelStage& kernel, std::int64_t per_core) {
  if (m.core_cache_bytes <= 0) return 1;
  const double wanted = lines_of_direct_reads(p, m, kernel) * static_cast<double>(per_core);
  return wanted <= 0 ? 0 : std::clamp(1 - room_in_core_cache(m, kernel, per_core) / wanted, 0.0, 1.0);
}

// Whether an input passes the core's cache on its way.
bool through_core_cache(const StageProgram& p, const Machine& m, std::size_t i) {
  const auto by_loads = [](const auto& entry) { return loads_through_core_cache(entry); };
  return !p.operands[i].cached || std::visit(by_loads, transfer_of(p, i, m));
}

// The least that an operand moves between core and device: what is loaded through the core's cache fills its sectors.
std::int64_t sector_of(const StageProgram& p, const Machine& m, std::size_t i) {
  const bool loaded = i < p.space->inputs.size() && through_core_cache(p, m, i);
  return loaded ? m.load_sector_bytes : m.sector_bytes;
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

// Bytes of all requests of one step of one block for an input that is not cached, or of all its stores, in whole
// sectors.
double requested_bytes(const StageProgram& p, const Machine& m, std::size_t i) {
  const auto reads = [&] {
    const double fragment = tile::fragment_elements(p, i) / static_cast<double>(p.operands[i].vector * p.lanes());
    return ResultAccess{memory_access(p, i, m.warp), fragment * p.reduction_tiles_per_step()};
  };
  const ResultAccess asked = i < p.space->inputs.size()
                                 ? reads()
                                 : of_results(p, [&](const auto& entry) { return result_stores(entry, p, m.warp); });
  const double warps = std::max(1.0, static_cast<double>(p.threads()) / static_cast<double>(m.warp));
  const std::int64_t sector = sector_of(p, m, i);
  const std::int64_t sectors = granules_touched(asked.access, sector);
  return asked.per_warp * warps * static_cast<double>(sectors * sector) * share_of_cut_tiles(p, p.space->operand(i));
}

// Mean bytes of one request: cores ask for each line on its own, for those of its sectors that an access of a warp
// touches. Copies go through the runs of their tile; an engine asks for whole runs.
double request_bytes_of(const StageProgram& p, const Machine& m, std::size_t i) {
  const auto line = static_cast<std::int64_t>(m.bounds.line_bytes);
  const std::int64_t sector = sector_of(p, m, i);
  const bool output = i == p.space->inputs.size();
  const auto of_access = [&](const WarpAccess& access) {
    return static_cast<double>(granules_touched(access, sector) * sector) /
           static_cast<double>(granules_touched(access, line));
  };
  bool by_engine = false;
  if (output) {
    const ResultAccess stores = of_results(p, [&](const auto& entry) { return result_stores(entry, p, m.warp); });
    if (!stores.by_engine) return of_access(stores.access);
    by_engine = true;
  } else if (!p.operands[i].cached) {
    return of_access(memory_access(p, i, m.warp));
  } else {
    by_engine = std::holds_alternative<tile::Tma>(transfer_of(p, i, m));
    if (!by_engine && p.operands[i].blocked) return of_access(copied_access(p, i, m.warp));
  }
  const Operand& o = p.space->operand(i);
  tile::Runs runs = tile::runs_of(o, p.block);
  if (!by_engine) runs.length = std::min(runs.length, m.warp * p.operands[i].vector);
  const std::int64_t multiple = start_multiple_of_runs(p, o);
  return static_cast<double>(line) * run_bytes_of(o, runs, multiple, sector) / run_bytes_of(o, runs, multiple, line);
}

// Of blocks that all run at one time, what the cores behind the first port have: they get theirs in the order of cores.
// Of more than that each cluster gets what it has time for.
double share_of_first_cluster(std::int64_t blocks, std::int64_t resident, const Machine& m) {
  if (blocks > resident) return 0;
  const std::int64_t own = std::min(m.cores, m.bounds.cluster_cores);
  return static_cast<double>(blocks / m.cores * own + std::min(own, blocks % m.cores)) / static_cast<double>(blocks);
}

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

// Bytes of a cached operand's sectors in one step, of which `alone` would be a step's by itself. What a step leaves in
// the core's cache the next step of the same loop finds as far as all that both touch fits there, so that a loop
// fetches what it touches once, over its steps.
double cached_bytes(const StageProgram& p, const Machine& m, const KernelStage& kernel, std::size_t i, double alone,
                    std::int64_t per_core) {
  const Operand& o = p.space->inputs[i];
  const std::int64_t multiple = start_multiple_of_runs(p, o);
  const double room = room_in_core_cache(m, kernel, per_core);
  double least = alone;
  for (std::size_t loops = 1; loops <= p.reduction_order.size(); ++loops) {
    const Stretch s = stretch_of(p, loops);
    double lines = 0;
    for (const Operand& input : p.space->inputs) lines += line_bytes_of(p, m, input, s.together);
    const double kept = std::clamp(room / (lines * static_cast<double>(per_core)), 0.0, 1.0);
    if (kept == 0) break;
    const tile::Runs runs = tile::runs_of(o, s.tile);
    double bytes = static_cast<double>(runs.count) * run_bytes_of(o, runs, multiple, sector_of(p, m, i)) / s.steps;
    for (std::size_t a = 0; a < s.longer.size(); ++a)
      if (o.uses(static_cast<int>(a))) bytes *= s.longer[a];  // the share inside takes off what was cut
    least = std::min(least, kept * bytes + (1 - kept) * alone);
  }
  return least;
}

// What a stage covers in one wave and in all, and how much of its blocks' tiles is inside.
struct Coverage {
  Extents wave, all;
  Shares inside;
};

OperandTraffic traffic_of_operand(const StageProgram& p, const Machine& m, const KernelStage& kernel, std::size_t i,
                                  const Coverage& coverage, double evicted, std::int64_t per_core) {
  const Operand& o = p.space->operand(i);
  const auto element = static_cast<double>(o.element.n);
  const bool output = i == p.space->inputs.size();
  const tile::Runs runs = tile::runs_of(o, p.block);
  const std::int64_t multiple = start_multiple_of_runs(p, o);
  const double inside = share_inside(coverage.inside, o);
  const std::int64_t sector = sector_of(p, m, i);
  const std::int64_t dram_granule = std::max(sector, m.dram_granule_bytes);
  double sectors = static_cast<double>(runs.count) * run_bytes_of(o, runs, multiple, sector);
  double useful = static_cast<double>(runs.count * runs.length) * element;
  if (output) {
    sectors = std::max(sectors, requested_bytes(p, m, i));  // stores go through the core's cache one by one
  } else if (p.operands[i].cached) {
    if (sectors > useful && m.core_cache_bytes > 0 && through_core_cache(p, m, i))
      sectors = cached_bytes(p, m, kernel, i, sectors, per_core);
  } else {
    // Threads ask for what they use, not for what lies between; asked for again where the core's cache has lost it.
    const double touched = tile::touched_elements(o, p.block) * element;
    if (evicted > 0 || touched < useful) {
      const double requested = requested_bytes(p, m, i);
      sectors = std::min(sectors, requested) + std::max(0.0, requested - sectors) * evicted;
    }
    useful = std::min(useful, touched);
  }
  OperandTraffic t;
  if (!output && !p.operands[i].cached) t.missed_ratio = std::min(1.0, sectors / requested_bytes(p, m, i));
  if (m.bounds.of_cache) t.request_bytes = request_bytes_of(p, m, i);
  // Inputs move once per reduction step; the output once.
  const auto blocks = static_cast<double>(kernel.blocks);
  t.block_bytes = sectors * static_cast<double>(output ? 1 : kernel.all_steps(p)) * inside;
  t.useful_ratio = std::min(1.0, useful / sectors);
  t.cache_bytes = t.block_bytes * blocks;
  const double whole = static_cast<double>(o.elements) * element;
  // Whatever blocks ask for is an estimate, and what the stage touches is not.
  const double asked = std::max(t.cache_bytes, tile::touched_elements(o, coverage.all) * element);
  t.total_bytes = std::min({whole, asked, dram_bytes_under(o, coverage.all, multiple, dram_granule)});
  t.cache_bytes = std::max(t.cache_bytes, t.total_bytes);
  t.wave_bytes = std::min(t.total_bytes, dram_bytes_under(o, coverage.wave, multiple, dram_granule));
  return t;
}

// Share of the granules of one store of a warp that it does not cover, whose start is any such multiple; of boxes, of
// those of the block's tile.
double share_stored_in_parts(const StageProgram& p, const Machine& m, std::int64_t start_multiple,
                             std::int64_t sector) {
  const std::int64_t alignment = start_multiple == 0 ? sector : std::min(start_multiple, sector);
  const ResultAccess stores = of_results(p, [&](const auto& entry) { return result_stores(entry, p, m.warp); });
  if (stores.by_engine) {
    const Operand& o = p.space->output;
    const tile::Runs runs = tile::runs_of(o, p.block);
    return partly_covered_bytes(runs.length, runs.stride, o.element.n, alignment, sector, sector) /
           run_bytes_of(o, runs, start_multiple, sector);
  }
  double partly = 0, touched = 0;
  for (std::int64_t from = 0; from < sector; from += alignment) {
    WarpAccess moved = stores.access;
    const std::int64_t first = *std::min_element(moved.offset.begin(), moved.offset.end());
    for (std::int64_t& offset : moved.offset) offset += from - first;
    partly += static_cast<double>(granules_partly_covered(stores.access, sector, from));
    touched += static_cast<double>(granules_touched(moved, sector));
  }
  return partly / touched;
}

// Bytes that DRAM reads because a stage's stores, which move `bytes` in all, are of parts: what blocks of so many waves
// write, of which the last cache keeps a share until the next one. `outputs`: as many as a split reduction has parts.
double read_for_stores(const StageProgram& p, const Machine& m, const Coverage& coverage, double bytes, double outputs,
                       double waves, double kept) {
  const bool fetched = m.partial_write == arch::PartialWrite::kFetched;
  if (!fetched && m.write_granule_bytes == 0) return 0;
  const Operand& o = p.space->output;
  const std::int64_t multiple = start_multiple_of_runs(p, o);
  if (m.device_caches.empty()) return bytes * share_stored_in_parts(p, m, multiple, m.write_granule_bytes);
  const auto under = [&](const Extents& tile) {
    const tile::Runs runs = tile::runs_of(o, tile);
    const std::int64_t starts = distinct_elements(o, tile) < static_cast<double>(o.elements) ? multiple : 0;
    if (fetched) return dram_bytes_under(o, tile, starts, m.dram_granule_bytes);
    const std::int64_t alignment = starts == 0 ? m.burst_bytes : std::min(starts, m.burst_bytes);
    return runs_under(o, tile, runs) *
           partly_covered_bytes(runs.length, runs.stride, o.element.n, alignment, m.burst_bytes, m.write_granule_bytes);
  };
  const double all = outputs * under(coverage.all), of_waves = std::max(all, waves * under(coverage.wave));
  const double share = fetched ? share_stored_in_parts(p, m, multiple, m.sector_bytes) : 1;
  return (all + (of_waves - all) * (1 - kept)) * share;
}

}  // namespace

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

Traffic traffic_of(const StageProgram& p, const Machine& m, const KernelStage& kernel, std::int64_t per_core) {
  Traffic t;
  const std::int64_t resident = per_core * m.cores;
  const std::size_t inputs = p.space->inputs.size();
  const std::int64_t blocks = kernel.blocks;
  const std::int64_t on_a_core = std::min(per_core, base::ceil_div(blocks, m.cores));
  const double evicted = evicted_share(p, m, kernel, on_a_core);
  Coverage coverage{wave_tile(p, kernel, std::min(resident, blocks)), {}, shares_inside(p)};
  for (const tile::TileAxis& a : p.space->axes) coverage.all.push_back(a.extent);
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(resident));
  double touched = 0;
  const Extents moment = moment_tile(p, kernel, coverage.wave);
  Moved activates, requests;
  double misses = 0;
  if (m.bounds.cluster_bytes_per_us > 0) t.cluster_share = share_of_first_cluster(blocks, resident, m);
  const auto stays = [&](std::size_t i) { return i == inputs ? kernel.stays() : kernel.inside(i); };
  for (std::size_t i = 0; i <= inputs; ++i) {
    if (stays(i)) continue;
    t.operand[i] = traffic_of_operand(p, m, kernel, i, coverage, evicted, on_a_core);
    touched += t.operand[i].wave_bytes;
  }
  // What fits a cache, or one before it, need not come through it again.
  std::array<double, arch::kMaxDeviceCaches> kept{};
  double capacity = 0;
  for (std::size_t c = 0; c < m.device_caches.size(); ++c) {
    capacity = std::max(capacity, m.device_caches[c].capacity_bytes);
    kept[c] = touched <= 0 ? 1 : std::min(1.0, capacity / touched);
  }
  for (std::size_t i = 0; i <= inputs; ++i) {
    if (stays(i)) continue;
    OperandTraffic& o = t.operand[i];
    const bool output = i == inputs;
    double parts = 1;  // partial sums of the output
    if (output)
      for (const std::int64_t n : p.split) parts *= static_cast<double>(n);
    o.total_bytes *= parts;
    const double every_wave = std::max(o.total_bytes, waves * o.wave_bytes);
    // Bytes behind so many of the caches.
    const auto behind = [&](std::size_t caches) {
      if (caches == 0) return o.cache_bytes;
      if (output) return o.total_bytes;
      return std::min(o.cache_bytes, o.total_bytes + (every_wave - o.total_bytes) * (1 - kept[caches - 1]));
    };
    const auto add = [&](Moved& level, double bytes) { (output ? level.written : level.read) += bytes; };
    o.dram_bytes = behind(m.device_caches.size());
    add(t.cores, o.cache_bytes);
    if (m.bounds.of_cache) {
      add(requests, o.cache_bytes / o.request_bytes);
      if (!output) misses += o.dram_bytes / o.request_bytes;
    }
    for (std::size_t c = 0; c < m.device_caches.size(); ++c) add(t.caches[c], behind(c));
    add(t.dram, o.dram_bytes);
    if (output) {
      const double read = read_for_stores(p, m, coverage, o.cache_bytes, parts, waves,
                                          m.device_caches.empty() ? 0 : kept[m.device_caches.size() - 1]);
      (m.partial_write == arch::PartialWrite::kFetched ? t.fetched_for_stores : t.merged_for_stores) += read;
    }
    add(t.distinct, o.total_bytes);
    if (!output && m.cache_partitions > 1 && o.total_bytes > 0)
      t.crossing_bytes += o.total_bytes * crossings_of_line(o.cache_bytes / o.total_bytes, m.cache_partitions);
    if (m.dram_rows.activates_per_us > 0)
      add(activates, o.dram_bytes * activates_per_byte(p.space->operand(i), moment, m.dram_rows));
  }
  if (t.cores.read > 0) t.requests_per_byte.read = requests.read / t.cores.read;
  if (t.cores.written > 0) t.requests_per_byte.written = requests.written / t.cores.written;
  t.cold_read = t.dram.read;
  if (t.dram.read > 0) t.misses_per_byte = misses / t.dram.read;
  if (t.dram.read > 0) t.activates_per_byte.read = activates.read / t.dram.read;
  if (t.dram.written > 0) t.activates_per_byte.written = activates.written / t.dram.written;
  return t;
}

}  // namespace tilescope::model
