// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/kernel_time.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/integer.h"
#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"
#include "model/simt/detail/spills.h"
#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

std::optional<Combining> combining_of(const Counts& counts, const Machine& m) {
  const double parts = counts.parts;
  if (parts == 1) return std::nullopt;
  const tile::TileSpace& space = *counts.program->space;
  const expr::Expression& e = space.expression;
  const auto elements = static_cast<double>(space.output.elements);
  const double partial = parts * elements * static_cast<double>(base::size_of(e.accumulate).n);
  const double written = elements * static_cast<double>(space.output.element.n);
  Combining c;
  c.blocks = std::ceil(elements / static_cast<double>(m.warp * m.partitions));
  double kept = 0, latency_cycles = 0, nearer = 0;
  const auto come_from = [&](double level_latency) {
    latency_cycles += (1 - kept) * (level_latency - nearer);
    nearer = level_latency;
  };
  for (std::size_t i = 0; i < m.device_caches.size(); ++i) {
    const DeviceCache& cache = m.device_caches[i];
    // Neighbouring threads read and write neighbouring elements: whole lines.
    const double bytes = partial * (1 - kept) + written;
    c.cache_us[i] = cache.port_us(bytes, i == 0 ? bytes / static_cast<double>(m.device_line_bytes) : 0);
    come_from(cache.latency_cycles);
    kept = std::max(kept, std::min(1.0, cache.capacity_bytes / (i == 0 ? m.cache_partitions : 1) / partial));
  }
  c.dram_read_bytes = partial * (1 - kept);
  c.dram_written_bytes = written;
  c.dram_us = (partial * (1 - kept) / m.dram_read_ratio + written / m.dram_write_ratio) / m.dram_bytes_per_us;
  come_from(m.dram_latency_cycles);
  DeviceTraffic t;
  t.dram = t.distinct = {partial * (1 - kept), written};
  c.dram_us = std::max(c.dram_us, least_command_time_us(t, m));
  if (m.bounds.translations_per_us) c.dram_us = std::max(c.dram_us, least_translation_time_us(t, m));
  if (m.bounds.of_cache()) {
    t.caches[0] = t.cores = {partial, written};
    t.requests_per_byte = {1 / m.bounds.line_bytes, 1 / m.bounds.line_bytes};
    t.misses_per_byte = 1 / m.bounds.line_bytes;
    c.cache_us[0] = std::max(c.cache_us[0], least_cache_time_us(t, m));
  }
  const double rounds = std::ceil(elements / static_cast<double>(m.cores * m.max_threads));
  c.latency_us = rounds * parts * latency_cycles * 1e6 / m.clock_hz;
  return c;
}

// A kernel that keeps no resource busy.
Part idle_part(const Machine& m) {
  Part part{.launch_us = m.launch_us};
  part.busy_us.assign(m.resource_count(), 0);
  return part;
}

// Of all stages of a kernel: the blocks and registers that they leave each other.
Occupancy occupancy_of(std::span<const StageCosts> stages) {
  Occupancy out = stages.front().occupancy;
  for (const StageCosts& s : stages) {
    const std::int64_t registers = std::max(out.registers_per_thread, s.occupancy.registers_per_thread);
    const std::int64_t spilled = std::max(out.spilled_per_thread, s.occupancy.spilled_per_thread);
    if (s.occupancy.blocks_per_core < out.blocks_per_core) out = s.occupancy;
    out.registers_per_thread = registers;
    out.spilled_per_thread = spilled;
  }
  return out;
}

// Bytes that a block of the stage asks the device for and sends there.
double block_bytes(const StageCosts& s) {
  double bytes = 0;
  for (std::size_t i = 0; i < s.counts->flows.size(); ++i) bytes += s.traffic->operand[i].block_bytes;
  return bytes;
}

