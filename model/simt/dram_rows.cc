// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/dram_rows.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/dram_mapping.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "model/common/detail/refreshes.h"
#include "model/simt/detail/gathered.h"

namespace tilescope::model {
namespace {

// A level's timing in its clocks; 0 where the file has none.
class Clocks {
 public:
  explicit Clocks(const arch::DramTiming& timing) : timing_(timing) {}
  double operator()(const char* name) const {
    const auto found = timing_.find(name);
    return found == timing_.end() ? 0.0 : static_cast<double>(found->second.n);
  }
  // Share of the time that is left between refreshes, each of which takes so long, once in refi.
  double left_by(double clocks) const { return (*this)("refi") > 0 ? 1 - clocks / (*this)("refi") : 1; }

 private:
  const arch::DramTiming& timing_;
};

// A rank is refreshed as a whole, or bank by bank.
struct Refreshes {
  double of_rank = 1, of_bank = 1;  // share of the time that is left to each
};
Refreshes refreshes_of(const arch::DramLevel& dram, const Clocks& clocks) {
  // A bank's row is closed before; columns wait until one is opened behind.
  if (dram.refresh == arch::Refresh::kPerBank) return {1, clocks.left_by(clocks("rfc_sb") + clocks("rp"))};
  if (clocks("rfc") == 0) return {};
  const double left = clocks.left_by(clocks("rp") + clocks("rfc") + clocks("rcd"));
  // While one of several ranks rests, the others have the bus.
  return {dram.ranks == 1 ? left : 1, left};
}

// Columns of a channel follow each other at ccd_s, those of one bank group at ccd_l, and take turns with those of other
// pseudo-channels on the bus that these share for columns, or for rows too.
void read_commands(const arch::DramLevel& dram, const Clocks& cycles, double channel_mhz, DramRows& rows) {
  const auto sharing = static_cast<double>(dram.pseudo_channels);
  const double data = static_cast<double>(dram.burst) / static_cast<double>(dram.rate);
  const double of_group = dram.bank_groups ? cycles("ccd_l") / static_cast<double>(*dram.bank_groups) : 0;
  const double apart = std::max({sharing, cycles("ccd_s"), of_group});
  if (apart > data) rows.bursts_per_us = channel_mhz / apart;
  if (!dram.dual_command_bus) rows.commands_per_us = channel_mhz / sharing;
}

// Lines of one row leave a cache one after another where they lie in neighbouring sets of one slice, which then age
// alike: where a slice's lines go to channels of its own, or a channel has slices of its own. Of cores' own partitions
// each has the lines that its cores use, at random, and neighbouring sets age apart; likewise where channels are dealt
// out line by line. Which mapping a file states says nothing of slices.
bool leaves_in_order(const arch::CacheLevel& cache, const arch::DramLevel& dram) {
  return cache.l2_partitions == 1 && !dram.mapping &&
         (dram.channels % cache.slices == 0 || cache.slices % dram.channels == 0);
}

}  // namespace

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
  const Clocks cycles(dram.timing);
  rows.granule_bytes = static_cast<double>(arch::transaction_of(dram).n);
  for (const arch::CacheLevel* cache : hierarchy.device_caches)
    rows.granule_bytes = std::max(rows.granule_bytes, static_cast<double>(cache->sector.n));
  if (!hierarchy.device_caches.empty())
    if (const arch::CacheLevel& last = *hierarchy.device_caches.back(); !leaves_in_order(last, dram))
      rows.written_back_bytes = static_cast<double>(last.line.n);
  // Behind them a bank's own queue is in the order of ages, for its row closes after row_hit_cap columns.
  rows.queued = static_cast<double>(dram.queue_depth.value_or(0));
  const double channel_mhz = rows.channels * static_cast<double>(dram.clock.n) * 1e-6;
  const bool has_rows = dram.row && dram.banks > 0;
  const Refreshes refreshes = has_rows ? refreshes_of(dram, cycles) : Refreshes{};
  rows.between_refreshes = refreshes.of_rank;
  rows.refreshes_per_us = refreshes_per_us(dram);
  read_commands(dram, cycles, channel_mhz, rows);
  if (!has_rows) return rows;
  rows.row_bytes = static_cast<double>(dram.row->n);
  const double apart = std::max({cycles("faw") / 4 / refreshes.of_rank, cycles("rrd_s") / refreshes.of_rank,
                                 cycles("rc") / rows.banks / refreshes.of_bank});
  // An activate and a precharge pass the command bus that pseudo-channels share, and a column where rows lack their
  // own.
  const double activate = dram.activate_command ? static_cast<double>(dram.activate_command->n) : 1;
  const double bus = static_cast<double>(dram.pseudo_channels) * (activate + 1 + (dram.dual_command_bus ? 0 : 1));
  rows.commands_of_activate = activate + 1;
  rows.activates_per_us = channel_mhz / std::max(apart, bus);
  return rows;
}

