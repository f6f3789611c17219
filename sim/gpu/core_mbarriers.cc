// SPDX-License-Identifier: Apache-2.0
// The part of a core with mbarriers and the TMA engine.

#include <algorithm>

#include <fmt/format.h>

#include "sim/gpu/detail/core.h"

namespace tilescope::sim {

using Kind = WarpOp::Kind;

Core::Block& Core::block_of(const Warp& w) { return blocks_[static_cast<std::size_t>(w.block)]; }

std::int64_t Core::ran_phase(const Warp& w, const WarpOp& op) {
  return block_of(w).mbarriers.ran(code_->mbarrier_phase(op).mbarrier, code_->phase_of(op, w.uniforms));
}

// The warp goes on when the phase is over, which another warp or the TMA engine says where that is not known yet.
void Core::wait_for_mbarrier(Warp& w, int mbarrier, std::int64_t phase) {
  w.state = State::kWaitsForMbarrier;
  w.mbarrier = mbarrier;
  w.phase = phase;
  if (const auto over = block_of(w).mbarriers.over(mbarrier, phase)) push(w, std::max(over->at, w.since));
}

std::optional<Cycle> Core::await(Warp& w, const WarpOp& op, Cycle t) {
  const int mbarrier = code_->mbarrier_phase(op).mbarrier;
  const std::int64_t phase = ran_phase(w, op);
  if (const auto over = block_of(w).mbarriers.over(mbarrier, phase); !over || over->at > t) {
    wait_for_mbarrier(w, mbarrier, phase);
    return std::nullopt;
  }
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  count_stall(w, Stall::kIssue, issued);
  const Cycle read = issued + machine_.scratchpad_latency;  // the word that says so
  count_stall(w, Stall::kScratchpad, read);
  return read;
}

std::optional<Cycle> Core::arrive(Warp& w, const WarpOp& op, Cycle t) {
  const MbarrierPhase& s = code_->mbarrier_phase(op);
  const std::int64_t phase = ran_phase(w, op);
  BlockMbarriers& mbarriers = block_of(w).mbarriers;
  if (!mbarriers.under_way(s.mbarrier, phase)) return stop(w, s.mbarrier, phase);
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  count_stall(w, Stall::kIssue, issued);
  mbarriers.arrive(s.mbarrier, phase, s.bytes, issued);
  wake_waiting(w.block, s.mbarrier, phase);
  return issued;
}

// No warp of a right kernel arrives or asks for a phase that is not under way. One that does stays where it is, which
// is found when nothing goes on any more.
std::nullopt_t Core::stop(Warp& w, int mbarrier, std::int64_t phase) {
  w.state = State::kWaitsForMbarrier;
  w.mbarrier = mbarrier;
  w.phase = phase;
  w.queued = true;
  return std::nullopt;
}

void Core::wake_waiting(int block, int mbarrier, std::int64_t phase) {
  const auto over = blocks_[static_cast<std::size_t>(block)].mbarriers.over(mbarrier, phase);
  if (!over) return;
  const auto first = warps_.begin() + static_cast<std::ptrdiff_t>(block) * warps_per_block_;
  for (Warp& w : std::span(first, static_cast<std::size_t>(warps_per_block_)))
    if (w.state == State::kWaitsForMbarrier && !w.queued && w.mbarrier == mbarrier && w.phase == phase)
      push(w, std::max(over->at, w.since));
}

// --- TMA boxes

std::optional<Cycle> Core::ask_for_box(Warp& w, const WarpOp& op, Cycle t) {
  const TmaBoxLines& box = code_->box(op.number);
  if (w.number != box.warp()) {
    ++w.pc;
    return t;
  }
  const int mbarrier = code_->mbarrier_phase(op).mbarrier;
  const std::int64_t phase = ran_phase(w, op);
  if (!block_of(w).mbarriers.under_way(mbarrier, phase)) return stop(w, mbarrier, phase);
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  count_stall(w, Stall::kIssue, issued);
  Box b{.block = w.block, .mbarrier = mbarrier, .phase = phase, .bytes = box.bytes(), .lines = box.lines(w.uniforms)};
  b.shadows = shadow_boxes(w, op);
  std::int64_t zeros = box.bytes();
  for (const BoxLine& l : b.lines) zeros -= l.bytes;
  ++block_of(w).boxes;
  const int number = queue_box(std::move(b), op, issued);
  if (zeros > 0) land(number, zeros, issued, Stall::kScratchpad);
  return issued;
}

std::optional<Cycle> Core::store_box(Warp& w, const WarpOp& op, Cycle t) {
  const TmaBoxLines& box = code_->box(op.number);
  ++w.pc;
  if (w.number != box.warp()) return t;
  const Cycle issued = issue_one(w, t);
  count_stall(w, Stall::kIssue, issued);
  Box b{.block = w.block, .bytes = box.bytes(), .lines = box.lines(w.uniforms)};
  b.stores_for = static_cast<int>(&w - warps_.data());
  b.shadows = shadow_boxes(w, op);
  const std::int64_t pass = machine_.banks.count * machine_.banks.width;
  const Cycle read = scratchpad_.book(issued, base::ceil_div(b.bytes, pass));
  if (b.lines.empty()) {  // all of it lies beyond the tensor
    count_box(b, op);
    return read;
  }
  queue_box(std::move(b), op, read);
  w.state = State::kWaitsForStores;
  return std::nullopt;
}

int Core::queue_box(Box box, const WarpOp& op, Cycle at) {
  if (free_boxes_.empty()) {
    free_boxes_.push_back(static_cast<int>(boxes_.size()));
    boxes_.emplace_back();
  }
  const int number = free_boxes_.back();
  free_boxes_.pop_back();
  Box& b = boxes_[static_cast<std::size_t>(number)];
  b = std::move(box);
  b.copy = static_cast<int>(code_->counted_box(op.number));
  count_box(b, op);
  if (b.lines.empty()) return number;
  if (queued_boxes_.empty()) push(Event::Kind::kBoxes, std::max(at, tma_free_), 0);
  queued_boxes_.push_back(number);
  return number;
}

void Core::count_box(const Box& b, const WarpOp& op) {
  const lower::CopyCount count = code_->box(op.number).count(b.lines, machine_.banks.count * machine_.banks.width);
  lower::CopyCount& sum = statistics_->copies[code_->counted_box(op.number)];
  sum.global += count.global;
  sum.shared += count.shared;
  LevelStatistics& level = statistics_->level(LevelRole::kScratchpad);
  level.requests += count.shared.requests;
  level.transactions += count.shared.passes;
  (b.stores_for < 0 ? level.written_bytes : level.read_bytes) += count.shared.bytes;
}

void Core::ask_for_lines(Cycle from, Cycle until) {
  tma_free_ = from;
  while (!queued_boxes_.empty() && tma_free_ < until) {
    const int number = queued_boxes_.front();
    Box& b = boxes_[static_cast<std::size_t>(number)];
    const BoxLine& l = b.lines[b.asked++];
    const bool stores = b.stores_for >= 0;
    if (stores)
      store_line({Waiter::Kind::kStoredLine, number, l.bytes, 0}, l.line, l.sectors, l.written, tma_free_);
    else
      request({Waiter::Kind::kBox, number, l.bytes, 0}, l.line, l.sectors, false, nullptr, tma_free_);
    if (sampled_) sample_box_line(b, b.asked - 1);
    const bool last = b.asked == b.lines.size();
    if (last) queued_boxes_.pop_front();
    tma_free_ += machine_.line_interval;
    if (last && stores) {
      push(warps_[static_cast<std::size_t>(b.stores_for)], tma_free_);
      free_boxes_.push_back(number);
    }
  }
  if (!queued_boxes_.empty()) push(Event::Kind::kBoxes, tma_free_, 0);
}

// Rows change places so that what arrives fills whole passes, the end of a line's the beginning of the next one's.
void Core::land(int number, std::int64_t bytes, Cycle at, Stall from) {
  Box& b = boxes_[static_cast<std::size_t>(number)];
  const std::int64_t pass = machine_.banks.count * machine_.banks.width;
  const std::int64_t before = base::ceil_div(b.landed, pass);
  b.landed += bytes;
  if (const std::int64_t passes = base::ceil_div(b.landed, pass) - before; passes > 0)
    at = scratchpad_.book(at, passes);
  Block& block = blocks_[static_cast<std::size_t>(b.block)];
  block.mbarriers.come(b.mbarrier, b.phase, bytes, at, from);
  wake_waiting(b.block, b.mbarrier, b.phase);
  if (b.landed < b.bytes) return;
  --block.boxes;
  free_boxes_.push_back(number);
}

std::optional<std::string> Core::stuck() const {
  for (const Warp& w : warps_) {
    if (w.state != State::kWaitsForMbarrier) continue;
    const lower::Kernel& k = code_->indices().kernel();
    return fmt::format("warp {} of block {} waits for {}, whose phase no warp completes", w.number,
                       w.uniforms[lower::kBlockIndex], k.mbarriers[static_cast<std::size_t>(w.mbarrier)].name);
  }
  for (const Block& b : blocks_)
    if (b.resident && b.boxes != 0) return "a block ends while bulk copies are under way";
  return std::nullopt;
}

}  // namespace tilescope::sim
