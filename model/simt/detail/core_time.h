// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a core that runs waves of blocks: of one stage of their kernel.

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>
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

// What waves of a stage's blocks go through, each from their beginning to their end, and which queueing networks that
// asks about. The same on all chips whose cores have as many partitions, and that run the same waves.
struct Rounds {
  // What tells networks of one chip from each other, by lane.
  struct NetworkDemand {
    Lanes uneven;    // times its share that the busiest partition has of the warps
    Lanes share;     // of all cores that have such blocks
    Lanes last;      // 1 where no wave follows, else 0
    Lanes step;      // which of their steps: kFirstStep, ...
    Lanes launched;  // 1 where the wave begins with a launch of blocks
  };
  boost::container::small_vector<NetworkDemand, 2, std::allocator<NetworkDemand>>
      asked;  // aligned, as their lanes ask for it

  // From a wave's beginning, or where it begins anew what it does several times: it is the first wave only in the first
  // of these turns, and the last one in the last.
  struct Turn {
    std::size_t wave = 0;
    std::optional<std::size_t> first, step;  // networks, by lane of all: of its first step, and of any other
    bool last = false;
    double times = 1;
  };
  boost::container::small_vector<Turn, 24> turns;  // wave by wave
};
// Into `out`, which is empty: it is too large to be moved about.
void find_rounds(const Counts& c, double partitions, std::span<const Wave> waves, Rounds& out);

// A core that runs waves of blocks, of one stage of their kernel.
class CoreTime {
 public:
  CoreTime(const Counts& c, const BlockWork& work, const Traffic& traffic, const Machine& m);

  // By lane, beside the network: cycles that the core is busy with a step, that a round takes for which nothing else is
  // there, of a step's use, and of stores; of persistent blocks, that the core's own resources are busy with a step,
  // and with all of a tile.
  struct Steps {
    Lanes core, alone, use, store, own, tile;
  };
  // Where a core's questions are among those of the networks, in the order of turns, in each its first step before any
  // other; and what its steps have beside.
  struct Questions {
    std::size_t first = 0;
    boost::container::small_vector<Steps, 2, std::allocator<Steps>> steps;
  };
  void ask(const Rounds& rounds, std::span<const Wave> waves, Networks& networks, Questions& out) const;
  // Adds the cycles until the blocks of each wave are done, from the answers.
  void add_cycles(const Rounds& rounds, std::span<const Wave> waves, const Questions& questions,
                  const Networks& networks, std::span<double> cycles) const;

 private:
  // A core's share of what all cores share, in its own cycles, for one step of one block: the device's caches, then
  // DRAM.
  using Shared = base::FixedVector<double, arch::kMaxDeviceCaches + 1>;

  void lay_out(const Rounds::NetworkDemand& asked, NetworkLanes& networks, Steps& steps) const;
  // Cycles of a further tile of persistent blocks, of which `supplied` are those of a step that the ring's filling
  // takes.
  double further_tile(double blocks, double supplied, const Steps& s, std::size_t lane) const;
  int customers(const Wave& wave) const { return static_cast<int>(wave.blocks * apart_); }

  Phase load_, compute_, step_, store_;  // `step_`: load and compute
  double stages_, steps_;
  // A producer warp fills a ring of stages: what it asks for flows through link, caches and scratchpad at the pace of
  // the slowest, and each step takes as long as the one before, so that a full ring never leaves that one idle.
  bool streams_ = false;
  // Persistent blocks go on from tile to tile, so that the ring is filled once, in the first one; nothing of other
  // blocks.
  double crews_ = 0;
  Phase tile_;        // of persistent blocks: all steps and the stores
  double apart_ = 1;  // warps of a block that meet at no barrier: each goes its own way, as a customer of its own
  double block_launch_cycles_ = 0;
  double staged_wait_cycles_ = 0, direct_wait_cycles_ = 0;  // for memory, of a block in a step
  double first_wait_cycles_ = 0;                            // by which it waits longer in the kernel's first one
  double compute_latency_cycles_, sharing_latency_cycles_;
  Shared everything_, reads_, writes_;
};

}  // namespace tilescope::model
