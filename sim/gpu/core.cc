// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/core.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "sim/timeline.h"

namespace tilescope::sim {

using Event = ResidentWarps::Event;

Core::Core(int number, const Machine& machine)
    : record_{.core = number, .machine = machine},
      warps_(machine.limits.partitions),
      ports_(machine),
      cache_(machine),
      memory_(record_, warps_, ports_, cache_),
      part_(machine.part ? std::optional<PartRequests>(std::in_place, number, *machine.part, memory_.outbox())
                         : std::nullopt),
      tma_(machine.line_interval, warps_, ports_, memory_, part()),
      front_end_(record_, warps_, ports_, memory_, tma_, part()) {
  memory_.connect(tma_);
}

void Core::prepare(WarpCode& code, const Occupancy& occupancy, Statistics& statistics) {
  base::check(resident_ == 0, "a core is prepared when nothing is resident on it");
  code_ = &code;
  record_.statistics = &statistics;
  launched_ = ran_until_ = 0_cycles;
  warps_.prepare(occupancy.blocks_per_core, occupancy.warps);
  ports_.prepare(code.fences_copies());
  cache_.prepare(occupancy.blocks_per_core * code.indices().kernel().shared_bytes);
  memory_.prepare();
  tma_.prepare();
  front_end_.prepare(code);
  if (part_) part_->prepare(code);
  warming_.emplace(record_.core, code, cache_, part());
}

// --- blocks

Cycle Core::room_since(Cycle now) const {
  const Cycle end = warps_.blocks()[warps_.next_place()].end;
  return end > 0_cycles ? end : now;
}

int Core::start(std::int64_t block, Cycle now, Cycle handed_out, Cycle skipped) {
  const std::size_t place = warps_.next_place();
  ResidentBlock& b = warps_.blocks()[place];
  // Its place is its own from when the block before it ended; the chip's `launch` holds what the first blocks wait for.
  const bool succeeds = b.end > 0_cycles;
  const Cycle since = succeeds ? b.end : now;
  const Cycle first =
      succeeds ? std::max(now, std::max(since, handed_out) + record_.machine.block_launch) : std::max(now, handed_out);
  b = {.resident = true,
       .running = warps_.warps_per_block(),
       .stamp = since + skipped,
       .steps_begun = b.steps_begun,
       .mbarriers = BlockMbarriers(code_->indices().kernel().mbarriers)};
  ++resident_;
  launch(place, block, since, first);
  return static_cast<int>(place);
}

void Core::join_cluster(int place, std::int64_t cluster, std::vector<ClusterBlock> peers) {
  warps_.block(place).cluster = cluster;
  warps_.block(place).peers = std::move(peers);
}

// A message for a phase that is not under way is a kernel's mistake, and warps that wait for it are found stuck.
void Core::hear(const ClusterMessage& m) {
  BlockMbarriers& mbarriers = warps_.block(m.to.place).mbarriers;
  if (!mbarriers.under_way(m.mbarrier, m.phase)) return;
  if (m.bytes > 0)
    mbarriers.come(m.mbarrier, m.phase, m.bytes, ports_.scratchpad_bytes(m.at, m.bytes), m.from);
  else
    mbarriers.arrive(m.mbarrier, m.phase, 0, m.at);
  warps_.wake_waiting(m.to.place, m.mbarrier, m.phase);
}

void Core::release(int place, Cycle at) {
  warps_.block(place).end = at;
  end_block(place, at);
}

// The warps of the place begin at `first`, or one after the other from then on.
void Core::launch(std::size_t place, std::int64_t block, Cycle since, Cycle first) {
  const auto slot = static_cast<int>(place);
  const Uniforms uniforms = code_->start(block);
  std::int64_t number = 0;
  for (Warp& w : warps_.warps_of(place)) {
    w = {};
    w.block = slot;
    w.number = number++;
    w.state = Warp::State::kIsLaunched;
    w.uniforms = uniforms;
    w.since = since;
    w.loads.resize(static_cast<std::size_t>(code_->load_groups()));
    w.copies.resize(1);
  }
  warps_.deal_partitions(place);
  if (record_.timeline != nullptr) record_.timeline->block_started(record_.core, slot, block, since);
  const Cycle interval = record_.machine.warp_launch;
  if (interval == 0_cycles) return warps_.push(Event::Kind::kBlock, first, slot);
  for (Warp& w : warps_.warps_of(place)) {
    launched_ = std::max(launched_ + interval, first);
    warps_.push(w, launched_);
  }
}

void Core::end_block(int place, Cycle at) {
  ResidentBlock& b = warps_.block(place);
  b.resident = false;
  if (record_.timeline != nullptr) record_.timeline->block_ended(record_.core, place, at);
  --resident_;
  ++finished_.blocks;
  finished_.ends += at;
  finished_.stamps += b.stamp;
  finished_.last = std::max(finished_.last, at);
}

void Core::run(Cycle until) {
  ran_until_ = until;
  while (warps_.due_before(until)) {
    const Event e = warps_.take();
    switch (e.kind) {
      case Event::Kind::kWarp:
        front_end_.resume(warps_.warp(e.who), e.at, until);
        break;
      case Event::Kind::kBlock:
        for (Warp& w : warps_.warps_of(static_cast<std::size_t>(e.who)))
          if (w.state != Warp::State::kEnded) front_end_.resume(w, e.at, e.at + 1_cycles);
        break;
      case Event::Kind::kBoxes:
        tma_.run(e.at, until);
        break;
      case Event::Kind::kDone:
        if (const std::int64_t cluster = warps_.block(e.who).cluster; cluster >= 0)
          ended_.push_back({e.who, cluster, e.at});
        else
          end_block(e.who, e.at);
        break;
    }
  }
}

std::optional<std::string> Core::stuck() const {
  for (const Warp& w : warps_.warps()) {
    if (w.state != Warp::State::kWaitsForMbarrier) continue;
    const lower::Kernel& k = code_->indices().kernel();
    return fmt::format("warp {} of block {} waits for {}, whose phase no warp completes", w.number,
                       w.uniforms[lower::kBlockIndex], k.mbarriers[static_cast<std::size_t>(w.mbarrier)].name);
  }
  for (const ResidentBlock& b : warps_.blocks())
    if (b.resident && b.boxes != 0) return "a block ends while bulk copies are in flight";
  return std::nullopt;
}

// --- observers and drivers

void Core::show(Cycle until) const {
  if (record_.timeline != nullptr) ports_.show(*record_.timeline, record_.core, until);
}

void Core::warm_caches(std::size_t place, const SkippedSteps& skipped, std::int64_t step, DeviceMemory& memory) {
  warming_->step(warps_.warps_of(place), skipped, step, memory);
}

}  // namespace tilescope::sim
