// SPDX-License-Identifier: Apache-2.0
#include "sim/simulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "sim/gpu/detail/event_loop.h"
#include "sim/gpu/detail/spills.h"
#include "sim/simulation.h"
#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

// By which the times of a part of a chip and of the one that validates it may differ.
constexpr double kAgree = 0.05;

constexpr std::int64_t kLocalMemory = 4096;  // begins at a multiple of so many bytes, which no line is longer than

// Shares `total` among the causes as their weights stand, to the last cycle.
std::array<std::int64_t, kStalls> shared_out(const std::array<std::int64_t, kStalls>& weights, std::int64_t total) {
  double all = 0;
  for (const std::int64_t w : weights) all += static_cast<double>(w);
  std::array<std::int64_t, kStalls> out{};
  double seen = 0;
  std::int64_t given = 0;
  for (std::size_t s = 0; s < kStalls; ++s) {
    seen += static_cast<double>(weights[s]);
    const std::int64_t until =
        all == 0 ? 0 : static_cast<std::int64_t>(static_cast<double>(total) * (seen / all) + 0.5);
    out[s] = until - given;
    given = until;
  }
  out.back() += total - given;
  return out;
}

// Warps that cores have no block for wait at the tail.
std::vector<StallReport> stalls_of(const Statistics& t, const Occupancy& o, const Machine& m, const lower::Kernel& k,
                                   Cycle running) {
  std::array<std::int64_t, kStalls> weights = t.stalls;
  const std::int64_t blocks = m.part ? BlockGroups(k.blocks, *m.part).count() : k.blocks;
  const std::int64_t warps = std::min(o.blocks_per_core * m.cores, blocks) * o.warps;
  const std::int64_t busy = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  // On a chip whose cores reach the DRAM at once, what waits for the device waits for that.
  if (m.device_cache_names.empty())
    weights[static_cast<std::size_t>(Stall::kDram)] += std::exchange(weights[static_cast<std::size_t>(Stall::kL2)], 0);
  weights[static_cast<std::size_t>(Stall::kTail)] = std::max<std::int64_t>(0, warps * running.count() - busy);
  std::array<std::int64_t, kStalls> cycles = shared_out(weights, running.count());
  cycles[static_cast<std::size_t>(Stall::kLaunch)] += m.launch.count();
  std::vector<StallReport> out;
  for (std::size_t s = 0; s < kStalls; ++s)
    if (!m.stall_names[s].empty()) out.push_back({m.stall_names[s], cycles[s]});
  return out;
}

bool writes_scratchpad(const lower::Copy& copy, const lower::Kernel& k) {
  return k.buffers[static_cast<std::size_t>(copy.to.buffer)].space == lower::Space::kShared;
}

std::vector<LevelReport> levels_of(const Statistics& t, const lower::Kernel& k, const Machine& m) {
  std::vector<LevelReport> out;
  const auto add = [&](const std::string& name, LevelRole role) {
    if (!name.empty()) out.push_back({name, t.level(role)});
  };
  if (!m.behind_cores) {
    add(m.dram_name, LevelRole::kDram);
    for (std::size_t c = m.device_cache_names.size(); c-- > 0;) add(m.device_cache_names[c], role_of_device_cache(c));
  }
  add(m.core_cache_name, LevelRole::kCoreCache);
  add(m.scratchpad_name, LevelRole::kScratchpad);
  if (m.scratchpad_name.empty()) return out;
  const std::vector<const lower::Copy*> copies = lower::copies_of(k);
  LevelStatistics& pad = out.back().amounts;
  for (std::size_t c = 0; c < copies.size(); ++c) {
    (writes_scratchpad(*copies[c], k) ? pad.written_bytes : pad.read_bytes) += t.copies[c].shared.bytes;
  }
  return out;
}

std::int64_t bytes_of_pass(const Machine& m) { return m.banks.count * m.banks.width; }

// Passes of the scratchpad's banks that write: those of copies, and those of boxes, which alone count bytes as they
// come.
std::int64_t written_passes(const Statistics& t, const lower::Kernel& k, const Machine& m) {
  const std::vector<const lower::Copy*> copies = lower::copies_of(k);
  std::int64_t passes = base::ceil_div(t.level(LevelRole::kScratchpad).written_bytes, bytes_of_pass(m));
  for (std::size_t c = 0; c < copies.size(); ++c)
    if (writes_scratchpad(*copies[c], k)) passes += t.copies[c].shared.passes;
  return passes;
}

