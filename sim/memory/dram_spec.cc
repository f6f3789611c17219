// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram_spec.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::sim {

DramSpec dram_spec(const arch::DramLevel& dram) {
  const auto of = [&](const char* name) -> Clock {
    const auto t = dram.timing.find(name);
    return Clock(t == dram.timing.end() ? 0 : t->second.n);
  };
  DramSpec s;
  s.pseudo_channels = dram.pseudo_channels;
  s.ranks = dram.ranks;
  s.banks = std::max<std::int64_t>(1, dram.banks);
  if (dram.banks > 0) s.groups = dram.bank_groups.value_or(1);
  s.rows = dram.row.has_value() && dram.banks > 0;
  s.row_bus = dram.dual_command_bus;
  s.activate_command = Clock(dram.activate_command.value_or(base::Cycles{1}).n);
  s.refreshes_banks = dram.refresh == arch::Refresh::kPerBank;
  s.queues = dram.queues;
  s.queue_depth = dram.queue_depth.value_or(DramSpec::kNoBound);
  if (!s.queues_by_bank()) s.per_bank_queue_depth = dram.per_bank_queue_depth.value_or(0);
  s.write_threshold = dram.write_threshold.value_or(0);
  s.write_idle = Clock(dram.write_idle.value_or(base::Cycles{0}).n);
  if (s.parts_writes()) s.write_high = dram.write_high_watermark.value_or(0);
  s.write_low = dram.write_low_watermark.value_or(0);
  s.row_hit_cap = dram.row_hit_cap.value_or(DramSpec::kNoBound);
  s.page_policy = dram.page_policy;
  s.page_timeout = Clock(dram.page_timeout.value_or(base::Cycles{0}).n);
  if (dram.max_age) s.max_age = Clock(dram.max_age->n);
  s.t = {.rcd = of("rcd"),
         .rcd_wr = of("rcd_wr"),
         .rp = of("rp"),
         .ras = of("ras"),
         .rc = of("rc"),
         .rrd_s = of("rrd_s"),
         .rrd_l = of("rrd_l"),
         .faw = of("faw"),
         .aw32 = of("aw32"),
         .ccd_s = of("ccd_s"),
         .ccd_l = of("ccd_l"),
         .cl = of("cl"),
         .cwl = of("cwl"),
         .rtp = of("rtp"),
         .wr = of("wr"),
         .wtr_s = of("wtr_s"),
         .wtr_l = of("wtr_l"),
         .rtw = of("rtw"),
         .rtrs = of("rtrs"),
         .rfc = of("rfc"),
         .rfc_sb = of("rfc_sb"),
         .refi = of("refi"),
         .burst = Clock(base::ceil_div(dram.burst, dram.rate))};
  return s;
}

Clock conflict_clocks(const DramSpec& spec, std::int64_t bursts) {
  const DramTimes& t = spec.t;
  const Clock between = std::max(spec.clocks_per_burst(), t.ccd_l);
  return kDramHandshake + (spec.rows ? t.rp + t.rcd : 0_nck) + t.cl + (bursts - 1) * between + t.burst;
}

}  // namespace tilescope::sim
