// SPDX-License-Identifier: Apache-2.0
#pragma once
// One core of a GPU: its units, and the blocks that are resident on it. It runs when a warp can go on; what it asks of
// memory stands in an outbox until the GPU hands it over.
//
// Spills are accesses of the kernel (spills.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/gpu/detail/core_cache.h"
#include "sim/gpu/detail/core_ports.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/fast_forward.h"
#include "sim/gpu/detail/front_end.h"
#include "sim/gpu/detail/functional_warming.h"
#include "sim/gpu/detail/load_store_unit.h"
#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/occupancy.h"
#include "sim/gpu/detail/part_requests.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/tma_engine.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/gpu/sampling_units.h"

namespace tilescope::sim {

class Core {
 public:
  Core(int number, const Machine& machine);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Makes ready for the blocks of one kernel; nothing is resident.
  void prepare(WarpCode& code, const Occupancy& occupancy, Statistics& statistics);
  bool has_room() const { return resident_ < capacity(); }
  std::int64_t capacity() const { return std::ssize(warps_.blocks()); }
  // Since when there has been room: the end of the block whose place the next one takes, `now` where it had none.
  Cycle room_since(Cycle now) const;
  // A block takes the place of one that has ended, or one that is still empty, once the chip has handed it out.
  // `skipped` cycles were left out before. Returns its place.
  int start(std::int64_t block, Cycle now, Cycle handed_out, Cycle skipped);

  // The block of a place is one of a cluster, with these others.
  void join_cluster(int place, std::int64_t cluster, std::vector<ClusterBlock> peers);
  // Hears of what happened by then in another block of a cluster.
  void hear(const ClusterMessage& m);
  // Blocks of clusters that ended since the last call, which keep their places until `release`.
  struct Ended {
    int place = 0;
    std::int64_t cluster = 0;
    Cycle at{};
  };
  std::vector<Ended> take_ended() { return std::exchange(ended_, {}); }
  void release(int place, Cycle at);

  // Does all that is due before `until`.
  void run(Cycle until);
  // When something is due next.
  std::optional<Cycle> next() const { return warps_.next(); }
  // What it asks of memory; replies come to `reply`.
  LoadStoreUnit& memory() { return memory_; }
  const LoadStoreUnit& memory() const { return memory_; }
  void reply(const MemoryReply& r) { memory_.reply(r, ran_until_); }
  // Of a part of a chip: the copies of the kernel that the outbox's requests are of, until the next run.
  const std::vector<int>& take_copies() { return part_->take_copies(); }

  // Blocks that ended since the last call, the sums of when they did and of their stamps (when their places became
  // free, with what had been left out), and when the last one did.
  struct Finished {
    std::int64_t blocks = 0;
    Cycle ends{}, stamps{}, last{};
  };
  Finished take_finished() { return std::exchange(finished_, {}); }
  // Why blocks do not end although nothing is due; nothing where none is to be seen.
  std::optional<std::string> stuck() const;

  // Tells what its blocks, warps and units do from now on. Ports' bookings are told by `show`, those before `until`.
  void watch(Timeline& timeline) { record_.timeline = &timeline; }
  void show(Cycle until) const;

  // What is resident, whose progress is asked for and which jumps (step_jumps.h); its messages to other cores.
  ResidentWarps& warps() { return warps_; }
  const ResidentWarps& warps() const { return warps_; }
  // Loads into the caches what the warps of one place would touch in one of the skipped steps. Called before they jump.
  void warm_caches(std::size_t place, const SkippedSteps& skipped, std::int64_t step, DeviceMemory& memory);

 private:
  PartRequests* part() { return part_ ? &*part_ : nullptr; }
  void launch(std::size_t place, std::int64_t block, Cycle since, Cycle first);
  void end_block(int place, Cycle at);

  CoreRecord record_;
  WarpCode* code_ = nullptr;
  ResidentWarps warps_;
  CorePorts ports_;
  CoreCache cache_;
  LoadStoreUnit memory_;
  std::optional<PartRequests> part_;  // of a part of a chip
  TmaEngine tma_;
  FrontEnd front_end_;
  std::optional<FunctionalWarming> warming_;
  std::int64_t resident_ = 0;
  Finished finished_;
  std::vector<Ended> ended_;
  Cycle ran_until_{};
  Cycle launched_{};  // when the latest warp was
};

}  // namespace tilescope::sim
