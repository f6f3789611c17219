// SPDX-License-Identifier: Apache-2.0
#pragma once
// One core of a GPU: resident blocks, their warps, the partitions' units, the scratchpad's port, the core's cache. It
// runs when a warp can go on; what it asks of memory stands in its outbox until the GPU hands it over.
//
// A segment takes issue slots and pipes when it begins, each from when it is free, and ends when the slowest of them,
// of scratchpad and longest chain does. Loads, stores and addresses are issued past segments that wait for pipes, as a
// scheduler would between two of their instructions.
//
// An access waits while as many lines are under way as the core can have, even if it would hit.
//
// The core's TMA engine copies boxes one after the other and requests one line
// every `core.tma.line_interval`. Its lines bypass the core's cache and its limit of lines
// under way; as they arrive they fill the scratchpad in whole passes.
//
// Ignores: order of warps within a partition beyond first come first served, register banks, the instruction cache,
// replays. Spills are accesses of the kernel (spills.h).

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/gpu/detail/fast_forward.h"
#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/mbarriers.h"
#include "sim/gpu/detail/occupancy.h"
#include "sim/gpu/detail/reply_pairs.h"
#include "sim/gpu/detail/shadow_blocks.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/gpu/sampling_units.h"
#include "sim/memory/detail/chains.h"
#include "sim/memory/detail/sector_cache.h"

namespace tilescope::sim {

class Timeline;

class Core {
 public:
  Core(int number, const Machine& machine);

