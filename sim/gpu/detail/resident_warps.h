// SPDX-License-Identifier: Apache-2.0
#pragma once
// The blocks that are resident on a core, their warps, and what is due next. Units of the core say by this when a warp
// may go on; the front end runs it then.

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "sim/gpu/detail/cluster_messages.h"
#include "sim/gpu/detail/mbarriers.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/statistics.h"

namespace tilescope::sim {

// Accesses that are waited for together.
struct InFlight {
  int pending = 0;  // replies whose time is not known yet
  Cycle ready{};    // of those that are
  Stall from = Stall::kL2;

  void arrive(Cycle at, Stall where) {
    if (at > ready) ready = at, from = where;
  }
};

struct Warp {
  enum class State : std::uint8_t {
    kRuns,
    kWaitsForLoads,
    kWaitsForCopies,
    kWaitsForMisses,
    kAtBarrier,
    kWaitsForMbarrier,
    kWaitsForStores,
    kIsLaunched,
    kEnded
  };

  int block = 0;            // its place on the core
  std::int64_t number = 0;  // in its block
  int partition = 0;
  State state = State::kEnded;
  int pc = 0;
  Uniforms uniforms;
  Cycle since{};  // its time is accounted for up to here
  LoadGroups waits_for = 0;
  std::int64_t waits_until = 0;   // number of copy groups
  std::vector<InFlight> loads;    // by group
  std::vector<InFlight> copies;   // groups not yet waited for, the open one last
  std::int64_t copies_begin = 0;  // number of the first of them
  std::int64_t pieces_left = 0;   // of a long segment
  Cycle wgmma_end{};              // of those that run by themselves
  Cycle tensor_end{};             // of those that it issued for its block
  int mbarrier = 0;               // that it waits for
  std::int64_t phase = 0;         // of it, as the block ran them
  bool in_steps = false;
  bool queued = false;  // an event of its own is pending

  // The number of its group of copies that is open.
  std::int64_t open_copies() const { return copies_begin + static_cast<std::int64_t>(copies.size()) - 1; }
  // When all that the warp waits for has arrived, and what came last; nothing while that is not known.
  std::optional<InFlight> arrived() const;
};

struct ResidentBlock {
  bool resident = false;
  std::int64_t running = 0, at_barrier = 0;  // warps
  Cycle release{}, end{};                    // of the barrier; of the last warp that ended
  Cycle stamp{};                             // when its place became free, with what had been left out
  std::int64_t steps_begun = 0;
  BlockMbarriers mbarriers;
  std::int64_t boxes = 0;                // in flight
  std::int64_t cluster = -1;             // its number, where it has other blocks
  std::vector<ClusterBlock> peers = {};  // these
};

class ResidentWarps {
 public:
  struct Event {
    enum class Kind : std::uint8_t { kWarp, kBlock, kDone, kBoxes } kind{};
    Cycle at{};
    std::uint64_t order = 0;
    int who = 0;  // warp or place

    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  explicit ResidentWarps(std::int64_t partitions) : partitions_(static_cast<int>(partitions)) {}

  // Nothing is resident then.
  void prepare(std::int64_t places, std::int64_t warps_per_block);

  std::span<ResidentBlock> blocks() { return blocks_; }
  std::span<const ResidentBlock> blocks() const { return blocks_; }
  std::span<Warp> warps() { return warps_; }
  std::span<const Warp> warps() const { return warps_; }
  std::int64_t warps_per_block() const { return warps_per_block_; }
  std::int64_t partitions() const { return partitions_; }
  ResidentBlock& block(int place) { return blocks_[static_cast<std::size_t>(place)]; }
  std::span<Warp> warps_of(std::size_t place) {
    return warps().subspan(place * static_cast<std::size_t>(warps_per_block_),
                           static_cast<std::size_t>(warps_per_block_));
  }
  std::span<const Warp> warps_of(std::size_t place) const {
    return warps().subspan(place * static_cast<std::size_t>(warps_per_block_),
                           static_cast<std::size_t>(warps_per_block_));
  }
  Warp& warp(int number) { return warps_[static_cast<std::size_t>(number)]; }
  int number_of(const Warp& w) const { return static_cast<int>(&w - warps_.data()); }
  // The place whose block ended first, or that is still empty: the next block's.
  std::size_t next_place() const;
  // Gives the warps of a place to the partitions in turn.
  void deal_partitions(std::size_t place);

  void push(Event::Kind kind, Cycle at, int who) { events_.push({kind, at, events_pushed_++, who}); }
  void push(Warp& w, Cycle at) {
    w.queued = true;
    push(Event::Kind::kWarp, at, number_of(w));
  }
  // When something is due next.
  std::optional<Cycle> next() const { return events_.empty() ? std::nullopt : std::optional<Cycle>(events_.top().at); }
  bool due_before(Cycle t) const { return !events_.empty() && events_.top().at < t; }
  Event take() {
    const Event e = events_.top();
    events_.pop();
    return e;
  }

  // Loads or copies of the warp have arrived.
  void wake(int warp);
  // The phase of an mbarrier of the block may be over.
  void wake_waiting(int place, int mbarrier, std::int64_t phase);

  // The same message to all other blocks of a block's cluster.
  void tell_peers(int place, ClusterMessage m) {
    for (const ClusterBlock& peer : block(place).peers) {
      m.to = peer;
      to_peers_.push_back(m);
    }
  }
  // Messages since the last call to clear them, in order.
  std::vector<ClusterMessage>& to_peers() { return to_peers_; }

 private:
  int partitions_;
  std::vector<ResidentBlock> blocks_;
  std::vector<Warp> warps_;  // block by block
  std::int64_t warps_per_block_ = 1;
  int next_partition_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t events_pushed_ = 0;
  std::vector<ClusterMessage> to_peers_;
};

}  // namespace tilescope::sim