// What a stage reads again of its own block's earlier stages comes from the core's cache, or from the device's, as far
// as what the blocks of the core, or of all cores, touch from the one reading to the other fits there.
void read_again(std::span<const StageCosts> stages, std::int64_t per_core, const Machine& m,
                std::span<StageStorage> storages) {
  const std::int64_t on_a_core = std::min(per_core, base::ceil_div(stages.front().counts->blocks, m.cores));
  const auto blocks = static_cast<double>(on_a_core);
  const double staged = m.core_cache_shared ? static_cast<double>(stages.front().counts->scratchpad.n) * blocks : 0;
  std::vector<double> touched;  // by a block, before anything is known to be there
  for (const StageCosts& s : stages) touched.push_back(block_bytes(s) * blocks);
  for (std::size_t i = 1; i < stages.size(); ++i)
    for (std::size_t o = 0; o < stages[i].counts->inputs.size(); ++o) {
      Traffic& t = storages[i].traffic;
      OperandTraffic& operand = t.operand[o];
      std::size_t before = i;
      const tile::TileSpace& space = stages[i].space();
      while (before > 0 && !stages[before - 1].space().reads(space.tensor_name(space.inputs[o]))) --before;
      if (before == 0 || operand.block_bytes <= 0) continue;
      double between = 0;
      for (std::size_t k = before - 1; k < i; ++k) between += touched[k];
      const auto share = [&](double room, double wanted) { return std::clamp(room / wanted, 0.0, 1.0); };
      const double in_core = m.core_cache_bytes > 0 ? share(m.core_cache_bytes - staged, between) : 0;
      double in_device = in_core;
      for (std::size_t c = 0; c < m.device_caches.size(); ++c) {
        double& read = t.caches[c].read;
        read -= std::min(read, (c == 0 ? in_core * operand.cache_bytes : in_device * operand.dram_bytes));
        in_device =
            std::max(in_device, share(m.device_caches[c].capacity_bytes, between * static_cast<double>(m.cores)));
      }
      t.cores.read -= std::min(t.cores.read, in_core * operand.cache_bytes);
      t.dram.read -= std::min(t.dram.read, in_device * operand.dram_bytes);
      operand.block_bytes *= 1 - in_core;
      operand.cache_bytes *= 1 - in_core;
      operand.missed_ratio *= 1 - in_core;
      operand.dram_bytes *= 1 - in_device;
    }
}

// Fetches from DRAM what the caches do not hold of what kernels before have touched. The kernel has run then.
void serve_and_touch(std::span<const StageCosts> stages, std::int64_t resident, const Machine& m, WarmCache& warm,
                     std::span<StageStorage> storages) {
  KernelUses uses{{}, static_cast<double>(stages.front().counts->blocks) / static_cast<double>(resident)};
  for (const StageCosts& s : stages) add_uses(uses, *s.counts, *s.traffic);
  for (std::size_t i = 0; i < stages.size(); ++i) warm.serve(storages[i].traffic, *stages[i].counts->program, uses);
  warm.touch(uses);
  const StageCosts& last = stages.back();
  if (const KernelUses second = uses_of_combining(*last.counts->program, m, *last.traffic); !second.tensors.empty())
    warm.touch(second);
}

void add(Moved& to, const Moved& more) {
  to.read += more.read;
  to.written += more.written;
}

// What two stages move. Rates of requests stay those of the first.
void add(Traffic& to, const Traffic& more) {
  add(to.cores, more.cores);
  for (std::size_t d = 0; d < to.caches.size(); ++d) add(to.caches[d], more.caches[d]);
  add(to.dram, more.dram);
  to.fetched_for_stores += more.fetched_for_stores;
  to.merged_for_stores += more.merged_for_stores;
  to.cold_read += more.cold_read;
  add(to.distinct, more.distinct);
  to.crossing_bytes += more.crossing_bytes;
}

// A ring's stages meet at one barrier a step, so that warps of a block, and blocks of a core, are at different stages
// at a time: a step of the ring is one step of all of them, in which a block alone goes through one after the other.
void time_ring(std::span<const Counts> counts, const Machine& m, std::span<StageStorage> storages, StageCosts& out) {
  Counts& ring = storages.front().of_ring.emplace(counts.front());
  BlockWork work;
  Traffic traffic = storages.front().traffic;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const BlockWork& of = storages[i].work;
    // What a stage leaves in every step is part of the step.
    const bool each = counts[i].repeats > 1;
    work.load = work.load + of.load;
    work.compute = work.compute + of.compute;
    (each ? work.compute : work.store) = (each ? work.compute : work.store) + of.store;
    work.compute_latency_cycles += of.compute_latency_cycles + (each ? of.sharing_latency_cycles : 0);
    work.sharing_latency_cycles += each ? 0 : of.sharing_latency_cycles;
    work.cached = work.cached || of.cached;
    work.reads_kept = work.reads_kept || of.reads_kept;
    ring.copies = ring.copies || counts[i].copies;
    ring.stages_held = std::max(ring.stages_held, counts[i].stages_held);
    if (i > 0) add(traffic, storages[i].traffic);
  }
  ring.steps = counts.front().all_steps();
  ring.repeats = 1;
  out.core.emplace(ring, work, traffic, m);
  out.timed = &ring;
}

}  // namespace

