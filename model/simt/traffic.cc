// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/traffic.h"

#include <algorithm>
#include <cmath>

#include "base/integer.h"
#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/flows.h"
#include "model/simt/detail/memory_bounds.h"
#include "tile/overlap.h"
#include "tile/transfer/multicast.h"

namespace tilescope::model {
namespace {

using tile::Extents;
using tile::StageProgram;

// What the blocks of one wave cover along every axis: consecutive blocks in the program's block_order, and all of a
// reduction, and of what a block goes through step by step. A part of a row counts as that part, so that a block more
// is never a row more.
Extents wave_tile(const Counts& c, std::int64_t resident) {
  const StageProgram& p = *c.program;
  auto left = static_cast<double>(resident);
  base::FixedVector<double, tile::kMaxAxes> covered;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) covered.push_back(static_cast<double>(p.block[a]));
  for (std::size_t i = c.digits.size(); i-- > 0;) {
    if (c.digits[i].axis == c.stepped) continue;
    const auto count = static_cast<double>(c.digits[i].count);
    covered[c.digits[i].axis] *= std::clamp(left, 1.0, count);
    left /= count;
  }
  Extents tile;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
    const std::int64_t n = p.space->axes[a].extent;
    const bool part = a < p.space->spatial && a != c.stepped;
    tile.push_back(part ? std::min(n, static_cast<std::int64_t>(std::ceil(covered[a]))) : n);
  }
  return tile;
}

// What one block covers.
Extents block_tile(const Counts& c) {
  Extents tile;
  for (std::size_t a = 0; a < c.all.size(); ++a) tile.push_back(std::min(c.all[a], c.program->block[a]));
  return tile;
}

// What they cover at one moment: of a reduction, and of what a block goes through, one step.
Extents moment_tile(const Counts& c, Extents tile) {
  const StageProgram& p = *c.program;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a)
    if (a >= p.space->spatial || a == c.stepped) tile[a] = std::min(p.space->axes[a].extent, p.block[a]);
  return tile;
}

// What a block's threads read at one time of an input that they read directly: the register tiles of one iteration.
Extents iteration_tile(const Counts& c, Extents tile) {
  const StageProgram& p = *c.program;
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    tile[a] = std::min(tile[a], p.thread[a] * p.reduction_threads[a]);
  return tile;
}

// Whether a block's threads bring what they read of an input by several accesses each, of which one waits for another.
bool is_read_in_turns(const Counts& c, std::size_t i, const Extents& block_moment) {
  const StageProgram& p = *c.program;
  return i < p.space->inputs.size() &&
         tile::data_tile_elements(p.space->inputs[i], block_moment) > p.threads() * p.operands[i].vector;
}

// Bytes that blocks resident at one time read at one moment.
double bytes_of_moment(const Counts& c, const Extents& moment) {
  double bytes = 0;
  for (std::size_t i = 0; i < c.program->space->inputs.size(); ++i) {
    const tile::Operand& o = c.program->space->inputs[i];
    if (c.flows[i].moves) bytes += static_cast<double>(tile::data_tile_elements(o, moment) * o.element.n);
  }
  return bytes;
}

// Share of direct reads that no longer find their line in the core's cache.
double evicted_share(const Counts& c, const Machine& m, std::int64_t per_core) {
  if (m.core_cache_bytes <= 0) return 1;
  const double wanted = c.direct_lines_bytes * static_cast<double>(per_core);
  return wanted <= 0 ? 0 : std::clamp(1 - room_in_core_cache(c, m, per_core) / wanted, 0.0, 1.0);
}

// Of blocks that all run at one time, what the cores behind the first port have: they get theirs in the order of cores.
// Of more than that each cluster gets what it has time for.
double share_of_first_cluster(std::int64_t blocks, std::int64_t resident, const Machine& m) {
  if (blocks > resident) return 0;
  const std::int64_t own = std::min(m.cores, m.bounds.cluster_cores);
  const std::int64_t of_cluster = blocks / m.cores * own + std::min(own, blocks % m.cores);
  return static_cast<double>(of_cluster) / static_cast<double>(blocks);
}

// Bytes of a copied operand's sectors in one step. What a step leaves in the core's cache the next step of the same
// loop finds as far as all that both touch fits there, so that a loop fetches what it touches once, over its steps.
double copied_bytes(const Counts& c, const Flow& f, const Machine& m, std::int64_t per_core) {
  const double room = room_in_core_cache(c, m, per_core);
  double least = f.step_bytes;
  for (const Flow::Loops& loops : f.loops) {
    const double kept = std::clamp(room / (loops.lines_bytes * static_cast<double>(per_core)), 0.0, 1.0);
    if (kept == 0) break;
    least = std::min(least, kept * loops.step_bytes + (1 - kept) * f.step_bytes);
  }
  return least;
}

