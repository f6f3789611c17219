#include "sim/gpu/machine.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "arch/derive.h"

namespace tilescope::sim {
namespace {

using arch::ArchSpec;
using arch::LevelSpec;

// Of a cache whose file does not say how many ways it has.
constexpr std::int64_t kWaysWhereUnknown = 16;
// Lines that a core has under way where its file does not say; what Accel-Sim gives the L1 of a V100.
constexpr std::int64_t kMissesWhereUnknown = 512;

// `units` in one cycle of the level's clock, in cycles of the core's.
Rate rate_in_core_cycles(const ArchSpec& chip, const LevelSpec& level, std::int64_t units) {
  const std::int64_t own = level.clock.value_or(chip.clock).n, core = chip.clock.n;
  const std::int64_t common = std::gcd(own, core);
  return {units * (own / common), core / common};
}

Cycle latency_of(const ArchSpec& chip, const LevelSpec& level) {
  if (!level.latency) throw SimError(fmt::format("{}: memory.{} has no latency", chip.name, level.name));
  return level.latency->n;
}

CacheSpec cache_spec(const LevelSpec& level, std::int64_t bytes) {
  return {bytes / level.line.n, level.ways.value_or(kWaysWhereUnknown)};
}

MemorySpec memory_spec(const ArchSpec& chip) {
  const LevelSpec* dram = arch::dram_of(chip);
  if (dram == nullptr) throw SimError(chip.name + ": a simulation needs a level of kind dram");
  const LevelSpec* cache = arch::device_cache_of(chip);
  MemorySpec m;
  m.cores = chip.core.count;
  m.dram_latency = latency_of(chip, *dram);
  m.dram = dram_spec(*dram);
  m.burst_bytes = arch::transaction_of(*dram).n;
  const Rate clock = rate_in_core_cycles(chip, *dram, 1);
  m.clock_per = clock.units;
  m.cycles_per = clock.cycles;
  if (cache != nullptr) {
    m.shape = {cache->line.n, cache->sector.n};
    m.slice = cache_spec(*cache, cache->capacity.n / cache->slices);
    m.slice_rate = rate_in_core_cycles(chip, *cache, cache->width.n);
    m.request_bytes = cache->request.n;
    m.cache_latency = latency_of(chip, *cache);
    m.map.slices = cache->slices;
    m.partitions = cache->partitions;
    m.far_latency = cache->far_latency.value_or(*cache->latency).n;
    m.slice.tells_clean = m.partitions > 1;
  } else {  // requests go to the channels as they come
    m.shape = {m.burst_bytes, m.burst_bytes};
    m.slice_rate = {m.burst_bytes * m.clock_per, m.cycles_per * m.dram.clocks_per_burst()};
    m.map.slices = dram->channels;
  }
  if (m.shape.line / m.shape.sector > SectorCache::kMostSectors)
    throw SimError(
        fmt::format("{}: lines of more than {} sectors are not simulated", chip.name, SectorCache::kMostSectors));
  m.map.channels = dram->channels;
  m.map.banks = m.dram.ranks * m.dram.banks;
  if (dram->row_order == arch::RowOrder::kGroups) m.map.bank_groups = m.dram.ranks * m.dram.groups;
  m.map.lines_per_row = dram->row ? std::max<std::int64_t>(1, dram->row->n / m.shape.line) : 1;
  if (dram->tlb) m.tlb = TlbSpec{dram->tlb->page.n, dram->tlb->entries, dram->tlb->miss.n};
  if (chip.link) m.link_rate = Rate{chip.link->width.n, 1};
  return m;
}

CoreCacheSpec core_cache(const ArchSpec& chip, const LevelSpec& level, const LineShape& shape) {
  CoreCacheSpec c;
  c.bytes = level.capacity.n;
  c.shares_scratchpad = level.shares.has_value();
  c.ways = level.ways.value_or(kWaysWhereUnknown);
  c.sectors = std::max<std::int64_t>(1, std::min(level.sector.n, shape.line) / shape.sector);
  c.tags = level.tags.value_or(arch::kMostLanes);
  c.rate = rate_in_core_cycles(chip, level, level.width.n);
  c.latency = latency_of(chip, level);
  return c;
}

}  // namespace

AccessShapes access_shapes(const Machine& m) {
  return {m.memory.shape, m.banks.count > 0 ? m.banks : Banks{1, 4},
          m.banks.count > 0 && m.cache && m.cache->shares_scratchpad};
}

Machine machine_of(const ArchSpec& chip) {
  if (chip.chip_class != arch::ChipClass::kGpu) throw SimError(chip.name + ": only chips of class gpu are simulated");
  Machine m;
  m.name = chip.name;
  m.clock = chip.clock;
  m.cores = chip.core.count;
  m.launch = std::llround(chip.launch.v * static_cast<double>(chip.clock.n) * 1e-6);
  m.issue = {chip.core.issue.value_or(1), 1};
  m.address = {chip.core.lsu.value_or(chip.core.warp), 1};
  m.block_launch = chip.core.block_launch.value_or(base::Cycles{0}).n;
  m.warp_launch = chip.core.warp_launch.value_or(base::Cycles{0}).n;
  if (chip.core.tma) m.box_lines = chip.core.tma->rate.value_or(0);
  m.memory = memory_spec(chip);
  m.dram_name = arch::dram_of(chip)->name;
  if (const LevelSpec* l = arch::device_cache_of(chip)) m.device_cache_name = l->name;
  m.limits.warp = chip.core.warp;
  m.limits.partitions = chip.core.partitions;
  m.limits.max_threads = chip.core.max_threads;
  m.limits.max_blocks = chip.core.max_blocks;
  m.limits.max_block_threads = chip.core.max_block_threads;
  if (const LevelSpec* l = arch::registers_of(chip)) {
    m.limits.registers = arch::registers_per_core(*l);
    m.limits.registers_per_thread = l->per_thread.value_or(m.limits.registers);
    m.limits.register_granule = l->granule.value_or(1);
  }
  if (const LevelSpec* l = arch::scratchpad_of(chip)) {
    m.scratchpad_name = l->name;
    m.banks = {l->banks, l->bank_width.n};
    m.scratchpad = rate_in_core_cycles(chip, *l, 1);
    m.scratchpad_latency = latency_of(chip, *l);
    m.limits.scratchpad_bytes = l->capacity.n;
    m.limits.scratchpad_per_block = arch::scratchpad_per_block(*l).n;
    m.limits.scratchpad_reserved = l->reserved.n;
  }
  m.misses = kMissesWhereUnknown;
  if (const LevelSpec* l = arch::core_cache_of(chip)) {
    m.core_cache_name = l->name;
    m.misses = l->misses.value_or(m.misses);
    m.cache = core_cache(chip, *l, m.memory.shape);
  }
  return m;
}

}  // namespace tilescope::sim
