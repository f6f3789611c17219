// SPDX-License-Identifier: Apache-2.0
#include "arch/derive.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::arch {
namespace {

// Bytes a cycle of the banks and their port, or of the core's own paths where they are narrower.
double bytes_per_cycle(const ScratchpadLevel& level) {
  const Bytes words = level.bank_width * level.banks;
  const auto banks = static_cast<double>(level.width.value_or(words).n);
  const double load = level.load ? static_cast<double>(level.load->n) : banks;
  const double store = level.store ? static_cast<double>(level.store->n) : banks;
  return std::min(banks, load + store);
}

// Bytes that one instance of the level moves in a cycle of its own clock.
double bytes_per_cycle(const DramLevel& level) {
  return static_cast<double>(level.rate) * static_cast<double>(level.channels) * static_cast<double>(level.width.n);
}
double bytes_per_cycle(const CacheLevel& level) {
  return static_cast<double>(level.slices) * static_cast<double>(level.width.n);
}

double instances_of(const ArchSpec& a, const LevelSpec& level) {
  return level.scope == Scope::kCore ? static_cast<double>(a.core.count) : 1;
}

double per_second(Hertz clock) { return static_cast<double>(clock.n); }

}  // namespace

const ComputeSpec* scalar_unit_of(const ArchSpec& a, Dtype dtype, Dtype accumulate) {
  const ComputeSpec* best = nullptr;
  for (const ComputeSpec& c : a.compute) {
    if (c.dtype != dtype || c.accumulate != accumulate || !is_scalar_unit(c)) continue;
    if (best == nullptr || c.per_core > best->per_core) best = &c;
  }
  return best;
}

Hertz clock_of(const ArchSpec&, const DramLevel& level) { return level.clock; }
Hertz clock_of(const ArchSpec& a, const CacheLevel& level) { return level.clock.value_or(a.clock); }

BytesPerSecond bandwidth_of(const ArchSpec& a, const DramLevel& level) {
  return {bytes_per_cycle(level) * per_second(clock_of(a, level)) * instances_of(a, level)};
}
BytesPerSecond bandwidth_of(const ArchSpec& a, const CacheLevel& level) {
  return {bytes_per_cycle(level) * per_second(clock_of(a, level)) * instances_of(a, level)};
}
BytesPerSecond bandwidth_of(const ArchSpec& a, const ScratchpadLevel& level) {
  return {bytes_per_cycle(level) * per_second(a.clock) * instances_of(a, level)};
}
BytesPerSecond bandwidth_of(const ArchSpec& a, const TensorLevel& level) {
  return {static_cast<double>(level.width.n) * per_second(a.clock) * instances_of(a, level)};
}
BytesPerSecond bandwidth_of(const ArchSpec& a, const Level& level) {
  if (const auto* dram = std::get_if<DramLevel>(&level)) return bandwidth_of(a, *dram);
  if (const auto* cache = std::get_if<CacheLevel>(&level)) return bandwidth_of(a, *cache);
  if (const auto* scratchpad = std::get_if<ScratchpadLevel>(&level)) return bandwidth_of(a, *scratchpad);
  if (const auto* tensor = std::get_if<TensorLevel>(&level)) return bandwidth_of(a, *tensor);
  return {0};
}

double bytes_per_core_cycle(const ArchSpec& a, const CacheLevel& level) {
  base::check(level.scope == Scope::kCore, "bytes a core cycle are of a level of core scope");
  if (!level.clock) return bytes_per_cycle(level);
  return bytes_per_cycle(level) * per_second(*level.clock) / per_second(a.clock);
}

double bytes_per_core_cycle(const ArchSpec&, const ScratchpadLevel& level) {
  base::check(level.scope == Scope::kCore, "bytes a core cycle are of a level of core scope");
  return bytes_per_cycle(level);
}

BytesPerSecond bandwidth_of(const ArchSpec& a, const LinkSpec& link) {
  return {static_cast<double>(link.width.n) * static_cast<double>(a.core.count) * static_cast<double>(a.clock.n)};
}