// Of an operand with an element for each place and step that a mask is about, the share that steps touch.
double touched_share(const Counts& c, std::size_t i) {
  const tile::Operand& o = c.program->space->operand(i);
  const auto uses = [&](int axis) { return o.uses(axis); };
  const bool all = !c.shares.axes.empty() && std::all_of(c.shares.axes.begin(), c.shares.axes.end(), uses);
  return all ? c.shares.mean : 1;
}

OperandTraffic traffic_of_operand(const Counts& c, const Machine& m, std::size_t i, const Extents& wave, double evicted,
                                  std::int64_t per_core) {
  const Flow& f = c.flows[i];
  const bool output = i == c.inputs.size();
  const bool direct = !output && c.inputs[i].comes == InputCounts::Comes::kDirect;
  double sectors = output || direct ? f.step_bytes : copied_bytes(c, f, m, per_core);
  double useful = f.useful_bytes;
  if (direct) {
    // Threads ask for what they use, not for what lies between; asked for again where the core's cache has lost it.
    if (evicted > 0 || f.touched_bytes < useful)
      sectors = std::min(sectors, f.requested_bytes) + std::max(0.0, f.requested_bytes - sectors) * evicted;
    useful = std::min(useful, f.touched_bytes);
  }
  OperandTraffic t;
  if (direct) t.missed_ratio = std::min(1.0, sectors / f.requested_bytes);
  t.request_bytes = f.request_bytes;
  // Inputs move once per reduction step; the output once.
  const auto blocks = static_cast<double>(c.blocks);
  t.block_bytes = sectors * (output ? 1.0 : c.mean_all_steps()) * f.inside;
  t.useful_ratio = std::min(1.0, useful / sectors);
  // Every core's port takes a tile that a cluster shares, and the device gives it once.
  const auto shared = output ? 1.0 : static_cast<double>(tile::sharing_blocks(*c.program, i));
  t.cache_bytes = t.block_bytes * blocks / shared;
  // Whatever blocks ask for is an estimate, and what the stage touches is not.
  const double touched = output ? 1 : touched_share(c, i);
  const double asked = std::max(t.cache_bytes, f.all_touched_bytes * touched);
  t.total_bytes = std::min({f.whole_bytes, asked, f.all_bytes * touched});
  t.cache_bytes = std::max(t.cache_bytes, t.total_bytes);
  const double of_wave =
      wave == c.all ? f.all_bytes : dram_bytes_under(c.program->space->operand(i), wave, f.start_multiple, f.granule);
  t.wave_bytes = std::min(t.total_bytes, of_wave);
  return t;
}

// What an operand shares with the operands before it of the same tensor: of all that the stage touches, of a wave, of a
// block.
struct Shared {
  double all = 0, wave = 0, block = 0;
};

Shared shared_with_earlier(const Counts& c, std::size_t i, const Extents& wave) {
  const std::vector<tile::Operand>& inputs = c.program->space->inputs;
  Shared out;
  if (i >= inputs.size()) return out;
  const Extents block = block_tile(c);
  for (std::size_t e = 0; e < i; ++e) {
    if (inputs[e].tensor != inputs[i].tensor || !c.flows[e].moves) continue;
    out.all = std::max(out.all, tile::share_in(inputs[i], inputs[e], c.all, c.flows[i].granule));
    out.wave = std::max(out.wave, tile::share_in(inputs[i], inputs[e], wave, c.flows[i].granule));
    out.block = std::max(out.block, tile::share_in(inputs[i], inputs[e], block, c.flows[i].granule));
  }
  return out;
}

// Bytes that DRAM reads because a stage's stores, which move `bytes` in all, are of parts: what blocks of so many waves
// write, of which the last cache keeps a share until the next one.
double read_for_stores(const Counts& c, const Machine& m, const Extents& wave, double bytes, double waves,
                       double kept) {
  const bool fetched = m.partial_write == arch::PartialWrite::kFetched;
  if (!fetched && m.write_granule_bytes == 0) return 0;
  if (m.device_caches.empty()) return bytes * c.output.stored_in_parts;
  const double under = read_bytes_under(c.program->space->output, wave, c.flows.back().start_multiple, m);
  const double all = c.parts * c.output.all_in_parts_bytes, of_waves = std::max(all, waves * under);
  return (all + (of_waves - all) * (1 - kept)) * c.output.stored_in_parts;
}

}  // namespace

double room_in_core_cache(const Counts& c, const Machine& m, std::int64_t per_core) {
  const double cached = m.core_cache_shared ? static_cast<double>(c.scratchpad.n * per_core) : 0;
  return m.core_cache_bytes - cached;
}

