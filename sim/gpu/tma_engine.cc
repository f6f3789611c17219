// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/tma_engine.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"

namespace tilescope::sim {

using Event = ResidentWarps::Event;

int TmaEngine::queue(Box b, Cycle at) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(boxes_.size()));
    boxes_.emplace_back();
  }
  const int number = free_.back();
  free_.pop_back();
  box(number) = {std::move(b), 0, 0};
  if (box(number).box.lines.empty()) return number;
  if (queued_.empty()) warps_.push(Event::Kind::kBoxes, std::max(at, free_from_), 0);
  queued_.push_back(number);
  return number;
}

void TmaEngine::load(Box b, Cycle at) {
  std::int64_t zeros = b.bytes;
  for (const BoxLine& l : b.lines) zeros -= l.bytes;
  ++warps_.block(b.block).boxes;
  const int number = queue(std::move(b), at);
  if (zeros > 0) land(number, zeros, at, Stall::kScratchpad);
}

void TmaEngine::run(Cycle from, Cycle until) {
  free_from_ = from;
  while (!queued_.empty() && free_from_ < until) {
    const int number = queued_.front();
    UnderWay& u = box(number);
    const Box& b = u.box;
    const BoxLine& l = b.lines[u.asked++];
    const bool stores = b.stores_for >= 0;
    if (stores)
      memory_.store({Waiter::Kind::kStoredLine, number, l.bytes, 0}, l.line, l.sectors, l.written, free_from_);
    else
      memory_.load({Waiter::Kind::kBox, number, l.bytes, 0}, l.line, l.sectors, false, free_from_);
    if (part_ != nullptr) part_->box_line(b.shadows, u.asked - 1, b.lines.size(), b.copy);
    const bool last = u.asked == b.lines.size();
    if (last) queued_.pop_front();
    free_from_ += line_interval_;
    if (last && stores) {
      warps_.push(warps_.warp(b.stores_for), free_from_);
      free_.push_back(number);
    }
  }
  if (!queued_.empty()) warps_.push(Event::Kind::kBoxes, free_from_, 0);
}

// Rows change places so that what arrives fills whole passes, the end of a line's the beginning of the next one's.
void TmaEngine::land(int number, std::int64_t bytes, Cycle at, Stall from) {
  UnderWay& u = box(number);
  const Box& b = u.box;
  if (b.multicast)
    warps_.tell_peers(b.block, {.mbarrier = b.mbarrier,
                                .phase = b.phase,
                                .bytes = bytes,
                                .from_memory = from != Stall::kScratchpad,
                                .at = at,
                                .from = from});
  const std::int64_t pass = ports_.pass_bytes();
  const std::int64_t before = base::ceil_div(u.landed, pass);
  u.landed += bytes;
  if (const std::int64_t passes = base::ceil_div(u.landed, pass) - before; passes > 0)
    at = ports_.scratchpad(at, passes);
  ResidentBlock& block = warps_.block(b.block);
  block.mbarriers.come(b.mbarrier, b.phase, bytes, at, from);
  warps_.wake_waiting(b.block, b.mbarrier, b.phase);
  if (u.landed < b.bytes) return;
  --block.boxes;
  free_.push_back(number);
}

}  // namespace tilescope::sim
