// SPDX-License-Identifier: Apache-2.0
#include "model/simt/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/fixed_vector.h"
#include "base/integer.h"
#include "model/common/detail/overlap.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/detail/dram_rows.h"
#include "model/simt/detail/memory_bounds.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/detail/warm_cache.h"
#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {
namespace {

using tile::StageProgram;

// The second kernel of a split reduction, one thread an element of the output and a warp a partition in a block, which
// adds up the parts in their order, each after the one before has come: partial results come from a cache of the device
// as far as they fit it, of the first one as far as they fit the part of it that their reader's own partition is.
struct Combining {
  std::array<double, arch::kMaxDeviceCaches> cache_us{};
  double dram_us = 0, latency_us = 0, blocks = 0;
  double dram_read_bytes = 0, dram_written_bytes = 0;
};

Combining combining_of(const StageProgram& p, const Machine& m) {
  double parts = 1;
  for (const std::int64_t n : p.split) parts *= static_cast<double>(n);
  if (parts == 1) return {};
  const expr::Expression& e = p.space->expression;
  const auto elements = static_cast<double>(p.space->output.elements);
  const double partial = parts * elements * static_cast<double>(base::size_of(e.accumulate).n);
  const double written = elements * static_cast<double>(p.space->output.element.n);
  Combining c;
  c.blocks = std::ceil(elements / static_cast<double>(m.warp * m.partitions));
  double kept = 0, latency_cycles = 0, nearer = 0;
  const auto come_from = [&](double level_latency) {
    latency_cycles += (1 - kept) * (level_latency - nearer);
    nearer = level_latency;
  };
  for (std::size_t i = 0; i < m.device_caches.size(); ++i) {
    const DeviceCache& cache = m.device_caches[i];
    c.cache_us[i] = (partial * (1 - kept) + written) / cache.bytes_per_us;
    come_from(cache.latency_cycles);
    kept = std::max(kept, std::min(1.0, cache.capacity_bytes / (i == 0 ? m.cache_partitions : 1) / partial));
  }
  c.dram_read_bytes = partial * (1 - kept);
  c.dram_written_bytes = written;
  c.dram_us = (partial * (1 - kept) / m.dram_read_ratio + written / m.dram_write_ratio) / m.dram_bytes_per_us;
  come_from(m.dram_latency_cycles);
  Traffic t;
  t.dram = t.distinct = {partial * (1 - kept), written};
  c.dram_us = std::max(c.dram_us, least_command_time_us(t, m));
  if (m.bounds.translations_per_us > 0) c.dram_us = std::max(c.dram_us, least_translation_time_us(t, m));
  if (m.bounds.of_cache) {
    // Neighbouring threads read and write neighbouring elements.
    t.caches[0] = t.cores = {partial, written};
    t.requests_per_byte = {1 / m.bounds.line_bytes, 1 / m.bounds.line_bytes};
    t.misses_per_byte = 1 / m.bounds.line_bytes;
    c.cache_us[0] = std::max(c.cache_us[0], least_cache_time_us(t, m));
  }
  const double rounds = std::ceil(elements / static_cast<double>(m.cores * m.max_threads));
  c.latency_us = rounds * parts * latency_cycles * 1e6 / m.clock_hz;
  return c;
}

double useful_cache_bytes(const Traffic& t, std::size_t operands) {
  double sum = 0;
  for (std::size_t i = 0; i < operands; ++i) sum += t.operand[i].cache_bytes * t.operand[i].useful_ratio;
  return sum;
}

void set(LevelUse& use, double bytes, double useful, double sector, double time_us) {
  use.bytes = bytes;
  use.transactions = bytes / sector;
  use.conflict_ratio = useful > 0 ? bytes / useful : 1;
  use.time_us = time_us;
}

// One stage of a kernel, all that is counted of it.
struct StageCosts {
  const StageProgram* program = nullptr;
  const KernelStage* kernel = nullptr;
  Arithmetic arithmetic;
  Occupancy occupancy;
  Traffic traffic;
  BlockWork work;
  std::optional<CoreTime> core;