bool find_occupancy(const Counts& counts, const Machine& m, std::int64_t stated, StageStorage& storage,
                    StageCosts& out) {
  const StageProgram& p = *counts.program;
  const auto arithmetic = of_micro_kernel(p, [&](const auto& kernel) { return arithmetic_of(kernel, p, m); });
  if (!arithmetic) return false;
  storage.arithmetic = *arithmetic;
  out.counts = &counts;
  BlockNeeds needs = needs_of(counts);
  if (stated > 0) needs.stated_registers = stated;
  out.occupancy = occupancy_of(needs, m);
  return true;
}

bool find_costs(std::span<const Counts> counts, const Machine& m, std::int64_t stated, WarmCache* warm,
                std::span<StageStorage> storages, std::span<StageCosts> out) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!find_occupancy(counts[i], m, stated, storages[i], out[i])) return false;
    out[i].traffic = &storages[i].traffic;
    out[i].work = &storages[i].work;
  }
  const std::int64_t per_core = occupancy_of(out).blocks_per_core;
  for (std::size_t i = 0; i < counts.size(); ++i) storages[i].traffic = traffic_of(counts[i], m, per_core);
  if (out.size() > 1) read_again(out, per_core, m, storages);
  if (warm != nullptr) serve_and_touch(out, per_core * m.cores, m, *warm, storages);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    add_spills(counts[i], m, out[i].occupancy, per_core, storages[i].traffic);
    storages[i].work = work_of_block(counts[i], m, storages[i].arithmetic, out[i].occupancy, storages[i].traffic);
  }
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    if (counts[i].in_ring) {
      while (end < counts.size() && counts[end].in_ring) ++end;
      time_ring(counts.subspan(i, end - i), m, storages.subspan(i, end - i), out[i]);
    } else {
      out[i].core.emplace(counts[i], storages[i].work, storages[i].traffic, m);
      out[i].timed = &counts[i];
    }
    i = end;
  }
  return true;
}

KernelTime::KernelTime(std::span<const StageCosts> stages, const Machine& m)
    : m_(m),
      stages_(stages),
      blocks_(stages.front().counts->blocks),
      launched_(stages.back().counts->program->is_persistent() ? stages.back().counts->program->launched_blocks()
                                                               : blocks_),
      occupancy_(occupancy_of(stages)),
      combining_(combining_of(*stages.back().counts, m)) {
  // What each resource alone would take on the core that gets the most blocks.
  const double us_per_cycle = 1e6 / m.clock_hz;
  const std::int64_t resident = occupancy_.blocks_per_core * m.cores;
  const std::int64_t full_waves = blocks_ / resident;
  const auto full = static_cast<double>(full_waves), rest = static_cast<double>(blocks_ % resident);
  const double max_blocks =
      full * static_cast<double>(occupancy_.blocks_per_core) + std::ceil(rest / static_cast<double>(m.cores));
  CoreBusy alone;
  for (const StageCosts& c : stages)
    alone = alone + max_blocks * (c.steps() * (c.work->load + c.work->compute) + c.repeats() * c.work->store);
  const Resources& r = m.resources;
  first_ = idle_part(m);
  first_.busy_us[r.issue] = alone.issue_cycles * us_per_cycle;
  first_.busy_us[r.arithmetic] = alone.arithmetic_cycles(m) * us_per_cycle;
  first_.busy_us[r.scratchpad] = alone.scratchpad_cycles * us_per_cycle;
  first_.busy_us[r.core_cache] =
      std::max({alone.core_cache_cycles, alone.link_cycles, alone.copy_cycles}) * us_per_cycle;
  for (std::size_t c = 0; c < m.device_caches.size(); ++c)
    first_.busy_us[r.device_caches[c]] =
        sum(stages, [&](const StageCosts& of) { return device_cache_time_us(*of.traffic, m, c); });
  first_.busy_us[r.dram] = sum(stages, [&](const StageCosts& c) { return dram_time_us(*c.traffic, m); });
  // The first block waits for none. The last one begins once all are handed out.
  if (r.dispatch) first_.busy_us[*r.dispatch] = static_cast<double>(launched_ - 1) * *m.block_interval_us;
}

