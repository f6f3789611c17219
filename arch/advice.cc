// SPDX-License-Identifier: Apache-2.0
// What a chip's file leaves open, and what of it contradicts itself without being impossible. Effects are computed from
// the chip's own figures.

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/hierarchy.h"
#include "base/integer.h"

namespace tilescope::arch {
namespace {

Path with(Path path, std::string_view key) {
  path.push_back(key);
  return path;
}

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
  }

 private:
  void advise_dram(const DramLevel& l) {
    const Path level = {"memory", l.name};
    if (l.model) return;  // a library times it
    if (l.banks == 0 || !l.row)
      out_.note(with(level, l.banks == 0 ? "banks" : "row"),
                "absent: every access finds its row open, whatever the addresses");
    if (l.timing.empty()) {
      out_.note(with(level, "timing"),
                "absent: commands follow each other as fast as bursts do, and nothing is refreshed");
      return;
    }
    const bool refreshes = l.timing.contains("refi"), lasts = l.timing.contains("rfc") || l.timing.contains("rfc_sb");
    if (refreshes && !lasts) out_.note(with(level, "timing"), "refi without rfc: a refresh takes no time");
    if (!refreshes && lasts) out_.note(with(level, "timing"), "rfc without refi: nothing is refreshed");
    if (!refreshes && !lasts) out_.note(with(level, "timing"), "no refi and no rfc: nothing is refreshed");
  }

  // By Little's law, the lines in flight at the DRAM's full bandwidth.
  void advise_cache(const CacheLevel& l, const char* instance, std::int64_t instances) {
    if (!l.latency) out_.note({"memory", l.name, "latency"}, "absent: a hit takes no time");
    if (l.mshrs || chip_.dram == nullptr || !chip_.dram->latency) return;
    const double seconds = static_cast<double>(chip_.dram->latency->n) / static_cast<double>(a_.clock.n);
    const double lines = seconds * bandwidth_of(a_, *chip_.dram).v / static_cast<double>(l.line.n * instances);
    out_.note(
        {"memory", l.name, "mshrs"},
        fmt::format("absent: no bound on the lines in flight. The DRAM's full bandwidth needs {:.0f} for each {}; with "
                    "fewer it falls in proportion",
                    std::ceil(lines), instance));
  }

  void advise_unit(const ComputeSpec& unit) {
    const Path at = {"compute", unit.name};
    if (unit.m > 1 && unit.n > 1 && !unit.fragments) {
      const ComputeSpec* scalar = scalar_unit_of(a_, unit.dtype, unit.accumulate);
      if (scalar == nullptr) scalar = scalar_unit_of(a_, unit.accumulate, unit.accumulate);
      out_.note(with(at, "fragments"),
                fmt::format("absent: no program multiplies by {}{}", unit.name,
                            scalar == nullptr ? ""
                                              : fmt::format("; products of {} take {}, {:.3g} times slower",
                                                            base::name_of(unit.dtype), scalar->name,
                                                            peak_of(a_, unit) / peak_of(a_, *scalar))));
    }
    // A partition's share of the unit is busy for so long with one instruction.
    const std::int64_t products = unit.m * unit.n * unit.k * (is_scalar_unit(unit) ? a_.core.warp : 1);
    const std::int64_t warps = base::ceil_div(unit.threads.value_or(a_.core.warp), a_.core.warp);
    const std::int64_t busy = base::ceil_div(products * a_.core.partitions, unit.per_core * warps);
    if (unit.latency.n < busy)
      out_.note(with(at, "latency"),
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