  // Of a block, and how often results leave it.
  double steps() const { return static_cast<double>(kernel->all_steps(*program)); }
  double repeats() const { return static_cast<double>(kernel->repeats); }
};

template <class Of>
double sum(std::span<const StageCosts> stages, const Of& of) {
  double all = 0;
  for (const StageCosts& s : stages) all += of(s);
  return all;
}

// What every level moves; its time is its term's.
void fill_levels(Estimate& s, std::span<const StageCosts> stages, const Machine& m) {
  const auto blocks = static_cast<double>(s.blocks);
  const auto sector = static_cast<double>(m.sector_bytes);
  const double useful =
      sum(stages, [](const StageCosts& c) { return useful_cache_bytes(c.traffic, c.program->space->operand_count()); });
  const double cores = sum(stages, [](const StageCosts& c) { return c.traffic.cores.bytes(); });
  const double dram = sum(stages, [](const StageCosts& c) { return c.traffic.dram_bytes(); });
  s.core_sectors = cores / sector;
  // Outermost first, as terms are innermost first.
  LevelUse* level = s.levels.begin();
  set(*level++, dram, dram, sector, s.terms[kCoreTerms + m.device_caches.size()].time_us);
  for (std::size_t c = m.device_caches.size(); c-- > 0;) {
    const double bytes = sum(stages, [c](const StageCosts& of) { return of.traffic.caches[c].bytes(); });
    set(*level++, bytes, c == 0 ? useful : bytes, static_cast<double>(m.device_caches[c].sector_bytes),
        s.terms[kCoreTerms + c].time_us);
  }
  if (m.has_core_cache) set(*level++, cores, useful, sector, s.terms[kCoreTerms - 1].time_us);
  const auto of_all = [&](double BlockWork::Passes::* amount) {
    return sum(stages, [&](const StageCosts& c) {
      return (c.work.step_passes.*amount * c.steps() + c.work.store_passes.*amount * c.repeats()) * blocks;
    });
  };
  level->bytes = of_all(&BlockWork::Passes::bytes);
  level->transactions = of_all(&BlockWork::Passes::passes);
  if (const double least = of_all(&BlockWork::Passes::min_passes); least > 0)
    level->conflict_ratio = level->transactions / least;
  level->time_us = s.terms[kCoreTerms - 2].time_us;
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
  for (std::size_t i = 0; i < s.program->space->operand_count(); ++i) bytes += s.traffic.operand[i].block_bytes;
  return bytes;
}

// What a stage reads again of its own block's earlier stages comes from the core's cache, or from the device's, as far
// as what the blocks of the core, or of all cores, touch from the one reading to the other fits there.
void read_again(std::span<StageCosts> stages, std::int64_t per_core, const Machine& m) {
  const std::int64_t on_a_core = std::min(per_core, base::ceil_div(stages.front().kernel->blocks, m.cores));
  const auto blocks = static_cast<double>(on_a_core);
  const double staged = m.core_cache_shared ? static_cast<double>(stages.front().kernel->scratchpad.n) * blocks : 0;
  std::vector<double> touched;  // by a block, before anything is known to be there
  for (const StageCosts& s : stages) touched.push_back(block_bytes(s) * blocks);
  for (std::size_t i = 1; i < stages.size(); ++i)
    for (std::size_t o = 0; o < stages[i].program->space->inputs.size(); ++o) {
      Traffic& t = stages[i].traffic;
      OperandTraffic& operand = t.operand[o];
      std::size_t before = i;
      const tile::TileSpace& space = *stages[i].program->space;
      while (before > 0 && !stages[before - 1].program->space->reads(space.tensor_name(space.inputs[o]))) --before;
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
void serve_and_touch(std::span<StageCosts> stages, std::int64_t resident, const Machine& m, WarmCache& warm) {
  KernelUses uses{{}, static_cast<double>(stages.front().kernel->blocks) / static_cast<double>(resident)};
  for (const StageCosts& s : stages) add_uses(uses, *s.program, *s.kernel, s.traffic);
  for (StageCosts& s : stages) warm.serve(s.traffic, *s.program, uses);
  warm.touch(uses);
  const StageCosts& last = stages.back();
  if (const KernelUses second = uses_of_combining(*last.program, m, last.traffic); !second.tensors.empty())
    warm.touch(second);
}

// Fills in the costs of all stages; false where the chip lacks a stage's instruction.
bool count_costs(std::span<const StageProgram* const> programs, std::span<const KernelStage> kernels, const Machine& m,
                 CachedCosts* known, WarmCache* warm, std::span<StageCosts> out) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const StageProgram& p = *programs[i];
    const auto arithmetic = of_micro_kernel(p, [&](const auto& kernel) { return arithmetic_of(kernel, p, m); });
    if (!arithmetic) return false;
    out[i].program = &p;
    out[i].kernel = &kernels[i];
    out[i].arithmetic = *arithmetic;
    out[i].occupancy = occupancy_of(p, m, kernels[i].scratchpad, kernels[i].carried_registers);
  }
  const std::int64_t per_core = occupancy_of(out).blocks_per_core;
  for (StageCosts& s : out) s.traffic = traffic_of(*s.program, m, *s.kernel, per_core);
  if (out.size() > 1) read_again(out, per_core, m);
  if (warm != nullptr) serve_and_touch(out, per_core * m.cores, m, *warm);
  for (StageCosts& s : out) {
    s.work = work_of_block(*s.program, m, *s.kernel, s.arithmetic, s.occupancy, s.traffic, known);
    s.core.emplace(*s.program, *s.kernel, s.work, s.traffic, m);
  }
  return true;
}

// Stages of a kernel run one after the other in every block. `warm`: what the kernels before have left; nothing where
// it is null. The caller has room for the stages' costs, so that a kernel of one stage allocates nothing.
std::optional<Estimate> estimate_kernel(std::span<const StageProgram* const> programs,
                                        std::span<const KernelStage> kernels, const Machine& m, CachedCosts* known,
                                        WarmCache* warm, std::span<StageCosts> stages) {
  if (!count_costs(programs, kernels, m, known, warm, stages)) return std::nullopt;

  Estimate s;
  s.terms = m.terms;
  s.levels = m.levels;
  s.blocks = kernels.front().blocks;
  s.occupancy = occupancy_of(stages);
  const std::int64_t resident = s.occupancy.blocks_per_core * m.cores;
  s.waves = static_cast<double>(s.blocks) / static_cast<double>(resident);

  const auto cycles_of_wave = [&](const Wave& wave) {
    return sum(stages, [&](const StageCosts& c) { return c.core->of(wave); });
  };

  // Full waves, then the last one with fewer blocks a core: where it ends, the kernel ends.
  const double us_per_cycle = 1e6 / m.clock_hz;
  const auto cycles_of = [&](double per_core) {
    const double at_a_time = per_core * static_cast<double>(m.cores);
    const double full = std::floor(static_cast<double>(s.blocks) / at_a_time);
    const double rest = static_cast<double>(s.blocks) - full * at_a_time;
    const double last = std::ceil(rest / static_cast<double>(m.cores));
    const double waves = full + (last > 0 ? 1 : 0);
    // Blocks that have their cores to themselves are no slower than side by side on half, a quarter, ... of the cores:
    // what CoreTime sees of the overlap between blocks is that of one core alone.
    const auto last_wave_cycles = [&](bool is_first) {
      double cycles = std::numeric_limits<double>::infinity();
      for (double blocks = last; blocks == last || blocks <= per_core; blocks *= 2)
        cycles =
            std::min(cycles, cycles_of_wave({blocks, rest / (blocks * static_cast<double>(m.cores)), is_first, true}));
      return cycles;
    };
    const auto wave_cycles = [&](bool is_first, bool is_last) {
      return is_last && last > 0 ? last_wave_cycles(is_first) : cycles_of_wave({per_core, 1, is_first, is_last});
    };
    double cycles = wave_cycles(true, waves == 1);
    if (waves > 2) cycles += (waves - 2) * wave_cycles(false, false);
    if (waves > 1) cycles += wave_cycles(false, true);
    return cycles;
  };
  const std::int64_t whole = s.blocks / resident;
  const auto full = static_cast<double>(whole);
  const auto rest = static_cast<double>(s.blocks % resident);
  const double last = std::ceil(rest / static_cast<double>(m.cores));
  const auto per_core = static_cast<double>(s.occupancy.blocks_per_core);
  // Blocks that a core has beyond three quarters or half of what it could have do no harm: they need not run in step,
  // as CoreTime has the blocks of a wave do, so that a chip with more registers runs no program later.
  double core_cycles = std::numeric_limits<double>::infinity();
  for (const double part : {1.0, 0.75, 0.5}) core_cycles = std::min(core_cycles, cycles_of(std::ceil(part * per_core)));

  // What each resource alone would take on the core that gets the most blocks.
  const double max_blocks = full * per_core + last;
  CoreBusy alone;
  for (const StageCosts& c : stages)
    alone = alone + max_blocks * (c.steps() * (c.work.load + c.work.compute) + c.repeats() * c.work.store);
  Part kernel{.elapsed_us = core_cycles * us_per_cycle, .launch_us = m.launch_us};
  for (const double cycles : {alone.issue_cycles, alone.arithmetic_cycles(m), alone.scratchpad_cycles,
                              std::max(alone.core_cache_cycles, alone.link_cycles)})
    kernel.busy_us.push_back(cycles * us_per_cycle);
  for (std::size_t c = 0; c < m.device_caches.size(); ++c)
    kernel.busy_us.push_back(sum(stages, [&](const StageCosts& of) { return device_cache_time_us(of.traffic, m, c); }));
  kernel.busy_us.push_back(sum(stages, [&](const StageCosts& c) { return dram_time_us(c.traffic, m); }));
  if (m.block_interval_us > 0) {
    // The first block waits for none. The last one begins once all are handed out, and takes no less than it would
    // with the chip to itself.
    const double dispatch_us = static_cast<double>(s.blocks - 1) * m.block_interval_us;
    const double least_us = cycles_of_wave({1, 1 / static_cast<double>(m.cores), true, true}) * us_per_cycle;
    kernel.elapsed_us = std::max(kernel.elapsed_us, dispatch_us + least_us);
    kernel.busy_us.push_back(dispatch_us);
  }
  add(s, kernel);
  s.dram_read_bytes = sum(stages, [](const StageCosts& c) { return c.traffic.dram_read_bytes(); });
  s.dram_written_bytes = sum(stages, [](const StageCosts& c) { return c.traffic.dram.written; });
  if (const Combining combining = combining_of(*programs.back(), m); combining.latency_us > 0) {
    Part second{.elapsed_us = combining.latency_us, .launch_us = m.launch_us};
    second.busy_us.assign(kCoreTerms, 0);
    for (std::size_t c = 0; c < m.device_caches.size(); ++c) second.busy_us.push_back(combining.cache_us[c]);
    second.busy_us.push_back(combining.dram_us);
    if (m.block_interval_us > 0) second.busy_us.push_back((combining.blocks - 1) * m.block_interval_us);
    add(s, second);
    s.dram_read_bytes += combining.dram_read_bytes;
    s.dram_written_bytes += combining.dram_written_bytes;
  }
  const auto largest = std::max_element(s.terms.begin(), s.terms.end(),
                                        [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; });
  s.bottleneck = static_cast<std::size_t>(largest - s.terms.begin());

  fill_levels(s, stages, m);
  return s;
}

std::optional<Estimate> estimate_stage(const StageProgram& p, const Machine& m, CachedCosts* known, WarmCache* warm) {
  const StageProgram* const program = &p;
  const KernelStage kernel = alone(p, *m.arch);
  StageCosts costs;
  return estimate_kernel({&program, 1}, {&kernel, 1}, m, known, warm, {&costs, 1});
}

std::optional<Estimate> estimate_group(const tile::RProgram& p, const tile::GroupLayout& group, const Machine& m,
                                       CachedCosts* known, WarmCache* warm) {
  std::vector<StageProgram> own;
  for (std::size_t i = 0; i < group.stages.size(); ++i) own.push_back(tile::with_kept_rows(p, group, i));
  std::vector<const StageProgram*> programs;
  for (const StageProgram& stage : own) programs.push_back(&stage);
  std::vector<StageCosts> costs(programs.size());
  return estimate_kernel(programs, kernel_stages(p, group), m, known, warm, costs);
}

}  // namespace