  // Makes ready for the blocks of one kernel; nothing is resident.
  void prepare(WarpCode& code, const Occupancy& occupancy, Statistics& statistics);
  bool has_room() const { return resident_ < static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t capacity() const { return static_cast<std::int64_t>(blocks_.size()); }
  // Since when there has been room: the end of the block whose place the next one takes, `now` where it had none.
  Cycle room_since(Cycle now) const;
  // A block takes the place of one that has ended, or one that is still empty, once the chip has handed it out.
  // `skipped` cycles were left out before.
  void start(std::int64_t block, Cycle now, Cycle handed_out, Cycle skipped);

  // Does all that is due before `until`.
  void run(Cycle until);
  // When something is due next.
  std::optional<Cycle> next() const;
  void reply(const MemoryReply& r);
  // Say that a reply will come soon, and very soon.
  void expect(int ticket) const { __builtin_prefetch(&misses_[static_cast<std::size_t>(ticket)]); }
  void expect_now(int ticket) const { __builtin_prefetch(misses_[static_cast<std::size_t>(ticket)].fills); }

  // Requests since the last call to clear it, in order.
  std::vector<MemoryRequest>& outbox() { return outbox_; }
  // Of a part of a chip: the copies of the kernel that these are requests of, until the next run.
  const std::vector<int>& take_copies() {
    taken_copies_.clear();
    taken_copies_.swap(copies_);
    return taken_copies_;
  }
  // Blocks that ended since the last call, the sums of when they did and of their stamps (when their places became
  // free, with what had been left out), and when the last one did.
  struct Finished {
    std::int64_t blocks = 0;
    Cycle ends{}, stamps{}, last{};
  };
  Finished take_finished() { return std::exchange(finished_, {}); }
  std::int64_t resident() const { return resident_; }
  // When the last store of this kernel that is known of was accepted; blocks end without waiting for theirs.
  Cycle stored() const { return stored_; }
  // Why blocks do not end although nothing is due; nothing where none is to be seen.
  std::optional<std::string> stuck() const;
  // Requests that wait for a reply.
  std::int64_t outstanding() const { return std::ssize(misses_) - std::ssize(free_misses_); }

  // Tells what its blocks, warps and units do from now on. Ports' bookings are told by `show`, those before `until`.
  void watch(Timeline& timeline) { timeline_ = &timeline; }
  void show(Cycle until) const;

  // How far the warps of every CTA slot are in the loop over steps; added to `out`.
  void progress(std::vector<StepProgress>& out) const;
  // The warps of every CTA slot, in that order, jump; returns what is left of the list. `started`: places of the blocks
  // that started here meanwhile, in that order.
  std::span<const StepJump> jump(std::span<const StepJump> jumps, std::span<const std::size_t> started);
  // Loads into the caches what the warps of one place would touch in one of the skipped steps. Called before they jump.
  void warm_caches(std::size_t place, const SkippedSteps& skipped, std::int64_t step, DeviceMemory& memory);

 private:
  struct InFlight {
    int pending = 0;  // replies whose time is not known yet
    Cycle ready{};    // of those that are
    Stall from = Stall::kL2;
  };
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
  struct Warp {
    int block = 0;
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
    int mbarrier = 0;               // that it waits for
    std::int64_t phase = 0;         // of it, as the block ran them
    bool in_steps = false;
    bool queued = false;  // an event of its own is under way
  };
  struct Block {
    bool resident = false;
    std::int64_t running = 0, at_barrier = 0;
    Cycle release{}, end{};
    Cycle stamp{};
    std::int64_t steps_begun = 0;
    BlockMbarriers mbarriers;
    std::int64_t boxes = 0;  // under way
  };
  // A box on its way to the scratchpad, or to memory.
  struct Box {
    int block = 0, mbarrier = 0;
    std::int64_t phase = 0;              // as the block ran them
    std::int64_t bytes = 0, landed = 0;  // whole, and there
    std::vector<BoxLine> lines;
    std::size_t asked = 0;  // of the lines
    int stores_for = -1;    // warp that waits until the scratchpad is read; -1 of a load
    int copy = 0;
    std::vector<std::vector<BoxLine>> shadows = {};  // lines of shadow blocks
  };
  struct Waiter {
    enum class Kind : std::uint8_t { kLoad, kCopy, kStore, kBox, kStoredLine } kind{};
    int who = 0;              // warp or box; no warp waits for a store
    std::int64_t group = 0;   // kBox: bytes of the line
    std::int64_t passes = 0;  // of the scratchpad, when a copy arrives
    int times = 1;            // that it is waited for

    bool same(const Waiter& o) const { return kind == o.kind && who == o.who && group == o.group; }
  };
  struct Miss {
    SectorCache::Line* fills = nullptr;  // of the core's cache
    std::int64_t number = 0;             // of all that were begun; kNotCounted of a box's
    Waiter first;
    Chain others;
  };
  struct Event {
    enum class Kind : std::uint8_t { kWarp, kBlock, kDone, kBoxes } kind{};
    Cycle at{};
    std::uint64_t order = 0;
    int who = 0;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  // The warps of a place to the partitions in turn.
  std::vector<Block>::const_iterator next_place() const;
  void deal_partitions(std::size_t place);
  void push(Event::Kind kind, Cycle at, int who);
  void push(Warp& w, Cycle at);
  void resume(Warp& w, Cycle now, Cycle until);
  // One operation at `t`; returns when the warp goes on, or nothing where something else wakes it.
  std::optional<Cycle> step(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> run_segment(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> begin_wgmma(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> wait_for_wgmma(Warp& w, Cycle t);
  std::optional<Cycle> run_access(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> run_loop(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> reach_barrier(Warp& w, Cycle t);
  std::optional<Cycle> end(Warp& w, Cycle t);

  // sim/gpu/core_mbarriers.cc
  Block& block_of(const Warp& w);
  std::int64_t ran_phase(const Warp& w, const WarpOp& op);
  std::optional<Cycle> await(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> arrive(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> ask_for_box(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> store_box(Warp& w, const WarpOp& op, Cycle t);
  // Queues the box's lines for the engine and counts what it moves; returns the box's number.
  int queue_box(Box box, const WarpOp& op, Cycle at);
  void count_box(const Box& b, const WarpOp& op);
  void wait_for_mbarrier(Warp& w, int mbarrier, std::int64_t phase);
  std::nullopt_t stop(Warp& w, int mbarrier, std::int64_t phase);
  void wake_waiting(int block, int mbarrier, std::int64_t phase);
  void ask_for_lines(Cycle from, Cycle until);
  // Bytes of a TMA load have arrived.
  void land(int box, std::int64_t bytes, Cycle at, Stall from);

  Cycle segment(Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle t);
  // Of the issue slots and pipes that a piece of work takes, when the one that is held longest begins, and the last is
  // done; `beside`: were there nothing but what computes nothing. In kCycleParts.
  struct PipeReservation {
    std::int64_t begin = 0, end = 0, beside = 0, longest = 0;
  };
  PipeReservation take_pipes(const Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle from);
  void show_issue(const Warp& w, std::int64_t parts) const;
  // Instructions, pipes and operations of a segment.
  void count(const SegmentCost& c);
  Cycle issue_one(const Warp& w, Cycle t);
  Cycle access_port(const AccessPattern& p, bool asynchronous, std::int64_t line, Cycle t);
  void load_line(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool cached, Cycle at);
  void store_line(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, const Written& written, Cycle at);
  void request(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool write, SectorCache::Line* fills,
               Cycle at);
  void wait_too(Miss& m, const Waiter& waiter);
  InFlight& in_flight(const Waiter& w);
  std::uint32_t own_sectors(std::uint32_t sectors) const;
  void warm_caches(const Warp& w, bool from_begin, bool to_end, DeviceMemory& memory);
  void warm_box(const WarpOp& op, const Uniforms& u, DeviceMemory& memory);

  // Of a part of a chip, sim/gpu/core_part.cc. Visits the uniforms of the shadow blocks of the block whose `u` are.
  template <class Visit>
  void visit_shadows(const Uniforms& u, Visit visit) {
    const std::int64_t runs = u[lower::kBlockIndex];
    const BlockGroups::Group group = code_->groups()->group_of(runs);
    for (std::int64_t block = group.first; block < group.end; block += group.stride) {
      if (block == runs) continue;
      become_shadow(block, u);
      visit(shadow_);
    }
  }
  void become_shadow(std::int64_t block, const Uniforms& u) {
    shadow_ = u;
    code_->indices().set(shadow_, lower::kBlockIndex, block);
  }
  // What the outbox has from `first` on, asked for by an access, becomes what is sampled of what its group asks for.
  void sample_access(const Warp& w, const WarpOp& op, const AccessPatterns::Found& found, std::size_t first);
  // Likewise the outbox's last request, the box's n-th line.
  void sample_box_line(const Box& b, std::size_t n);
  void send_sampled(MemoryRequest r, int copy);
  void sample_orphans(const Warp& w, const WarpOp& op, Cycle at);
  std::vector<std::vector<BoxLine>> shadow_boxes(const Warp& w, const WarpOp& op);
  void touch_shadows(const Warp& w, const WarpOp& op, DeviceMemory& memory);
  // Where it is not sampled, nothing.
  void touch_device(DeviceMemory& memory, std::int64_t line, std::uint32_t sectors, bool write, const Written& written);
  void touch(const Warp& w, const WarpOp& op, DeviceMemory& memory);

  std::optional<Cycle> wait_for_loads(Warp& w, LoadGroups groups, Cycle t);
  std::optional<Cycle> wait_for_copies(Warp& w, std::int64_t until, Cycle t);
  // When all that the warp waits for has arrived, and what came last; nothing while that is not known.
  std::optional<InFlight> arrived(const Warp& w) const;
  void wake(int warp);
  void complete(const Waiter& w, Cycle at, Stall from);
  // Whether as many lines are under way as can be: then the warp comes back to the same operation.
  bool waits_for_a_miss(Warp& w, Cycle t);
  void wake_one_for_a_miss(Cycle from);
  Cycle& end_of_miss(std::int64_t number) {
    return ends_of_misses_[static_cast<std::size_t>(number) % ends_of_misses_.size()];
  }
  void count_stall(Warp& w, Stall why, Cycle until);

  int number_;
  const Machine& machine_;
  WarpCode* code_ = nullptr;
  Statistics* statistics_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<Warp> warps_;  // block by block
  std::int64_t warps_per_block_ = 1, resident_ = 0;
  Finished finished_;
  int next_partition_ = 0;
  Cycle ran_until_{};
  Cycle launched_{};  // when the latest warp was
  Cycle stored_{};    // when the latest store was accepted

  std::vector<std::int64_t> issue_free_;  // by partition, in kCycleParts
  std::vector<PipeParts> pipes_free_;     // likewise
  std::vector<PipeParts> beside_free_;    // of what computes nothing, alone
  ReservationTable scratchpad_, cache_port_, memory_lanes_, own_scratchpad_lanes_;
  Cycle copies_free_{};  // when the next asynchronous copy may begin
  SectorCache cache_{CacheSpec{}};
  std::vector<Miss> misses_;
  Chains<Waiter> others_;  // of misses
  std::vector<int> free_misses_;
  static constexpr Cycle kNotKnown = Cycle::max();
  static constexpr std::int64_t kNotCounted = -1;
  std::vector<Cycle> ends_of_misses_;  // of the latest, by number; none where any number may be under way
  std::int64_t misses_begun_ = 0;
  std::deque<int> wait_for_misses_;  // warps, in the order in which they came
  Stall last_from_ = Stall::kL2;     // of the reply that came last
  std::vector<Box> boxes_;
  std::vector<int> free_boxes_;
  std::deque<int> queued_boxes_;  // some of whose lines the TMA engine has not asked for yet
  Cycle tma_free_{};
  std::vector<MemoryRequest> outbox_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t events_pushed_ = 0;
  Timeline* timeline_ = nullptr;               // where one is recorded
  Uniforms warmed_;                            // of the warp for whose steps caches are warmed
  std::vector<std::uint32_t> warmed_sectors_;  // of the lines that an access of it touches
  // Of a part of a chip:
  std::optional<SampledLines> sampled_;
  std::vector<int> copies_, taken_copies_;  // of the kernel, by request of the outbox
  Uniforms shadow_;                         // of a shadow block
  std::optional<ShadowBlocks> shadows_;
  struct CacheAccess {
    MemoryRequest request;
    std::size_t touch = 0;
    std::uint32_t touched = 0;  // sectors, whether the core's cache has them or not
  };
  struct Misses {
    std::int64_t touched = 0, missed = 0;  // lines, by the core's cache
    std::int64_t owed = 0;                 // lines by `touched`, of shadow blocks whose fellow touches nothing
  };
  std::vector<Misses> missed_by_;      // by copy
  std::vector<CacheAccess> accesses_;  // by an access
};

}  // namespace tilescope::sim
