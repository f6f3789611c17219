// SPDX-License-Identifier: Apache-2.0
#include "api/counted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/dram_refresh.h"
#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "arch/spec.h"

namespace tilescope::api {

WorkCounts work_counts_of(const energy::Counts& counts, const arch::ArchSpec& a) {
  WorkCounts out;
  out.instructions = counts.instructions;
  for (const energy::OperationCount& o : counts.operations) out.operations.push_back({std::string(o.name), o.number});
  const std::vector<arch::PipeSpec> pipes = arch::pipes_of(a);
  for (std::size_t p = 0; p < pipes.size(); ++p) out.pipes.push_back({pipes[p].name, counts.pipe_cycles[p]});
  for (const energy::LevelCount& l : counts.levels)
    out.moved.push_back({std::string(l.name), l.read_bytes, l.written_bytes});
  out.activates = counts.activates;
  out.block_us = counts.block_us;
  const arch::DramLevel* dram = arch::dram_of(a);
  if (dram != nullptr && arch::counts_refreshes(*dram)) out.refreshes = counts.refreshes;
  if (a.link && arch::links_cores(*a.link)) out.link_bytes = counts.link_bytes;
  return out;
}

std::optional<EnergyRow> energy_row_of(const energy::Counts& counts, double time_us, const arch::ArchSpec& a,
                                       const energy::TimeAt& time_at, std::optional<std::string>& lacking,
                                       double near_limit) {
  if (!a.power && !a.energy) return std::nullopt;
  if (const std::vector<std::string> keys = energy::missing_keys(a, counts); !keys.empty()) {
    lacking = fmt::format("{}", fmt::join(keys, "; "));
    return std::nullopt;
  }
  const energy::Energy own = energy::energy_of(a, counts, a.clock, time_us);
  EnergyRow out{own.uj(), own.power_w(), {}, {}, {}, {}};
  for (const energy::Part& p : own.parts) out.parts.push_back({p.name, p.uj});
  if (!time_at) return out;
  if (const auto limited = energy::at_limit(a, counts, own, time_at, near_limit)) {
    out.limit_clock_mhz = static_cast<double>(limited->clock.n) * 1e-6;
    out.time_at_limit_us = limited->time_us;
    out.energy_at_limit_uj = limited->uj();
  }
  return out;
}

}  // namespace tilescope::api