Traffic traffic_of(const Counts& c, const Machine& m, std::int64_t per_core) {
  const StageProgram& p = *c.program;
  Traffic t;
  const std::int64_t resident = per_core * m.cores;
  const std::size_t inputs = p.space->inputs.size();
  const std::int64_t blocks = c.blocks;
  const std::int64_t on_a_core = std::min(per_core, base::ceil_div(blocks, m.cores));
  const double evicted = evicted_share(c, m, on_a_core);
  const Extents wave = wave_tile(c, std::min(resident, blocks));
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(resident));
  double touched = 0;
  const Extents moment = moment_tile(c, wave), block_moment = moment_tile(c, block_tile(c));
  const double sorted = m.dram_rows.activates_per_us ? sorted_share(bytes_of_moment(c, moment), m.dram_rows) : 0;
  Moved activates, requests;
  double misses = 0;
  if (m.bounds.cluster_bytes_per_us) t.cluster_share = share_of_first_cluster(blocks, resident, m);
  t.operand.resize(inputs + 1);
  base::FixedVector<Shared, tile::kMaxOperands> shares(inputs + 1, Shared{});
  double all_bytes = 0;  // distinct
  for (std::size_t i = 0; i <= inputs; ++i) {
    if (!c.flows[i].moves) continue;
    OperandTraffic& o = t.operand[i] = traffic_of_operand(c, m, i, wave, evicted, on_a_core);
    const Shared shared = shares[i] = shared_with_earlier(c, i, wave);
    all_bytes += (1 - shared.all) * o.total_bytes;
    // A block finds in the core's cache what it has just read as another operand.
    if (shared.block > 0 && c.flows[i].through_core_cache && c.inputs[i].comes == InputCounts::Comes::kDirect) {
      const double left = 1 - shared.block * (1 - evicted);
      o.block_bytes *= left, o.cache_bytes *= left, o.missed_ratio *= left;
    }
    o.wave_bytes *= 1 - shared.wave;
    touched += o.wave_bytes;
  }
  // What fits a cache, or one before it, need not come through it again.
  std::array<double, arch::kMaxDeviceCaches> kept{};
  double capacity = 0;
  for (std::size_t d = 0; d < m.device_caches.size(); ++d) {
    capacity = std::max(capacity, m.device_caches[d].capacity_bytes);
    kept[d] = touched <= 0 ? 1 : std::min(1.0, capacity / touched);
  }
  for (std::size_t i = 0; i <= inputs; ++i) {
    if (!c.flows[i].moves) continue;
    OperandTraffic& o = t.operand[i];
    const bool output = i == inputs;
    const double parts = output ? c.parts : 1;  // partial sums of the output
    o.total_bytes *= parts;
    const double distinct = (1 - shares[i].all) * o.total_bytes;
    // What an earlier operand touches too comes again, unless that does so in the same wave or the last cache holds
    // all.
    const double held = all_bytes > capacity ? capacity / all_bytes : 1;
    o.total_bytes *= 1 - std::max(shares[i].wave, held * shares[i].all);
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
    if (m.bounds_requests) {
      add(requests, o.cache_bytes / o.request_bytes);
      if (!output) misses += o.dram_bytes / o.request_bytes;
    }
    for (std::size_t d = 0; d < m.device_caches.size(); ++d) add(t.caches[d], behind(d));
    add(t.dram, o.dram_bytes);
    if (output) {
      const double read = read_for_stores(c, m, wave, o.cache_bytes, waves,
                                          m.device_caches.empty() ? 0 : kept[m.device_caches.size() - 1]);
      (m.partial_write == arch::PartialWrite::kFetched ? t.fetched_for_stores : t.merged_for_stores) += read;
    }
    add(t.distinct, distinct);
    if (!output && m.cache_partitions > 1 && o.total_bytes > 0)
      t.crossing_bytes += o.total_bytes * crossings_of_line(o.cache_bytes / o.total_bytes, m.cache_partitions);
    if (m.dram_rows.activates_per_us) {
      // A block goes through its steps, and its threads through their reads, at its own pace, and writes when it is
      // done. Of an input that threads read directly, it brings one iteration's part at a time.
      const bool iterates = !output && c.inputs[i].comes == InputCounts::Comes::kDirect && c.points > c.depth;
      const bool turns = c.all_steps() > 1 || is_read_in_turns(c, i, block_moment);
      const Extents together = iterates ? iteration_tile(c, block_moment) : turns ? block_moment : moment;
      const auto per_byte = output ? written_back_per_byte : activates_per_byte;
      add(activates, o.dram_bytes * per_byte(p.space->operand(i), moment, together, sorted, m.dram_rows));
    }
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