namespace {

using WaveList = decltype(KernelWaves::list);

// Full waves of so many blocks a core, `at_a_time` on all of them, then the last one with fewer: where it ends, the
// kernel ends.
Waves add_waves(double blocks, double per_core, double at_a_time, double cores, WaveList& list) {
  const double full = std::floor(blocks / at_a_time), rest = blocks - full * at_a_time;
  const double last = std::ceil(rest / cores);
  Waves out;
  out.count = full + (last > 0 ? 1 : 0);
  const auto push = [&](double blocks_of_a_core, double share, bool is_first, bool is_last) {
    Wave& w = list.emplace_back();  // written where it stays, as it is read in vectors
    w.blocks = blocks_of_a_core, w.share = share, w.first = is_first, w.last = is_last;
  };
  const auto add = [&](bool is_first, bool is_last) {
    Waves::Range range{list.size(), 0};
    if (!is_last || last == 0) push(per_core, at_a_time / (per_core * cores), is_first, is_last);
    // Blocks that have their cores to themselves are no slower than side by side on half, a quarter, ... of the cores:
    // what CoreTime sees of the overlap between blocks is that of one core alone.
    if (is_last && last > 0)
      for (double n = last; n == last || n <= per_core; n *= 2) push(n, rest / (n * cores), is_first, true);
    range.end = list.size();
    return range;
  };
  out.first = add(true, out.count == 1);
  if (out.count > 2) out.middle = add(false, false).begin;
  if (out.count > 1) out.last = add(false, true);
  return out;
}

double cycles_of(const Waves& waves, std::span<const double> cycles) {
  const auto least = [&](const Waves::Range& r) {
    return *std::min_element(cycles.begin() + static_cast<std::ptrdiff_t>(r.begin),
                             cycles.begin() + static_cast<std::ptrdiff_t>(r.end));
  };
  double all = least(waves.first);
  if (waves.count > 2) all += (waves.count - 2) * cycles[waves.middle];
  if (waves.count > 1) all += least(waves.last);
  return all;
}

}  // namespace

KernelWaves KernelTime::waves() const {
  KernelWaves out;
  const auto blocks = static_cast<double>(blocks_), cores = static_cast<double>(m_.cores);
  // Blocks that a core has beyond three quarters or half of what it could have do no harm: they need not run in step,
  // as CoreTime has the blocks of a wave do, so that a chip with more registers runs no program later.
  double before = 0;
  for (const double part : {1.0, 0.75, 0.5}) {
    if (launched_ < blocks_) break;
    const double per_core = std::ceil(part * static_cast<double>(occupancy_.blocks_per_core));
    if (per_core != before) out.residencies.push_back(add_waves(blocks, per_core, per_core * cores, cores, out.list));
    before = per_core;
  }
  // Rounds of persistent blocks, which are as many as the program launches.
  if (launched_ < blocks_) {
    const auto per_core = static_cast<double>(occupancy_.blocks_per_core);
    const double at_a_time = std::min(per_core * cores, static_cast<double>(launched_));
    out.residencies.push_back(add_waves(blocks, per_core, at_a_time, cores, out.list));
  }
  const auto uneven = [](const StageCosts& s) { return s.counts->shares.uneven(); };
  if (std::any_of(stages_.begin(), stages_.end(), uneven)) {
    out.alone = out.list.size();
    out.list.push_back({1, 1, false, true});
  }
  // A block with the chip to itself.
  if (m_.block_interval_us) out.list.push_back({1, 1 / static_cast<double>(m_.cores), true, true});
  return out;
}

KernelTime::StageRounds KernelTime::rounds(const KernelWaves& waves) const {
  StageRounds out(stages_.size());
  for (std::size_t s = 0; s < stages_.size(); ++s)
    if (stages_[s].core)
      find_rounds(*stages_[s].timed, static_cast<double>(m_.partitions), {waves.list.data(), waves.list.size()},
                  out[s]);
  return out;
}

void KernelTime::ask(const KernelWaves& waves, const StageRounds& rounds, Networks& networks, Questions& out) const {
  out.resize(stages_.size());
  for (std::size_t s = 0; s < stages_.size(); ++s)
    if (stages_[s].core) stages_[s].core->ask(rounds[s], {waves.list.data(), waves.list.size()}, networks, out[s]);
}

double KernelTime::elapsed_us(const KernelWaves& waves, const StageRounds& rounds, const Questions& questions,
                              const Networks& networks) const {
  boost::container::small_vector<double, 24> all(waves.list.size(), 0.0);
  const std::span<double> cycles(all.data(), all.size());
  for (std::size_t s = 0; s < stages_.size(); ++s)
    if (stages_[s].core)
      stages_[s].core->add_cycles(rounds[s], {waves.list.data(), waves.list.size()}, questions[s], networks, cycles);
  double longest = 1;  // times the mean of blocks, the longest of them
  if (waves.alone) {
    double of_longest = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      boost::container::small_vector<double, 24> own(waves.list.size(), 0.0);
      if (!stages_[s].core) continue;
      stages_[s].core->add_cycles(rounds[s], {waves.list.data(), waves.list.size()}, questions[s], networks,
                                  {own.data(), own.size()});
      const StepShares& shares = stages_[s].counts->shares;
      of_longest += own[*waves.alone] * (shares.mean > 0 ? shares.longest / shares.mean : 1);
    }
    longest = of_longest / cycles[*waves.alone];
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Waves& w : waves.residencies)
    least = std::min(least, waves.alone ? uneven_cycles(w, waves, cycles, longest) : cycles_of(w, cycles));
  const double us_per_cycle = 1e6 / m_.clock_hz;
  // The last block takes no less than it would with the chip to itself.
  if (m_.resources.dispatch)
    return std::max(least * us_per_cycle, first_.busy_us[*m_.resources.dispatch] + cycles.back() * us_per_cycle);
  return least * us_per_cycle;
}

