// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/machine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "sim/memory/dram_plugin.h"
#include "sim/memory/external_dram.h"

namespace tilescope::sim {
namespace {

using arch::ArchSpec;
using arch::CacheLevel;

// `units` in one cycle of the level's clock, in cycles of the core's.
template <class Level>
Rate rate_in_core_cycles(const ArchSpec& chip, const Level& level, std::int64_t units) {
  const std::int64_t own = arch::clock_of(chip, level).n, core = chip.clock.n;
  const std::int64_t common = std::gcd(own, core);
  return {units * (own / common), core / common};
}

Cycle latency_of(const ArchSpec& chip, const arch::AddressedLevel& level) {
  if (!level.latency) throw SimError(fmt::format("{}: memory.{} has no latency", chip.name, level.name));
  return Cycle(level.latency->n);
}

// One slice of a cache.
CacheSpec slice_of(const CacheLevel& level) {
  return {level.capacity.n / level.slices / level.line.n, level.ways.value_or(CacheSpec::kAnyWay)};
}

void require_few_sectors(const ArchSpec& chip, const LineShape& shape) {
  if (shape.line / shape.sector > SectorCache::kMaxSectors)
    throw SimError(
        fmt::format("{}: lines of more than {} sectors are not simulated", chip.name, SectorCache::kMaxSectors));
}

// The cache that cores reach first.
void read_first_cache(const ArchSpec& chip, const CacheLevel& cache, MemorySpec& m) {
  m.shape = {cache.line.n, cache.sector.n};
  m.slice = slice_of(cache);
  m.slice_rate = rate_in_core_cycles(chip, cache, cache.width.n);
  m.request_bytes = cache.request.n;
  m.slice_queue = cache.queue.value_or(0);
  m.slice_misses = cache.mshrs.value_or(0);
  m.cache_latency = latency_of(chip, cache);
  m.slices = cache.slices;
  m.partitions = cache.l2_partitions;
  m.remote_latency = Cycle(cache.remote_latency.value_or(*cache.latency).n);
  if (cache.remote_width) m.remote_rate = rate_in_core_cycles(chip, cache, cache.remote_width->n);
  m.slice.tells_clean = m.partitions > 1;
  m.partial_write = cache.partial_write;
}

OuterCacheSpec outer_cache(const ArchSpec& chip, const CacheLevel& cache) {
  return {.shape = {cache.line.n, cache.sector.n},
          .slices = cache.slices,
          .slice = slice_of(cache),
          .slice_rate = rate_in_core_cycles(chip, cache, cache.width.n),
          .request_bytes = cache.request.n,
          .latency = latency_of(chip, cache)};
}

// The library that stands in for the channels.
DramFactory dram_model(const ArchSpec& chip, const arch::DramLevel& dram, const MemorySpec& m) {
  const LineShape& last = m.outer.empty() ? m.shape : m.outer.back().shape;
  const PluginConfig config{dram.model_path, dram.model_place, chip.name, static_cast<double>(dram.clock.n),
                            dram.channels,   m.burst_bytes,    last.line, dram.capacity.n};
  return [config, pseudo_channels = m.dram.pseudo_channels] {
    return std::make_unique<ExternalDram>(load_dram_plugin(config), config.place, config.burst_bytes, config.channels,
                                          pseudo_channels);
  };
}

// The requests that a controller holds where the file does not say: as many as keep its bus busy for the DRAM's latency
// (Little's law). Without a bound, reads that are ready could overtake writes for ever.
std::int64_t queue_depth_of(const MemorySpec& m) {
  const Clock latency = std::max(m.clocks.clock_at(m.dram_latency), conflict_clocks(m.dram, 1));
  return m.dram.pseudo_channels * base::ceil_div(latency.count(), m.dram.clocks_per_burst().count());
}

MemorySpec memory_spec(const ArchSpec& chip, const arch::Hierarchy& hierarchy) {
  const arch::DramLevel* dram = hierarchy.dram;
  if (dram == nullptr) throw SimError(chip.name + ": a simulation needs a level of kind dram");
  MemorySpec m;
  m.cores = chip.core.count;
  m.dram_latency = latency_of(chip, *dram);
  m.dram = dram_spec(*dram);
  m.write_backlog = dram->write_backlog.value_or(0);
  m.burst_bytes = arch::transaction_of(*dram).n;
  m.write_granule = dram->write_granule.value_or(base::Bytes{0}).n;
  m.clocks = ClockRatio(dram->clock, chip.clock);
  if (!dram->queue_depth) m.dram.queue_depth = queue_depth_of(m);
  if (hierarchy.device_caches.empty()) {  // requests go to the channels as they come
    m.shape = {m.burst_bytes, m.burst_bytes};
    m.slice_rate = {m.burst_bytes * m.clocks.clocks(), m.clocks.cycles() * m.dram.clocks_per_burst().count()};
    m.slices = dram->channels;
  } else {
    read_first_cache(chip, *hierarchy.device_caches[0], m);
    for (std::size_t c = 1; c < hierarchy.device_caches.size(); ++c)
      m.outer.push_back(outer_cache(chip, *hierarchy.device_caches[c]));
  }
  require_few_sectors(chip, m.shape);
  for (const OuterCacheSpec& o : m.outer) require_few_sectors(chip, o.shape);
  std::int64_t line_bytes = 0;
  m.map = address_map_of(hierarchy, line_bytes);
  if (dram->model) m.dram_model = dram_model(chip, *dram, m);
  if (const auto& tlb = dram->tlb)
    m.tlb = TlbSpec{tlb->page.n, tlb->entries, Cycle(tlb->miss.n), tlb->walkers.value_or(0), tlb->writes};
  if (chip.link) m.link_rate = Rate{chip.link->width.n, 1};
  if (chip.link && chip.link->cluster_cores && chip.link->cluster_width)
    m.cluster = ClusterSpec{*chip.link->cluster_cores, Rate{chip.link->cluster_width->n, 1}};
  return m;
}

CoreCacheSpec core_cache(const ArchSpec& chip, const CacheLevel& level, const LineShape& shape) {
  CoreCacheSpec c;
  c.bytes = level.capacity.n;
  c.shares_scratchpad = level.shares.has_value();
  c.ways = level.ways.value_or(CacheSpec::kAnyWay);
  c.sectors = std::max<std::int64_t>(1, std::min(level.sector.n, shape.line) / shape.sector);
  c.tags = level.tag_lookups.value_or(arch::kMaxLanes);
  c.rate = rate_in_core_cycles(chip, level, level.width.n);
  c.latency = latency_of(chip, level);
  return c;
}

void read_pipes(const ArchSpec& chip, Machine& m) {
  const std::vector<arch::PipeSpec>& pipes = m.pipes = arch::pipes_of(chip);
  m.instructions = chip.compute.size();
  m.memory_lanes = {arch::access_lanes_of(chip, arch::kMemoryAccesses), 1};
  m.async_copy_interval = Cycle(chip.core.async_copy_interval.value_or(base::Cycles{0}).n);
  m.fenced_copy_interval =
      Cycle(chip.core.fenced_copy_interval.value_or(base::Cycles{m.async_copy_interval.count()}).n);
  m.scratchpad_lanes = {arch::access_lanes_of(chip, arch::kScratchpadAccesses), 1};
  for (const arch::PipeShare& of_memory : arch::shares_of(pipes, arch::kMemoryAccesses))
    for (const arch::PipeShare& of_scratchpad : arch::shares_of(pipes, arch::kScratchpadAccesses))
      m.lanes_shared = m.lanes_shared || of_memory.pipe == of_scratchpad.pipe;
}

std::array<std::string, kStalls> stall_names(const arch::Hierarchy& hierarchy) {
  std::array<std::string, kStalls> names;
  const auto at = [&](Stall s) -> std::string& { return names[static_cast<std::size_t>(s)]; };
  at(Stall::kIssue) = "issue";
  at(Stall::kBarrier) = "barrier";
  at(Stall::kDispatch) = "dispatch";
  at(Stall::kLaunch) = "launch";
  at(Stall::kTail) = "tail";
  if (hierarchy.scratchpad != nullptr) at(Stall::kScratchpad) = hierarchy.scratchpad->name;
  if (hierarchy.core_cache != nullptr) at(Stall::kL1) = hierarchy.core_cache->name;
  for (std::size_t c = 0; c < hierarchy.device_caches.size(); ++c)
    at(stall_of_device_cache(c)) = hierarchy.device_caches[c]->name;
  if (hierarchy.dram != nullptr) at(Stall::kDram) = hierarchy.dram->name;
  return names;
}

}  // namespace

AccessShapes access_shapes(const Machine& m) {
  return {m.memory.shape, m.banks.count > 0 ? m.banks : Banks{1, 4},
          m.banks.count > 0 && m.cache && m.cache->shares_scratchpad,
          m.memory.partial_write || m.memory.write_granule > 0};
}

Machine machine_of(const ArchSpec& chip) {
  Machine m;
  m.name = chip.name;
  m.clock = chip.clock;
  m.cores = chip.core.count;
  m.launch = Cycle(std::llround(chip.launch_overhead.v * static_cast<double>(chip.clock.n) * 1e-6));
  if (chip.block_interval) m.block_interval = chip.block_interval->v * static_cast<double>(chip.clock.n) * 1e-6;
  m.issue = {chip.core.issue.value_or(1), 1};
  read_pipes(chip, m);
  m.block_launch = Cycle(chip.core.block_launch.value_or(base::Cycles{0}).n);
  m.warp_launch = Cycle(chip.core.warp_launch.value_or(base::Cycles{0}).n);
  const arch::Hierarchy hierarchy = arch::hierarchy_of(chip);
  m.memory = memory_spec(chip, hierarchy);
  m.dram_name = hierarchy.dram->name;
  m.stall_names = stall_names(hierarchy);
  for (const CacheLevel* l : hierarchy.device_caches) m.device_cache_names.push_back(l->name);
  if (chip.core.tma && chip.core.tma->line_interval) m.line_interval = Cycle(chip.core.tma->line_interval->n);
  if (chip.core.tma && chip.core.tma->cluster_latency) m.cluster_latency = Cycle(chip.core.tma->cluster_latency->n);
  m.limits.warp = chip.core.warp;
  m.limits.partitions = chip.core.partitions;
  m.limits.max_threads = chip.core.max_threads;
  m.limits.max_blocks = chip.core.max_blocks;
  m.limits.max_block_threads = chip.core.max_block_threads;
  if (chip.compiler) {
    m.limits.assumed_block = chip.compiler->assumed_block.value_or(0);
    m.limits.stated_registers = chip.compiler->stated_registers.value_or(0);
    m.limits.warp_group_operands = chip.compiler->registers.mma_operands.value_or(0);
  }
  if (const arch::RegisterLevel* l = hierarchy.registers) {
    m.limits.registers = arch::registers_per_core(*l);
    m.limits.registers_per_thread = l->per_thread.value_or(m.limits.registers);
    m.limits.register_granule = l->granule.value_or(1);
    m.limits.separate_sums = l->separate_sums;
  }
  if (const arch::ScratchpadLevel* l = hierarchy.scratchpad) {
    m.scratchpad_name = l->name;
    m.banks = {l->banks, l->bank_width.n};
    m.scratchpad = {1,
                    l->width ? base::ceil_div(std::min(l->banks, chip.core.warp) * l->bank_width.n, l->width->n) : 1};
    m.scratchpad_latency = latency_of(chip, *l);
    m.limits.scratchpad_bytes = l->capacity.n;
    m.limits.scratchpad_per_block = arch::scratchpad_per_block(*l).n;
    m.limits.scratchpad_reserved = l->reserved_per_block.n;
  }
  if (const arch::TensorLevel* l = hierarchy.tensor_memory) {
    m.limits.tensor_columns = arch::tensor_columns(*l);
    m.limits.tensor_granule = l->granule;
    m.tensor_reads = {l->width.n, chip.core.partitions};
    m.tensor_latency = latency_of(chip, *l);
  }
  if (const CacheLevel* l = hierarchy.core_cache) {
    m.core_cache_name = l->name;
    m.misses = l->mshrs.value_or(0);
    m.cache = core_cache(chip, *l, m.memory.shape);
  }
  return m;
}

}  // namespace tilescope::sim
