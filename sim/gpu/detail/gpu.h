// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole GPU without its clock: cores, the memory behind them, the scheduler of blocks. The owner of the clock runs
// the cores that are due, then settles the instant: requests in the order of cores, replies, blocks to cores as others
// end, jumps. Nothing depends on the order in which cores ran within an instant.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/gpu/detail/block_rate.h"
#include "sim/gpu/detail/core.h"
#include "sim/gpu/detail/due_cores.h"
#include "sim/gpu/detail/reply_pairs.h"
#include "sim/gpu/detail/sampler.h"

namespace tilescope::sim {

class Gpu {
 public:
  // Of kernels of at most so many blocks, so that no more cores are ever used. Tells the timeline what happens, where
  // there is one.
  Gpu(const Machine& machine, std::int64_t max_blocks, double tolerance, Timeline* timeline = nullptr);

  // Begins a kernel whose blocks start at `now`, the beginning of a turn; all tensors take `footprint` bytes.
  void begin(WarpCode& code, const Occupancy& occupancy, Statistics& statistics, bool sampled, std::int64_t footprint,
             Cycle now);
  Core& core(int number) { return cores_[static_cast<std::size_t>(number)]; }
  // Those that blocks may run on.
  int cores() const { return static_cast<int>(cores_.size()); }

  // Cycles of a turn, and the beginning of the one that holds a cycle.
  Cycle turn() const { return turn_; }
  Cycle turn_of(Cycle at) const { return at / turn_ * turn_; }
  // Everything that cores asked for in the turn that ends at `end`. `ran` are the cores that did something; those that
  // are due anew join it.
  void settle(Cycle end, std::vector<int>& ran);
  // Tells the timeline what it does not know yet of the time before `until`.
  void show(Cycle until);
  // When the memory next has something to decide.
  std::optional<Cycle> memory_next() const { return memory_->next(); }
  // Refreshes of the DRAM that are due by then since time zero; 0 where caches or the DRAM are a user's.
  std::int64_t dram_refreshes(Cycle until) const;

  // Of the kernel that ran last.
  Cycle end() const;
  const Sampler& sampler() const { return *sampler_; }
  bool done() const { return next_block_ == blocks_ && resident_blocks_ == 0; }
  // Why blocks do not end although nothing is due, as far as their cores see it.
  std::optional<std::string> stuck() const;

 private:
  void take_requests(Cycle end, const std::vector<int>& ran);
  void take_finished(Cycle end, const std::vector<int>& ran);
  void tell_clusters(Cycle end, const std::vector<int>& ran);
  void take_ended_clusters(std::vector<int>& ran);
  void dispatch(Cycle now);
  void start_blocks(Cycle now);
  void start_clusters(Cycle now);
  void sample(Cycle now);
  void warm(const FastForward& t);
  void jump(const FastForward& t);

  const Machine& machine_;
  double tolerance_;
  Timeline* timeline_;
  std::unique_ptr<MemorySystem> memory_;
  DeviceMemory* own_;  // which that is, where it is no user's
  Cycle turn_;
  std::deque<Core> cores_;
  const WarpCode* code_ = nullptr;
  Statistics* statistics_ = nullptr;
  std::optional<Sampler> sampler_;
  DueCores due_;            // anew in this turn
  std::vector<int> roomy_;  // cores with a free CTA slot while blocks wait for one, in order
  std::vector<MemoryRequest> requests_;
  std::vector<MemoryReply> replies_;
  std::optional<ReplyPairs> pairs_;  // of a part of a chip
  std::vector<MemoryReply> unserved_;
  BlockRate rate_;
  // Blocks of a cluster that have ended and keep their places until all of it have.
  struct EndedCluster {
    std::vector<ClusterBlock> blocks;
    Cycle last{};
  };
  std::map<std::int64_t, EndedCluster> ended_;  // by the cluster's number
  std::int64_t cluster_ = 1;                    // blocks of one
  std::int64_t blocks_ = 0, next_block_ = 0, resident_blocks_ = 0, warps_per_block_ = 1;
  std::int64_t footprint_ = 0;  // bytes of all tensors
  Cycle end_{};
};

}  // namespace tilescope::sim
