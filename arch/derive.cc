#include "arch/derive.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::arch {
namespace {

template <class Holds>
const LevelSpec* first_level(const ArchSpec& a, Holds holds) {
  const auto found = std::find_if(a.memory.begin(), a.memory.end(), holds);
  return found == a.memory.end() ? nullptr : &*found;
}

const LevelSpec* first_of_kind(const ArchSpec& a, Kind kind) {
  return first_level(a, [kind](const LevelSpec& l) { return l.kind == kind; });
}

const LevelSpec* first_cache(const ArchSpec& a, Scope scope) {
  return first_level(a, [scope](const LevelSpec& l) { return l.kind == Kind::kCache && l.scope == scope; });
}

// Bytes a cycle of the banks, or of the core's own paths where they are narrower.
double scratchpad_bytes_per_cycle(const LevelSpec& level) {
  const double banks = static_cast<double>(level.banks) * static_cast<double>(level.bank_width.n);
  const double load = level.load ? static_cast<double>(level.load->n) : banks;
  const double store = level.store ? static_cast<double>(level.store->n) : banks;
  return std::min(banks, load + store);
}

// Bytes that one instance of the level moves in a cycle of its own clock.
double bytes_per_cycle(const LevelSpec& level) {
  switch (level.kind) {
    case Kind::kDram:
      return static_cast<double>(level.rate) * static_cast<double>(level.channels) * static_cast<double>(level.width.n);
    case Kind::kCache:
      return static_cast<double>(level.slices) * static_cast<double>(level.width.n);
    case Kind::kScratchpad:
      return scratchpad_bytes_per_cycle(level);
    case Kind::kRegister:
      return 0;  // operands come with the instruction; its rate is in `compute`
  }
  return 0;
}

double clock_of(const ArchSpec& a, const LevelSpec& level) {
  return static_cast<double>(level.clock.value_or(a.clock).n);
}

}  // namespace

const LevelSpec* dram_of(const ArchSpec& a) { return first_of_kind(a, Kind::kDram); }
const LevelSpec* device_cache_of(const ArchSpec& a) { return first_cache(a, Scope::kDevice); }
const LevelSpec* core_cache_of(const ArchSpec& a) { return first_cache(a, Scope::kCore); }
const LevelSpec* scratchpad_of(const ArchSpec& a) { return first_of_kind(a, Kind::kScratchpad); }
const LevelSpec* registers_of(const ArchSpec& a) { return first_of_kind(a, Kind::kRegister); }

const ComputeSpec* scalar_unit_of(const ArchSpec& a, Dtype dtype, Dtype accumulate) {
  const ComputeSpec* best = nullptr;
  for (const ComputeSpec& c : a.compute) {
    if (c.dtype != dtype || c.accumulate != accumulate || c.m != 1 || c.n != 1 || c.k != 1) continue;
    if (best == nullptr || c.per_core > best->per_core) best = &c;
  }
  return best;
}

BytesPerSecond bandwidth_of(const ArchSpec& a, const LevelSpec& level) {
  const double instances = level.scope == Scope::kCore ? static_cast<double>(a.core.count) : 1;
  return {bytes_per_cycle(level) * clock_of(a, level) * instances};
}

double bytes_per_core_cycle(const ArchSpec& a, const LevelSpec& level) {
  base::check(level.scope == Scope::kCore, "bytes a core cycle are of a level of core scope");
  if (!level.clock) return bytes_per_cycle(level);
  return bytes_per_cycle(level) * clock_of(a, level) / static_cast<double>(a.clock.n);
}

BytesPerSecond bandwidth_of(const ArchSpec& a, const LinkSpec& link) {
  return {static_cast<double>(link.width.n) * static_cast<double>(a.core.count) * static_cast<double>(a.clock.n)};
}

FlopsPerSecond peak_of(const ArchSpec& a, const ComputeSpec& unit) {
  return {2.0 * static_cast<double>(unit.per_core) * static_cast<double>(a.core.count) *
          static_cast<double>(a.clock.n)};
}

Bytes transaction_of(const LevelSpec& level) {
  switch (level.kind) {
    case Kind::kDram:
      return level.width * level.burst;
    case Kind::kCache:
      return level.sector;
    case Kind::kScratchpad:
      return level.load ? level.bank_width : level.bank_width * level.banks;
    case Kind::kRegister:
      return {4};
  }
  return {};
}

Bytes widest_access_of(const ArchSpec& a) { return a.core.max_access.value_or(Bytes{0}); }

double ratio_of(const ArchSpec& a, std::string_view key) {
  const auto found = a.calibration.find(std::string(key));
  return found == a.calibration.end() ? 1 : found->second.ratio;
}

Bytes scratchpad_per_block(const LevelSpec& level) { return level.per_block.value_or(level.capacity); }

std::int64_t registers_per_core(const LevelSpec& level) { return level.capacity.n / 4; }

std::int64_t most_registers(const ArchSpec& a, std::int64_t threads) {
  const LevelSpec* level = registers_of(a);
  if (level == nullptr) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t all = registers_per_core(*level), warps = base::ceil_div(threads, a.core.warp);
  const std::int64_t granule = level->granule.value_or(1);
  const std::int64_t left = all / (base::round_up(warps, a.core.partitions) * a.core.warp);
  return std::min(level->per_thread.value_or(all), left / granule * granule);
}

}  // namespace tilescope::arch