// Of the reads of products by their own instruction there are passes, but no copy.
energy::Counts counts_of(const Statistics& t, const lower::Kernel& k, const Machine& m, const arch::ArchSpec& chip) {
  energy::Counts out;
  out.instructions = static_cast<double>(t.instructions);
  for (std::size_t p = 0; p < t.pipe_parts.size(); ++p)
    out.pipe_cycles[p] = static_cast<double>(t.pipe_parts[p]) / static_cast<double>(kCycleParts * m.limits.partitions);
  for (std::size_t i = 0; i < t.operations.size(); ++i)
    out.add_operations(chip.compute[i].name, static_cast<double>(t.operations[i]));
  for (const LevelReport& l : levels_of(t, k, m)) {
    auto read = static_cast<double>(l.amounts.read_bytes), written = static_cast<double>(l.amounts.written_bytes);
    if (l.name == m.scratchpad_name) {
      written = static_cast<double>(written_passes(t, k, m) * bytes_of_pass(m));
      read = static_cast<double>(l.amounts.transactions * bytes_of_pass(m)) - written;
    }
    out.levels.push_back({arch::spec_of(*arch::level_named(chip, l.name)).name, read, written});
  }
  const LevelStatistics& dram = t.level(LevelRole::kDram);
  out.activates = static_cast<double>(dram.transactions - dram.hits);
  out.block_us = static_cast<double>(t.block_cycles) * base::to_time(base::Cycles{1}, m.clock).v;
  return out;
}

std::int64_t footprint(const lower::Module& module) {
  std::int64_t bytes = 0;
  for (const lower::Global& g : module.globals) bytes += g.elements * base::size_of(g.dtype).n;
  return bytes;
}

// Where the module's arrays end, in whole lines of any cache.
std::int64_t end_of(const lower::Module& module, const std::vector<std::int64_t>& bases) {
  if (module.globals.empty()) return 0;
  const lower::Global& last = module.globals.back();
  return base::round_up(bases.back() + last.elements * base::size_of(last.dtype).n, kLocalMemory);
}

// Counters of the kernel's own copies; those of its TMA copies come behind all of them.
void keep_own(const std::vector<bool>& own, lower::KernelCounters& counters) {
  lower::KernelCounters kept;
  for (std::size_t c = 0; c < counters.size(); ++c)
    if (c >= own.size() || own[c]) kept.push_back(counters[c]);
  counters = std::move(kept);
}

// Of a part of a chip, what the chip would have counted: sampled lines stand for all lines, blocks for their groups.
void count_whole(const ChipPart& part, std::int64_t blocks, Statistics& t) {
  const double lines = static_cast<double>(part.lines_of_chip) / static_cast<double>(part.lines);
  const double groups = static_cast<double>(blocks) / static_cast<double>(BlockGroups(blocks, part).count());
  Statistics none;
  none.copies.resize(t.copies.size());
  none.operations.resize(t.operations.size());
  const Statistics counted = std::exchange(t, none);
  extrapolate(t, none, counted, groups);
  t.stalls = counted.stalls;
  t.warp_steps = counted.warp_steps;
  for (std::size_t l = 0; l < kLevelRoles; ++l)
    if (const auto role = static_cast<LevelRole>(l);
        role == LevelRole::kDram || static_cast<std::size_t>(role) >= static_cast<std::size_t>(LevelRole::kDeviceCache))
      t.level(role) = {}, extrapolate(t.level(role), {}, counted.level(role), lines, 1);
}

// Cycles that the DRAM's buses need for what the kernel moved; 0 where a library stands in for the DRAM.
Cycle cycles_of_buses(const Statistics& t, const MemorySpec& m) {
  if (m.dram_model) return 0_cycles;
  return m.clocks.cycle_at(base::ceil_div(t.level(LevelRole::kDram).transactions, m.map.channels) *
                           m.dram.clocks_per_burst());
}

