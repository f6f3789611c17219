// SPDX-License-Identifier: Apache-2.0
// What a chip's file leaves open, and what of it contradicts itself without being impossible. Effects are computed from
// the chip's own figures.

#include <algorithm>
#include <cmath>
#include <map>

#include "arch/derive.h"
#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/hierarchy.h"
#include "base/integer.h"

namespace tilescope::arch {
namespace {

class Adviser {
 public:
  Adviser(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags)
      : a_(a), chip_(hierarchy_of(a)), out_(layers, diags) {}

  void advise() {
    if (chip_.dram != nullptr) advise_dram(*chip_.dram);
    if (a_.chip_class != ChipClass::kGpu) return;
    for (const CacheLevel* cache : chip_.device_caches) advise_cache(*cache, "slice", cache->slices);
    if (chip_.core_cache != nullptr) advise_cache(*chip_.core_cache, "core", a_.core.count);
    for (const ComputeSpec& unit : a_.compute) advise_unit(unit);
    if (a_.launch_overhead.v == 0) out_.note({"launch_overhead"}, "absent: a kernel starts at once");
  }

 private:
  void advise_dram(const DramLevel& l) {
    const Path level = {"memory", l.name};
    const auto with = [&](std::string_view key) {
      Path path = level;
      path.emplace_back(key);
      return path;
    };
    if (l.model) return;  // a library times it
    if (l.banks == 0 || !l.row)
      out_.note(with(l.banks == 0 ? "banks" : "row"),
                "absent: every access finds its row open, whatever the addresses");
    if (l.timing.empty()) {
      out_.note(with("timing"),
                "absent: commands follow each other as fast as bursts do; a turn between reads and "
                "writes takes two clocks, and nothing is refreshed");
      return;
    }
    const bool refreshes = l.timing.contains("refi"), lasts = l.timing.contains("rfc") || l.timing.contains("rfc_sb");
    if (refreshes && !lasts) out_.note(with("timing"), "refi without rfc: a refresh takes no time");
    if (!refreshes && lasts) out_.note(with("timing"), "rfc without refi: nothing is refreshed");
    if (!refreshes && !lasts) out_.note(with("timing"), "no refi and no rfc: nothing is refreshed");
  }

  // Little's law says how many lines are under way where the level behind a cache delivers all it can.
  void advise_cache(const CacheLevel& l, const char* instance, std::int64_t instances) {
    if (!l.latency) out_.note({"memory", l.name, "latency"}, "absent: a hit takes no time");
    if (l.mshrs || chip_.dram == nullptr || !chip_.dram->latency) return;
    const double seconds = static_cast<double>(chip_.dram->latency->n) / static_cast<double>(a_.clock.n);
    const double lines = seconds * bandwidth_of(a_, *chip_.dram).v / static_cast<double>(l.line.n * instances);
    out_.note(
        {"memory", l.name, "mshrs"},
        fmt::format("absent: any number of lines is under way at a time. The DRAM's whole bandwidth needs {:.0f} for "
                    "each {}; fewer would be slower in proportion",
                    std::ceil(lines), instance));
  }

  void advise_unit(const ComputeSpec& unit) {
    const Path at = {"compute", unit.name};
    const auto with = [&](std::string_view key) {
      Path path = at;
      path.emplace_back(key);
      return path;
    };
    if (unit.m > 1 && unit.n > 1 && !unit.fragments) {
      const ComputeSpec* scalar = scalar_unit_of(a_, unit.dtype, unit.accumulate);
      if (scalar == nullptr) scalar = scalar_unit_of(a_, unit.accumulate, unit.accumulate);
      out_.note(with("fragments"),
                fmt::format("absent: no program multiplies by {}{}", unit.name,
                            scalar == nullptr ? ""
                                              : fmt::format("; products of {} take {}, {:.3g} times slower",
                                                            base::name_of(unit.dtype), scalar->name,
                                                            peak_of(a_, unit) / peak_of(a_, *scalar))));
    }
    // A partition's share of the unit is busy for so long with one instruction.
    const std::int64_t threads = unit.threads.value_or(is_scalar_unit(unit) ? 1 : a_.core.warp);
    const std::int64_t products = unit.m * unit.n * unit.k * (is_scalar_unit(unit) ? a_.core.warp : 1);
    const std::int64_t warps = std::max<std::int64_t>(1, threads / std::max<std::int64_t>(1, a_.core.warp));
    if (unit.per_core <= 0 || a_.core.partitions <= 0) return;
    const std::int64_t busy = base::ceil_div(products * a_.core.partitions, unit.per_core * warps);
    if (unit.latency.n < busy)
      out_.note(with("latency"),
                fmt::format("{} cycles, but one instruction keeps its unit busy for {}: a result is not "
                            "there before",
                            unit.latency.n, busy));
  }

  const ArchSpec& a_;
  Hierarchy chip_;
  Complaints out_;
};

}  // namespace

void advise(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags) { Adviser(layers, a, diags).advise(); }

}  // namespace tilescope::arch
