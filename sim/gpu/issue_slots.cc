// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/issue_slots.h"

#include <algorithm>

namespace tilescope::sim {

IssueSlots::IssueSlots(const CoreRecord& record)
    : record_(record),
      rate_(record.machine.issue),
      free_(static_cast<std::size_t>(record.machine.limits.partitions), 0),
      pipes_free_(free_.size(), PipeParts{}),
      beside_free_(free_.size(), PipeParts{}) {}

IssueSlots::Taken IssueSlots::take(const Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle from) {
  const auto partition = static_cast<std::size_t>(w.partition);
  const std::int64_t now = from.count() * kCycleParts;
  Taken taken{now, now, now, 0};
  const auto take = [&](std::int64_t& free, std::int64_t work) {
    if (work <= 0) return;
    const std::int64_t begin = std::max(now, free);
    free = begin + work;
    taken.end = std::max(taken.end, free);
    if (work > taken.longest) taken.begin = begin, taken.longest = work;
  };
  const std::int64_t slots = (parts_of(rate_, c.issue) + c.operands) / pieces;
  take(free_[partition], slots);
  if (record_.timeline != nullptr) show(w, slots);
  const std::vector<arch::PipeSpec>& pipes = record_.machine.pipes;
  for (std::size_t p = 0; p < pipes.size(); ++p) {
    const std::int64_t work = c.pipes[p] / pieces;
    if (work <= 0) continue;
    std::int64_t& free = pipes_free_[partition][p];
    take(free, work);
    std::int64_t& beside = beside_free_[partition][p];
    if (!c.computes) beside = std::max(now, beside) + work, taken.beside = std::max(taken.beside, beside);
    if (record_.timeline != nullptr)
      record_.timeline->pipe(record_.core, w.partition, static_cast<int>(p), pipes[p].name,
                             static_cast<double>(free - work) / kCycleParts, static_cast<double>(free) / kCycleParts);
  }
  if (!c.computes) taken.beside = std::max(taken.beside, now + slots);
  return taken;
}

Cycle IssueSlots::issue_one(Warp& w, Cycle t) {
  std::int64_t& free = free_[static_cast<std::size_t>(w.partition)];
  const std::int64_t one = parts_of(rate_, 1);
  free = std::max(free, t.count() * kCycleParts) + one;
  ++record_.statistics->instructions;
  if (record_.timeline != nullptr) show(w, one);
  const Cycle issued = t + end_of(one);
  record_.stall(w, Stall::kIssue, issued);
  return issued;
}

// So many parts of a cycle of the partition's issue slots have just been taken.
void IssueSlots::show(const Warp& w, std::int64_t parts) const {
  const std::int64_t free = free_[static_cast<std::size_t>(w.partition)];
  if (parts > 0)
    record_.timeline->issue(record_.core, w.partition, static_cast<double>(free - parts) / kCycleParts,
                            static_cast<double>(free) / kCycleParts);
}

}  // namespace tilescope::sim
