// The part of a core in which warps meet through signals and have boxes brought.

#include <algorithm>

#include <fmt/format.h>

#include "sim/gpu/core.h"

namespace tilescope::sim {

using Kind = WarpOp::Kind;

Core::Block& Core::block_of(const Warp& w) { return blocks_[static_cast<std::size_t>(w.block)]; }

std::int64_t Core::ran_use(const Warp& w, const WarpOp& op) {
  return block_of(w).signals.ran(code_->signal_use(op).signal, code_->use_of(op, w.uniforms));
}

// The warp goes on when the use is over, which somebody else says where that is not known yet.
void Core::wait_for_signal(Warp& w, int signal, std::int64_t use) {
  w.state = State::kWaitsForSignal;
  w.signal = signal;
  w.use = use;
  if (const auto over = block_of(w).signals.over(signal, use)) push(w, std::max(over->at, w.since));
}

std::optional<Cycle> Core::await(Warp& w, const WarpOp& op, Cycle t) {
  const int signal = code_->signal_use(op).signal;
  const std::int64_t use = ran_use(w, op);
  if (const auto over = block_of(w).signals.over(signal, use); !over || over->at > t) {
    wait_for_signal(w, signal, use);
    return std::nullopt;
  }
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  account(w, Stall::kIssue, issued);
  const Cycle read = issued + machine_.scratchpad_latency;  // the word that says so
  account(w, Stall::kScratchpad, read);
  return read;
}

std::optional<Cycle> Core::arrive(Warp& w, const WarpOp& op, Cycle t) {
  const SignalUse& s = code_->signal_use(op);
  const std::int64_t use = ran_use(w, op);
  BlockSignals& signals = block_of(w).signals;
  if (!signals.under_way(s.signal, use)) return stop(w, s.signal, use);
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  account(w, Stall::kIssue, issued);
  signals.arrive(s.signal, use, s.bytes, issued);
  wake_waiting(w.block, s.signal, use);
  return issued;
}

// Nobody of a right kernel arrives or asks for a use that is not under way. Who does stays where it is, which is found
// when nothing goes on any more.
std::nullopt_t Core::stop(Warp& w, int signal, std::int64_t use) {
  w.state = State::kWaitsForSignal;
  w.signal = signal;
  w.use = use;
  w.queued = true;
  return std::nullopt;
}

void Core::wake_waiting(int block, int signal, std::int64_t use) {
  const auto over = blocks_[static_cast<std::size_t>(block)].signals.over(signal, use);
  if (!over) return;
  const auto first = warps_.begin() + static_cast<std::ptrdiff_t>(block) * warps_per_block_;
  for (Warp& w : std::span(first, static_cast<std::size_t>(warps_per_block_)))
    if (w.state == State::kWaitsForSignal && !w.queued && w.signal == signal && w.use == use)
      push(w, std::max(over->at, w.since));
}

// --- boxes

std::optional<Cycle> Core::ask_for_box(Warp& w, const WarpOp& op, Cycle t) {
  const BulkBox& box = code_->box(op.number);
  if (w.number != box.warp()) {
    ++w.pc;
    return t;
  }
  const int signal = code_->signal_use(op).signal;
  const std::int64_t use = ran_use(w, op);
  if (!block_of(w).signals.under_way(signal, use)) return stop(w, signal, use);
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  account(w, Stall::kIssue, issued);
  Box b{.block = w.block, .signal = signal, .use = use, .bytes = box.bytes(), .lines = box.lines(w.uniforms)};
  std::int64_t zeros = box.bytes();
  for (const BoxLine& l : b.lines) zeros -= l.bytes;
  ++block_of(w).boxes;
  const int number = queue_box(std::move(b), op, issued);
  if (zeros > 0) land(number, zeros, issued, Stall::kScratchpad);
  return issued;
}

std::optional<Cycle> Core::store_box(Warp& w, const WarpOp& op, Cycle t) {
  const BulkBox& box = code_->box(op.number);
  ++w.pc;
  if (w.number != box.warp()) return t;
  const Cycle issued = issue_one(w, t);
  account(w, Stall::kIssue, issued);
  Box b{.block = w.block, .bytes = box.bytes(), .lines = box.lines(w.uniforms)};
  b.stores_for = static_cast<int>(&w - warps_.data());
  if (b.lines.empty()) return issued;
  const std::int64_t pass = machine_.banks.count * machine_.banks.width;
  const Cycle read = scratchpad_.book(issued, base::ceil_div(b.bytes, pass));
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
  const lower::CopyCount count = code_->box(op.number).count(b.lines, machine_.banks.count * machine_.banks.width);
  lower::CopyCount& sum = tally_->copies[code_->counted_box(op.number)];
  sum.global += count.global;
  sum.shared += count.shared;
  LevelTally& level = tally_->level(LevelRole::kScratchpad);
  level.requests += count.shared.requests;
  level.transactions += count.shared.passes;
  (b.stores_for < 0 ? level.written_bytes : level.read_bytes) += count.shared.bytes;
  if (b.lines.empty()) return number;
  if (asked_boxes_.empty()) push(Event::Kind::kBoxes, std::max(at, copier_free_), 0);
  asked_boxes_.push_back(number);
  return number;
}

void Core::ask_for_lines(Cycle from, Cycle until) {
  copier_free_ = from;
  for (std::int64_t asked = 0; !asked_boxes_.empty() && copier_free_ < until;) {
    const int number = asked_boxes_.front();
    Box& b = boxes_[static_cast<std::size_t>(number)];
    const BoxLine& l = b.lines[b.asked++];
    const bool stores = b.stores_for >= 0;
    request({stores ? Waiter::Kind::kStoredLine : Waiter::Kind::kBox, number, l.bytes, 0}, l.line, l.sectors, stores,
            nullptr, copier_free_);
    const bool last = b.asked == b.lines.size();
    if (last) asked_boxes_.pop_front();
    const bool full = ++asked == machine_.box_lines;
    if (full || asked_boxes_.empty()) {
      if (machine_.box_lines > 0) ++copier_free_;  // a cycle is left when it is full, or nothing more is asked for
      asked = 0;
    }
    if (last && stores) {
      push(warps_[static_cast<std::size_t>(b.stores_for)], copier_free_);
      free_boxes_.push_back(number);
    }
  }
  if (!asked_boxes_.empty()) push(Event::Kind::kBoxes, copier_free_, 0);
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
  block.signals.come(b.signal, b.use, bytes, at, from);
  wake_waiting(b.block, b.signal, b.use);
  if (b.landed < b.bytes) return;
  --block.boxes;
  free_boxes_.push_back(number);
}

std::optional<std::string> Core::stuck() const {
  for (const Warp& w : warps_) {
    if (w.state != State::kWaitsForSignal) continue;
    const lower::Kernel& k = code_->indices().kernel();
    return fmt::format("warp {} of block {} waits for {} and nobody ends its use", w.number,
                       w.uniforms[lower::kBlockIndex], k.signals[static_cast<std::size_t>(w.signal)].name);
  }
  for (const Block& b : blocks_)
    if (b.resident && b.boxes != 0) return "a block ends while bulk copies are under way";
  return std::nullopt;
}

}  // namespace tilescope::sim
