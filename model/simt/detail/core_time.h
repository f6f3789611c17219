// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a core that runs waves of blocks: of one stage of their kernel.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <optional>

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

class CoreTime {
 public:
  CoreTime(const Counts& c, const BlockWork& work, const Traffic& traffic, const Machine& m);

  // What waves ask of queueing networks, so that many waves' questions are answered together; how long the answer to
  // each lasts at least: the busiest of a core's resources, and a round for which nothing else is there.
  struct Rounds {
    Networks networks;
    boost::container::small_vector<double, 32> least;

    // Of a question that is answered.
    double cycles(std::size_t question) const { return std::max(networks.cycles(question), least[question]); }
  };
  // A wave's rounds, as places of their questions: of its first step, and of any other. What it does several times it
  // begins anew each time; the wave is the first one only in the first of them, and the last one in the last.
  struct Once {
    std::optional<std::size_t> first = {}, step = {};
    double times = 1, use = 0, stores_after = 0;
  };
  using Planned = base::FixedVector<Once, 3>;
  // `since`: from where on networks may be those of other waves of this stage.
  Planned plan(const Wave& w, Rounds& rounds, std::size_t since) const;
  // Cycles until the blocks of the wave are done, from the answers to all questions.
  double cycles_of(const Planned& planned, const Rounds& rounds) const;

 private:
  Once once(const Wave& w, double block_launch_cycles, double times, Rounds& rounds, std::size_t since) const;
  // Warps stay on their partition: where they do not divide, the busiest one has so many times its share.
  double unevenness(double blocks) const;

  // A core's share of what all cores share, in its own cycles, for one step of one block: the device's caches, then
  // DRAM.
  using Shared = base::FixedVector<double, arch::kMaxDeviceCaches + 1>;

  const BlockWork& work_;
  Phase load_, compute_, step_, store_;  // `step_`: load and compute
  double partitions_, steps_, repeats_, block_launch_cycles_ = 0, warps_ = 1;
  double staged_wait_cycles_ = 0, direct_wait_cycles_ = 0;  // for memory, of a block in a step
  double first_wait_cycles_ = 0;                            // by which it waits longer in the kernel's first one
  int stages_;
  Shared everything_, reads_, writes_;
};

}  // namespace tilescope::model
