// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/dram_rows.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/dram_mapping.h"
#include "arch/hierarchy.h"

namespace tilescope::model {

DramRows dram_rows_of(const arch::ArchSpec& a) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const arch::DramLevel& dram = *hierarchy.dram;
  DramRows rows;
  rows.channels = static_cast<double>(dram.channels);
  rows.banks = static_cast<double>(std::max<std::int64_t>(1, dram.banks) * dram.ranks);
  rows.line_bytes = hierarchy.device_caches.empty() ? static_cast<double>(arch::transaction_of(dram).n)
                                                    : static_cast<double>(hierarchy.device_caches.back()->line.n);
  if (base::Diagnostics diags; dram.mapping)
    rows.line_bytes = static_cast<double>(arch::mapping_of(dram, diags)->bytes_together());
  const auto cycles = [&](const char* name) {
    const auto found = dram.timing.find(name);
    return found == dram.timing.end() ? 0.0 : static_cast<double>(found->second.n);
  };
  rows.granule_bytes = static_cast<double>(arch::transaction_of(dram).n);
  for (const arch::CacheLevel* cache : hierarchy.device_caches)
    rows.granule_bytes = std::max(rows.granule_bytes, static_cast<double>(cache->sector.n));
  if (!dram.row || dram.banks == 0) return rows;
  rows.row_bytes = static_cast<double>(dram.row->n);
  const double apart = std::max({cycles("faw") / 4, cycles("rrd_s"), cycles("rc") / rows.banks});
  // An activate and a precharge pass the command bus that pseudo-channels share, and a column where rows lack their
  // own.
  const double activate = dram.activate_command ? static_cast<double>(dram.activate_command->n) : 1;
  const double bus = static_cast<double>(dram.pseudo_channels) * (activate + 1 + (dram.dual_command_bus ? 0 : 1));
  rows.activates_per_us = rows.channels * static_cast<double>(dram.clock.n) * 1e-6 / std::max(apart, bus);
  return rows;
}

double activates_per_byte(const tile::Operand& operand, const tile::Extents& moment, const DramRows& rows) {
  const tile::Runs runs = tile::runs_of(operand, moment);
  const double run_bytes =
      std::max(rows.granule_bytes, static_cast<double>(((runs.length - 1) * runs.stride + 1) * operand.element.n));
  // Lines that follow each other lie in different channels, and come back to a channel's row until that is full.
  const double lines = std::ceil(run_bytes / rows.line_bytes);
  const double of_run = lines <= rows.channels
                            ? lines
                            : rows.channels * std::ceil(lines * rows.line_bytes / (rows.row_bytes * rows.channels));
  const double in_flight = static_cast<double>(runs.count) * of_run;
  const double reopened = 1 - std::exp(-(in_flight - 1) / (rows.channels * rows.banks));
  return std::max(of_run * reopened / run_bytes, 1 / rows.row_bytes);
}

}  // namespace tilescope::model
