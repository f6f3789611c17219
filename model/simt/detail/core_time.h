// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a core that runs waves of blocks: of one stage of their kernel.

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <optional>
#include <span>

#include "base/fixed_vector.h"
#include "model/common/detail/networks.h"
#include "model/simt/counts.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// As long as the busiest of its parts: its ports, or what bounds it beside them.
double device_cache_time_us(const DeviceTraffic& t, const Machine& m, std::size_t cache);
// DRAM reads and writes that alternate cost turnarounds: the mixed part runs at the copy's efficiency. No less than its
// rows or translations take.
double dram_time_us(const DeviceTraffic& t, const Machine& m);

// Blocks that run side by side on every core.
struct Wave {
  double blocks = 0;                // of a core
  double share = 1;                 // of all cores that have them
  bool first = true, last = false;  // of the kernel
};

// A core that runs waves of blocks, of one stage of their kernel.
class CoreTime {
 public:
  CoreTime(const Counts& c, const BlockWork& work, const Traffic& traffic, const Machine& m);

  // A question to a queueing network, and how long the answer lasts at least: the busiest of a core's resources, and a
  // round for which nothing else is there.
  struct Round {
    std::size_t question = 0;
    double least = 0;
  };
  // What a wave does, from its blocks' beginning to its end: its first step, and any other. What it does several times
  // it begins anew each time; the wave is the first one only in the first of these turns, and the last one in the last.
  struct Turn {
    std::size_t wave = 0;
    std::optional<Round> first, step;
    bool last = false;
    double times = 1, use = 0, stores_after = 0;
  };
  using Turns = boost::container::small_vector<Turn, 24>;
  // What the waves do, wave by wave; it asks the networks.
  Turns plan(std::span<const Wave> waves, Networks& networks) const;
  // Adds the cycles until the blocks of each wave are done, from the answers to all questions.
  void add_cycles(const Turns& turns, const Networks& networks, std::span<double> cycles) const;

 private:
  // A core's share of what all cores share, in its own cycles, for one step of one block: the device's caches, then
  // DRAM.
  using Shared = base::FixedVector<double, arch::kMaxDeviceCaches + 1>;
  // What each step, or several, of waves ask of a network, and what networks follow from that, in the lanes of vectors.
  struct Asked;
  struct Steps;
  void lay_out(const Asked& asked, NetworkLanes& networks, Steps& steps) const;

  double cycles_of(const Turn& turn, const Networks& networks) const;

  Phase load_, compute_, step_, store_;  // `step_`: load and compute
  double partitions_, stages_, steps_, repeats_, warps_;
  double apart_ = 1;  // warps of a block that meet at no barrier: each goes its own way, as a customer of its own
  double block_launch_cycles_ = 0;
  double staged_wait_cycles_ = 0, direct_wait_cycles_ = 0;  // for memory, of a block in a step
  double first_wait_cycles_ = 0;                            // by which it waits longer in the kernel's first one
  double compute_latency_cycles_, sharing_latency_cycles_;
  Shared everything_, reads_, writes_;
};

}  // namespace tilescope::model
