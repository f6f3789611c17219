// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/segment_units.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

// A segment that would hold its units longer is run in pieces.
constexpr std::int64_t kLongestPiece = 8192;  // cycles

std::int64_t pieces_of(const SegmentCost& c) {
  const std::int64_t longest = std::max(
      {*std::max_element(c.pipes.begin(), c.pipes.end()), c.issue * kCycleParts + c.operands, c.passes * kCycleParts});
  return std::max<std::int64_t>(1, longest / (kLongestPiece * kCycleParts));
}

}  // namespace

void SegmentUnits::count(const SegmentCost& c) {
  Statistics& s = *record_.statistics;
  s.instructions += c.issue;
  for (std::size_t p = 0; p < record_.machine.pipes.size(); ++p) s.pipe_parts[p] += c.pipes[p];
  for (const Operations& o : c.operations) s.operations[static_cast<std::size_t>(o.entry)] += o.number;
  for (const auto& [copy, count] : c.shared) s.copies[static_cast<std::size_t>(copy)].shared += count;
  LevelStatistics& scratchpad = record_.level(LevelRole::kScratchpad);
  scratchpad.requests += c.accesses;
  scratchpad.transactions += c.passes;
}

// Whether it was the last.
bool SegmentUnits::end_piece(Warp& w) {
  if (--w.pieces_left > 0) return false;
  ++w.pc;
  return true;
}

Cycle SegmentUnits::run(Warp& w, const SegmentCost& c, Cycle t) {
  const std::int64_t pieces = pieces_of(c);
  if (w.pieces_left == 0) {
    w.pieces_left = pieces;
    count(c);
  }
  const Cycle first = c.reads_scratchpad ? record_.machine.scratchpad_latency : 0_cycles;
  const IssueSlots::Taken taken = issue_.take(w, c, pieces, c.computes ? t + first : t);
  // What only moves and computes addresses has slots and lanes between instructions of warps that compute.
  Cycle done = end_of(c.computes ? taken.end : taken.beside);
  const Cycle passes_from = c.computes ? cycle_of(taken.begin) - first : t;
  done = std::max(done, t + first + Cycle(c.latency / pieces));
  const Cycle over = c.computes ? cycle_of(taken.longest) : 0_cycles;
  const Cycle moved = ports_.segment(c, pieces, passes_from, over);
  record_.stall(w, Stall::kIssue, done);
  record_.stall(w, Stall::kScratchpad, moved);
  end_piece(w);
  return std::max(done, moved);
}

// Products take units and scratchpad as a segment does; the warp goes on once they are issued, of long ones the last
// piece.
Cycle SegmentUnits::begin_product(Warp& w, const SegmentCost& c, Cycle t) {
  const std::int64_t pieces = pieces_of(c);
  if (w.pieces_left == 0) {
    w.pieces_left = pieces;
    count(c);
  }
  const IssueSlots::Taken taken = issue_.take(w, c, pieces, t);
  const Cycle begin = cycle_of(taken.begin);
  Cycle done = std::max(end_of(taken.end), begin + Cycle(c.latency / pieces));
  if (c.passes > 0)
    done = std::max(done, ports_.scratchpad(begin, base::ceil_div(c.passes, pieces), cycle_of(taken.longest)));
  w.wgmma_end = std::max(w.wgmma_end, done);
  const Cycle issued = std::max(t, begin) + end_of(parts_of(record_.machine.issue, c.issue) / pieces);
  const Cycle then = end_piece(w) ? issued : done;
  record_.stall(w, Stall::kIssue, then);
  return then;
}

Cycle SegmentUnits::issue_tensor_product(Warp& w, const SegmentCost& c, Cycle t) {
  count(c);
  ++w.pc;
  SegmentCost issued;
  issued.issue = c.issue;
  const Cycle end = end_of(issue_.take(w, issued, 1, t).end);
  const std::int64_t held = *std::max_element(c.pipes.begin(), c.pipes.end());
  const Cycle begin = std::max(end, tensor_unit_free_), busy = end_of(held / record_.machine.limits.partitions);
  const Cycle moved = c.passes > 0 ? ports_.scratchpad(begin, c.passes, busy) : begin;
  tensor_unit_free_ = std::max(begin + busy, moved);
  w.tensor_end = std::max(w.tensor_end, tensor_unit_free_ + Cycle(c.latency));
  record_.stall(w, Stall::kIssue, end);
  return end;
}

Cycle SegmentUnits::load_tensor(Warp& w, std::int64_t bytes, Cycle t) {
  ++w.pc;
  const Cycle issued = issue_.issue_one(w, t);
  const Cycle read = tensor_ports_[static_cast<std::size_t>(w.partition)].book(issued, bytes);
  const Cycle then = read + record_.machine.tensor_latency;
  record_.stall(w, Stall::kIssue, then);
  return then;
}

}  // namespace tilescope::sim