std::optional<Estimate> estimate_stage(const StageProgram& p, const Machine& m, CachedCosts* known) {
  return estimate_stage(p, m, known, nullptr);
}

std::optional<Estimate> estimate_stage_of(const StageProgram& p, const KernelStage& kernel, const Machine& m,
                                          CachedCosts* known) {
  const StageProgram* const program = &p;
  StageCosts costs;
  return estimate_kernel({&program, 1}, {&kernel, 1}, m, known, nullptr, {&costs, 1});
}

std::optional<Estimate> estimate_group(const tile::RProgram& p, const tile::GroupLayout& group, const Machine& m,
                                       CachedCosts* known) {
  return estimate_group(p, group, m, known, nullptr);
}

std::optional<Estimate> estimate(const tile::RProgram& p, const Machine& m) {
  if (p.stages() == 1) return estimate_stage(p.simt().front(), m);
  WarmCache warm(m);
  std::vector<Estimate> kernels;
  for (const tile::Group& group : tile::groups_of(p, *m.arch)) {
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(p, group, *m.arch, refusals);
    const std::optional<Estimate> s = !layout             ? std::nullopt
                                      : group.size() == 1 ? estimate_stage(p.simt()[group.front()], m, nullptr, &warm)
                                                          : estimate_group(p, *layout, m, nullptr, &warm);
    if (!s) return std::nullopt;
    kernels.push_back(*s);
  }
  Estimate out = sum_of(kernels);
  out.dirty_bytes = warm.dirty_bytes();
  return out;
}

}  // namespace tilescope::model