FlopsPerSecond peak_of(const ArchSpec& a, const ComputeSpec& unit) {
  return {2.0 * static_cast<double>(unit.per_core) * static_cast<double>(a.core.count) *
          static_cast<double>(a.clock.n)};
}

Bytes transaction_of(const DramLevel& level) { return level.width * level.burst; }
Bytes transaction_of(const CacheLevel& level) { return level.sector; }
Bytes transaction_of(const ScratchpadLevel& level) {
  return level.load ? level.bank_width : level.bank_width * level.banks;
}
Bytes transaction_of(const RegisterLevel&) { return {kRegisterBytes}; }
Bytes transaction_of(const TensorLevel&) { return {kRegisterBytes}; }
Bytes transaction_of(const Level& level) {
  return std::visit([](const auto& l) { return transaction_of(l); }, level);
}

Bytes device_transaction_of(const ArchSpec& a) {
  if (const CacheLevel* cache = device_cache_of(a)) return transaction_of(*cache);
  return transaction_of(*dram_of(a));
}

BytesPerSecond device_bandwidth_of(const ArchSpec& a) {
  if (const CacheLevel* cache = device_cache_of(a)) return bandwidth_of(a, *cache);
  return bandwidth_of(a, *dram_of(a));
}

HomeMemory home_memory_of(const ArchSpec& a) {
  if (const DramLevel* dram = dram_of(a)) return {dram->name, dram->capacity, transaction_of(*dram)};
  const ScratchpadLevel& pad = *scratchpad_of(a);
  return {fmt::format("{} of {} cores", pad.name, a.core.count), pad.capacity * a.core.count, transaction_of(pad)};
}

Bytes widest_access_of(const ArchSpec& a) { return a.core.max_access.value_or(Bytes{0}); }

double ratio_of(const ArchSpec& a, std::string_view key) {
  const auto found = a.calibration.find(std::string(key));
  return found == a.calibration.end() ? 1 : found->second.ratio;
}

Bytes scratchpad_per_block(const ScratchpadLevel& level) { return level.per_block.value_or(level.capacity); }

std::int64_t tensor_columns(const TensorLevel& level) { return level.capacity.n / (level.lanes * kRegisterBytes); }

std::int64_t allocated_columns(const TensorLevel& level, std::int64_t columns) {
  std::int64_t out = level.granule;
  while (out < columns) out *= 2;
  return out;
}

std::int64_t registers_per_core(const RegisterLevel& level) { return level.capacity.n / kRegisterBytes; }

std::int64_t max_registers(const ArchSpec& a, std::int64_t threads) {
  const RegisterLevel* level = registers_of(a);
  if (level == nullptr) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t all = registers_per_core(*level), warps = base::ceil_div(threads, a.core.warp);
  const std::int64_t granule = level->granule.value_or(1);
  const std::int64_t left = all / (base::round_up(warps, a.core.partitions) * a.core.warp);
  return std::min(level->per_thread.value_or(all), left / granule * granule);
}

const LinkSpec& core_link(const ArchSpec& a) {
  const LinkSpec* link = a.link ? &*a.link : nullptr;
  base::check(link != nullptr && links_cores(*link), "cores of a chip of class bsp are linked");
  return *link;
}

Cycles core_sync(const ArchSpec& a) { return core_link(a).sync.value_or(Cycles{0}); }

std::optional<PowerAtRest> power_at_rest(const ArchSpec& a, const PowerSpec& power, Hertz clock) {
  const std::optional<Volts> voltage = power.curve.at(clock);
  if (!voltage) return std::nullopt;
  constexpr double kGiga = 1e9;
  const double cores = voltage->v * voltage->v * static_cast<double>(a.core.count);
  const DramLevel* dram = dram_of(a);
  const double channels = dram == nullptr || !power.channel ? 0 : static_cast<double>(dram->channels);
  return PowerAtRest{power.board + power.channel.value_or(Watts{}) * channels,
                     {cores * power.leakage.v},
                     {cores * power.clock_tree.v * static_cast<double>(clock.n) / kGiga}};
}

}  // namespace tilescope::arch
