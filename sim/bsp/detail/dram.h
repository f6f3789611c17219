// SPDX-License-Identifier: Apache-2.0
#pragma once
// A DRAM whose channels are ports of a mesh. All that an exchange reads is asked for as it begins, in turn for the
// groups of receivers, and goes into the mesh as it is read; what the exchange writes the channels take as it arrives.
//
// Ignores: the way of requests, which the level's latency has; that a port which cannot send holds up its channel.

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "sim/bsp/detail/exchange.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"
#include "sim/memory/clock_ratio.h"
#include "sim/memory/detail/address_map.h"
#include "sim/memory/dram.h"

namespace tilescope::sim::bsp {

class Dram {
 public:
  explicit Dram(const arch::ArchSpec& a);

  // Reads what the exchange's transfers from channels carry, from `now` on: when all of each is there, by transfer.
  std::vector<Cycle> read(const Exchange& e, Cycle now);
  // Writes what came to channels, with the instants at which it did, by transfer; when the last of it is written.
  Cycle write(const Exchange& e, const std::vector<std::pair<Cycle, std::size_t>>& arrived);

  // What the busiest channel's bus takes for an exchange's bursts, counted and not scheduled.
  Cycle busiest(const Exchange& e) const;
  LevelStatistics counted(const Exchange& e) const;

  // What channels did since the last call.
  LevelStatistics take_statistics() { return std::exchange(statistics_, {}); }
  // Refreshes that are due by then since time zero.
  std::int64_t refreshes(Cycle until) const;

 private:
  static std::int64_t bursts_of(const DramAccess& a, std::int64_t burst) {
    return (a.address + a.bytes + burst - 1) / burst - a.address / burst;
  }
  void push(const Exchange& e, std::size_t transfer, std::int64_t channel, bool write, Cycle at);
  // Until all is served; calls done() with each transfer that is, and when.
  template <class Done>
  void serve(Done done);

  std::int64_t cores_, burst_, row_;
  ClockRatio clocks_;  // of the DRAM to the cores'
  Clock of_burst_ = 1_nck;
  Cycle rest_{};    // of the latency, that no part of a channel takes
  AddressMap map_;  // of one channel
  std::deque<DramChannel> channels_;
  std::vector<std::int64_t> left_;  // requests under way, by transfer
  std::vector<DramServed> served_;
  LevelStatistics statistics_;
};

}  // namespace tilescope::sim::bsp