namespace {

// Rows opened for each byte, where neighbouring bytes come at one time as far as they lie in one `together`.
double alone_per_byte(const tile::Operand& operand, const tile::Extents& moment, const tile::Extents& together,
                      const DramRows& rows) {
  tile::Runs runs = tile::runs_of(operand, together);
  if (operand.gathered) {
    const std::int64_t run = gathered_run(operand, together);
    runs = {base::ceil_div(runs.count * runs.length, run), run, 1};
  }
  const double parts = static_cast<double>(tile::data_tile_elements(operand, moment)) /
                       static_cast<double>(tile::data_tile_elements(operand, together));
  const double run_bytes =
      std::max(rows.granule_bytes, static_cast<double>(((runs.length - 1) * runs.stride + 1) * operand.element.n));
  // Lines that follow each other lie in different channels, and come back to a channel's row until that is full.
  const double lines = std::ceil(run_bytes / rows.line_bytes);
  const double of_run = lines <= rows.channels
                            ? lines
                            : rows.channels * std::ceil(lines * rows.line_bytes / (rows.row_bytes * rows.channels));
  const double in_flight = parts * static_cast<double>(runs.count) * of_run;
  const double reopened = 1 - std::exp(-(in_flight - 1) / (rows.channels * rows.banks));
  return std::max(of_run * reopened / run_bytes, 1 / rows.row_bytes);
}

}  // namespace

double activates_per_byte(const tile::Operand& operand, const tile::Extents& moment, const tile::Extents& together,
                          double sorted, const DramRows& rows) {
  const double apart = alone_per_byte(operand, moment, together, rows);
  if (sorted <= 0 || together == moment) return apart;
  const double at_once = alone_per_byte(operand, moment, moment, rows);
  return 1 / ((1 - sorted) / apart + sorted / std::min(apart, at_once));
}

double written_back_per_byte(const tile::Operand& output, const tile::Extents& moment, const tile::Extents& together,
                             double sorted, const DramRows& rows) {
  const double in_order = activates_per_byte(output, moment, together, sorted, rows);
  return rows.written_back_bytes ? std::max(in_order, 1 / *rows.written_back_bytes) : in_order;
}

double sorted_share(double moment_bytes, const DramRows& rows) {
  const double waiting = moment_bytes / rows.line_bytes / rows.channels;
  return waiting <= rows.queued ? 1 : rows.queued / waiting;
}

// What is merged is written to the row that it was read from; what is fetched leaves that row meanwhile.
double activates_of(const DeviceTraffic& t) {
  return t.dram.read * t.activates_per_byte.read +
         (t.dram.written + t.fetched_for_stores) * t.activates_per_byte.written;
}

double least_command_time_us(const DeviceTraffic& t, const Machine& m) {
  const DramRows& rows = m.dram_rows;
  const double activates = rows.activates_per_us ? activates_of(t) : 0;
  const double bursts = t.dram_bytes() / static_cast<double>(m.burst_bytes);
  double us = 0;
  if (activates > 0) us = activates / *rows.activates_per_us;
  if (rows.bursts_per_us) us = std::max(us, bursts / *rows.bursts_per_us);
  if (rows.commands_per_us) us = std::max(us, (bursts + activates * rows.commands_of_activate) / *rows.commands_per_us);
  if (rows.between_refreshes < 1) us = std::max(us, t.dram_bytes() / m.dram_bytes_per_us / rows.between_refreshes);
  return us;
}

}  // namespace tilescope::model
