// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/access_issue.h"

#include <utility>

namespace tilescope::sim {

using Kind = WarpOp::Kind;

void AccessIssue::count(const lower::CopyCount& count, std::size_t copy) const {
  lower::CopyCount& sum = record_.statistics->copies[copy];
  sum.global += count.global;
  sum.shared += count.shared;
}

std::optional<Cycle> AccessIssue::access(Warp& w, const WarpOp& op, Cycle t) {
  if (memory_.holds_back(w, t)) return std::nullopt;
  const AccessPatterns::Found found = code_->access(op.number).at(w.number, w.uniforms);
  const AccessPattern& p = *found.pattern;
  const bool loads = op.kind == Kind::kLoad, copies = op.kind == Kind::kAsync;
  count(p.count, static_cast<std::size_t>(op.number));
  if (copies) record_.scratchpad(p.count.shared);
  ++w.pc;
  const Cycle issued = issue_.issue_one(w, t);
  const int self = warps_.number_of(w);
  Waiter waiter{Waiter::Kind::kStore, w.block, 0, 0};
  if (loads) waiter = {Waiter::Kind::kLoad, self, op.group, 0};
  if (copies) waiter = {Waiter::Kind::kCopy, self, w.open_copies(), p.count.shared.passes};
  if (p.touches.empty()) {
    if (copies && waiter.passes > 0) ports_.scratchpad(issued, waiter.passes);  // zeros
    if (part_ != nullptr) part_->access_of_shadows(w, op, loads && memory_.caches_loads(), issued);
    memory_.let_one_go_on(issued);
    return issued;
  }
  const Cycle at = ports_.access(p, copies, found.line, t);
  if (loads)
    for (const Touch& touch : p.touches) memory_.expect_line(found.line + touch.line);
  const std::size_t first = memory_.outbox().size();
  for (std::size_t n = 0; n < p.touches.size(); ++n) {
    const Touch& touch = p.touches[n];
    const std::int64_t line = found.line + touch.line;
    if (op.kind == Kind::kStore)
      memory_.store(waiter, line, touch.sectors, p.written_of(n), at);
    else
      memory_.load(waiter, line, touch.sectors, loads, at);
    waiter.passes = 0;
  }
  if (part_ != nullptr) part_->access(w, op, found, first);
  memory_.let_one_go_on(issued);
  return issued;
}

Box AccessIssue::box_of(const Warp& w, const WarpOp& op) const {
  const TmaBoxLines& box = code_->box(op.number);
  Box b{.block = w.block, .bytes = box.bytes(), .lines = box.lines(w.uniforms)};
  b.copy = static_cast<int>(code_->counted_box(op.number));
  if (part_ != nullptr) b.shadows = part_->shadow_boxes(w.uniforms, box);
  return b;
}

void AccessIssue::count(const Box& b, const WarpOp& op) const {
  const std::int64_t blocks = b.multicast ? code_->indices().kernel().cluster : 1;
  const lower::CopyCount moved = code_->box(op.number).count(b.lines, ports_.pass_bytes(), blocks);
  count(moved, static_cast<std::size_t>(b.copy));
  record_.scratchpad(moved.shared);
  LevelStatistics& scratchpad = record_.level(LevelRole::kScratchpad);
  (b.stores_for < 0 ? scratchpad.written_bytes : scratchpad.read_bytes) += moved.shared.bytes;
}

Cycle AccessIssue::load_box(Warp& w, const WarpOp& op, int mbarrier, std::int64_t phase, Cycle t) {
  ++w.pc;
  const Cycle issued = issue_.issue_one(w, t);
  Box b = box_of(w, op);
  b.mbarrier = mbarrier;
  b.phase = phase;
  b.multicast = code_->mbarrier_phase(op).cluster;
  count(b, op);
  tma_.load(std::move(b), issued);
  return issued;
}

std::optional<Cycle> AccessIssue::store_box(Warp& w, const WarpOp& op, Cycle t) {
  ++w.pc;
  const Cycle issued = issue_.issue_one(w, t);
  Box b = box_of(w, op);
  b.stores_for = warps_.number_of(w);
  count(b, op);
  const Cycle read = ports_.scratchpad(issued, base::ceil_div(b.bytes, ports_.pass_bytes()));
  if (b.lines.empty()) return read;  // all of it lies beyond the tensor
  tma_.store(std::move(b), read);
  w.state = Warp::State::kWaitsForStores;
  return std::nullopt;
}

}  // namespace tilescope::sim