// Cycles of a kernel whose blocks have different numbers of steps. Lengths, times their mean, are taken as spread
// evenly from 2 - longest to longest. Waves do not begin and end together: until none is left to start a core does B
// blocks of mean length in R(B), and then what is left of its B blocks ends one after the other, the longest begun
// last. With b of them left a round takes R(b), no less than that of one alone and b / B of R(B): busy resources are no
// longer so. What is left of a block at any time is longer than r for (longest - r)^2 / (2 (longest - shortest)) of
// them (renewal theory), where long and short ones are mixed. Where blocks begin in the order of their lengths the last
// ones are all as long as the longest, or the shortest. Blocks of one wave all begin at the beginning. No kernel takes
// longer than if all were the longest.
double KernelTime::uneven_cycles(const Waves& waves, const KernelWaves& all, std::span<const double> cycles,
                                 double longest) const {
  const double even = cycles_of(waves, cycles);
  if (longest <= 1) return even;
  const std::size_t wave = waves.count > 2 ? waves.middle : waves.first.begin;
  const double blocks = all.list[wave].blocks, of_all = cycles[wave], of_one = cycles[*all.alone];
  const double shortest = std::max(0.0, 2 - longest), spread = longest - shortest;
  const bool several = waves.count > 1;
  LengthOrder order = LengthOrder::kMixed;
  for (const StageCosts& s : stages_)
    if (s.counts->shares.uneven()) order = s.counts->shares.order;
  const double last = order == LengthOrder::kGrowing ? longest : shortest;  // length of the blocks that begin last
  // What is left of the block at that place of B, in the order of what is left.
  const auto length = [&](double share) {
    if (!several) return shortest + spread * share;
    if (order != LengthOrder::kMixed) return last * share;
    return share < shortest ? share : longest - std::sqrt(2 * spread * (1 - share));
  };
  double sum = 0, before = 0;
  if (several) {
    const double at_a_time = blocks * static_cast<double>(m_.cores);
    const double left = order == LengthOrder::kMixed ? (1 + spread * spread / 12) / 2 : last / 2;  // in the mean
    sum = (static_cast<double>(blocks_) / at_a_time - left) * of_all + cycles[waves.first.begin] - of_all;
  }
  for (double n = 0; n < blocks; ++n) {
    const double now = length((n + 1) / blocks);
    sum += (now - before) * std::max(of_one, of_all * (blocks - n) / blocks);
    before = now;
  }
  return std::min(longest * even, std::max(sum, longest * of_one));
}

double elapsed_us(const KernelTime& kernel) {
  const KernelWaves waves = kernel.waves();
  const KernelTime::StageRounds rounds = kernel.rounds(waves);
  Networks networks;
  KernelTime::Questions questions;
  kernel.ask(waves, rounds, networks, questions);
  networks.solve();
  return kernel.elapsed_us(waves, rounds, questions, networks);
}

double KernelTime::with_second(double first_us) const {
  const std::optional<Part> after = second();
  return after ? first_us + model::total_us(*after) : first_us;
}

double KernelTime::least_us() const { return with_second(model::total_us(first_)); }

Part KernelTime::first(double elapsed_us) const {
  Part kernel = first_;
  kernel.elapsed_us = elapsed_us;
  return kernel;
}

std::optional<Part> KernelTime::second() const {
  if (!combining_ || combining_->latency_us <= 0) return std::nullopt;
  const Resources& r = m_.resources;
  Part second = idle_part(m_);
  second.elapsed_us = combining_->latency_us;
  for (std::size_t c = 0; c < m_.device_caches.size(); ++c)
    second.busy_us[r.device_caches[c]] = combining_->cache_us[c];
  second.busy_us[r.dram] = combining_->dram_us;
  if (r.dispatch) second.busy_us[*r.dispatch] = (combining_->blocks - 1) * *m_.block_interval_us;
  return second;
}

}  // namespace tilescope::model