KernelReport report_of(const lower::Kernel& k, const Machine& m, const arch::ArchSpec& chip, const Occupancy& o,
                       Statistics& t, const Gpu& gpu, Cycle running) {
  if (m.part)
    count_whole(*m.part, k.blocks, t);
  else if (!m.behind_cores && gpu.sampler().skipped_any())  // then time and traffic are extrapolated separately
    running = std::max(running, cycles_of_buses(t, m.memory));
  KernelReport r;
  r.name = k.name;
  r.cycles = (running + m.launch).count();
  r.launch = m.launch.count();
  r.time = base::to_time(base::Cycles{r.cycles}, m.clock);
  r.stalls = stalls_of(t, o, m, k, running);
  r.levels = levels_of(t, k, m);
  r.blocks = k.blocks;
  r.blocks_per_core = o.blocks_per_core;
  r.waves = static_cast<double>(k.blocks) /
            static_cast<double>(o.blocks_per_core * (m.part ? m.part->cores_of_chip : m.cores));
  r.registers_per_thread = o.registers_per_thread;
  r.registers_lacking = o.lacking_per_thread;
  const Sampler& s = gpu.sampler();
  const std::int64_t blocks = m.part ? BlockGroups(k.blocks, *m.part).count() : k.blocks;
  r.simulated_blocks = blocks - s.skipped_blocks();
  // Steps of blocks that were left out are part of `warp_steps` too.
  const auto ratio = [](std::int64_t part, std::int64_t of) {
    return static_cast<double>(part) / static_cast<double>(of);
  };
  r.simulated_steps_ratio =
      t.warp_steps > 0 ? ratio(t.warp_steps - s.skipped_warp_steps(), t.warp_steps) : ratio(r.simulated_blocks, blocks);
  r.simulated_steps_ratio *= ratio(blocks, k.blocks);
  r.exact = !m.part && !s.skipped_any();
  r.counters = t.copies;
  r.counts = counts_of(t, k, m, chip);
  return r;
}

std::int64_t most_blocks(const lower::Module& module) {
  std::int64_t most = 0;
  for (const lower::Kernel& k : module.kernels) most = std::max(most, k.blocks);
  return most;
}

bool has_clusters(const lower::Module& module) {
  return std::ranges::any_of(module.kernels, [](const lower::Kernel& k) { return k.cluster > 1; });
}

// Whether blocks of a kernel may take different numbers of steps.
bool any_uneven(const lower::Module& module) {
  bool any = false;
  for (const lower::Kernel& k : module.kernels)
    lower::for_each_statement(k.body, [&](const lower::Statement& s) {
      const auto* loop = std::get_if<lower::Loop>(&s.what);
      any = any || (loop != nullptr && loop->has_ends());
    });
  return any;
}

Machine machine_with(const arch::ArchSpec& chip, Foreign foreign) {
  Machine m = machine_of(chip);
  if (auto* const dram = std::get_if<DramFactory>(&foreign))
    m.memory.dram_model = std::move(*dram);
  else
    m.behind_cores = std::get<BehindCores>(std::move(foreign));
  return m;
}

// The scale of the part that validates another: half as large, or twice where that would have no core, slice or
// channel.
std::int64_t validation_scale_of(const Machine& whole, std::int64_t scale) {
  try {
    part_of(whole, 2 * scale);
    return 2 * scale;
  } catch (const SimError&) {
    return std::max<std::int64_t>(1, scale / 2);
  }
}

std::string disagreement(const ScaledReport& s) {
  const double apart = std::abs(s.time.v - s.validation_time.v) / std::min(s.time.v, s.validation_time.v);
  if (apart <= kAgree) return {};
  return fmt::format("1/{} of the chip takes {:.4g} us and 1/{} of it {:.4g} us, {:.1f} % apart; {:g} % are accepted",
                     s.scale, s.time.v, s.validation, s.validation_time.v, 100 * apart, 100 * kAgree);
}

}  // namespace

// Of kernels on a chip, or on a part of it.
struct SimulationParts {
  const lower::Module& module;
  const arch::ArchSpec& chip;
  SimOptions options;
  Machine whole;
  std::optional<Machine> part;
  std::vector<Occupancy> occupancies;
  IndexTables tables;
  std::optional<Gpu> gpu;
  std::optional<EventLoop> loop;

  SimulationParts(const lower::Module& m, const arch::ArchSpec& a, const SimOptions& o, Machine on,
                  std::optional<Machine> part_of_it, EventLoop::Place place)
      : module(m),
        chip(a),
        options(o),
        whole(std::move(on)),
        part(std::move(part_of_it)),
        tables(lower::index_tables(m)) {
    for (const lower::Kernel& k : module.kernels) occupancies.push_back(occupancy_of(k, whole));
    gpu.emplace(machine(), most_blocks(module), options.tolerance, options.timeline);
    loop.emplace(*gpu, place, chip.clock);
  }

  const Machine& machine() const { return part ? *part : whole; }
  std::int64_t footprint_of_lines() const {
    const std::int64_t bytes = footprint(module);
    return part ? bytes * part->part->lines / part->part->lines_of_chip : bytes;
  }
  KernelReport run(std::size_t i);
  SimReport run() {
    SimReport all;
    for (std::size_t i = 0; i < module.kernels.size(); ++i) add(all, run(i));
    return all;
  }
};

KernelReport SimulationParts::run(std::size_t i) {
  const std::vector<std::int64_t> bases = lower::base_addresses(module);
  const lower::Kernel& k = module.kernels[i];
  std::optional<Spilled> spilled;
  if (occupancies[i].spills()) spilled = with_spills(k, bases, end_of(module, bases), occupancies[i], whole);
  WarpCode code(spilled ? spilled->kernel : k, spilled ? spilled->bases : bases, tables, chip, machine());
  Statistics statistics;
  const Cycle begin = loop->now();
  const std::int64_t refreshed = gpu->dram_refreshes(begin);
  if (options.timeline != nullptr) options.timeline->begin_kernel(k.name, whole.launch, begin);
  gpu->begin(code, occupancies[i], statistics, options.mode != Mode::kFull, footprint_of_lines(), begin);
  loop->run();
  if (const auto why = gpu->done() ? std::nullopt : gpu->stuck())
    throw SimError(fmt::format("kernel {}: {}", k.name, *why));
  base::check(gpu->done(), "a simulation ends when all blocks have run");
  if (options.timeline != nullptr) {
    gpu->show(std::max(loop->now(), gpu->end() + gpu->turn()));
    options.timeline->end_kernel(gpu->end());
  }
  if (spilled) keep_own(spilled->of_kernel, statistics.copies);
  KernelReport report =
      report_of(k, machine(), chip, occupancies[i], statistics, *gpu, gpu->end() - begin + gpu->sampler().skipped());
  // Refreshes go on through what sampling leaves out, and through the launch.
  const double channels =
      part ? static_cast<double>(part->part->lines_of_chip) / static_cast<double>(part->part->lines) : 1;
  report.counts.refreshes =
      channels * static_cast<double>(gpu->dram_refreshes(begin + Cycle(report.cycles)) - refreshed);
  return report;
}

Simulation::Simulation(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options,
                       Foreign foreign)
    : parts_(std::make_unique<SimulationParts>(module, chip, options, machine_with(chip, std::move(foreign)),
                                               std::nullopt, EventLoop::Place::kPlatform)) {}
Simulation::~Simulation() = default;

SimReport Simulation::run() { return parts_->run(); }

SimReport simulate(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options) {
  const Machine whole = machine_of(chip);
  const auto on = [&](const std::optional<Machine>& part) {
    return SimulationParts(module, chip, options, whole, part, EventLoop::Place::kAlone).run();
  };
  if (options.mode != Mode::kScaled) return on({});
  base::check(options.timeline == nullptr, "a timeline shows all of a chip");
  const Machine part = part_of(whole, options.scale);
  ScaledReport scaled;
  scaled.scale = options.scale;
  if (const std::int64_t most = most_blocks(module); most < whole.cores) {
    scaled.refused = fmt::format("{} blocks are fewer than {} cores", most, whole.cores);
  } else if (any_uneven(module)) {
    scaled.refused = "blocks take different numbers of steps";
  } else if (has_clusters(module)) {
    scaled.refused = "blocks run in clusters";
  } else {
    SimReport report = on(part);
    scaled.time = report.time;
    scaled.validation = validation_scale_of(whole, options.scale);
    scaled.validation_time = on(part_of(whole, scaled.validation)).time;
    scaled.refused = disagreement(scaled);
    if (scaled.refused.empty()) {
      report.scaled = scaled;
      return report;
    }
  }
  SimReport report = on({});
  report.scaled = scaled;
  return report;
}

std::string scale_refusal(const arch::ArchSpec& chip, std::int64_t scale) {
  try {
    part_of(machine_of(chip), scale);
  } catch (const SimError& e) {
    return e.what();
  }
  return {};
}

}  // namespace tilescope::sim
