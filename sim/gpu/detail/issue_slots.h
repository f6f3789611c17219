// SPDX-License-Identifier: Apache-2.0
#pragma once
// The issue slots and pipes of a core's partitions. A piece of work takes each of them from when it is free, and ends
// with the slowest. What computes nothing is issued past work that waits for pipes, as a scheduler would between two of
// its instructions.
//
// Ignores: order of warps within a partition beyond first come first served, register banks beyond the operands that a
// segment's cost has, the instruction cache, replays.

#include <cstdint>
#include <vector>

#include "base/integer.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/segment.h"

namespace tilescope::sim {

// Parts of a cycle (kCycleParts) that `units` of work take.
inline std::int64_t parts_of(const Rate& r, std::int64_t units) {
  return base::ceil_div(units * r.cycles * kCycleParts, r.units);
}
// The cycle in which parts of cycles lie, and the one in which they are over.
constexpr Cycle cycle_of(std::int64_t parts) { return Cycle(parts / kCycleParts); }
constexpr Cycle end_of(std::int64_t parts) { return Cycle(base::ceil_div(parts, kCycleParts)); }

class IssueSlots {
 public:
  // Of a piece of work, in parts of cycles: when the unit that is held longest begins, and the last is done; `beside`:
  // were there nothing but what computes nothing.
  struct Taken {
    std::int64_t begin = 0, end = 0, beside = 0, longest = 0;
  };

  explicit IssueSlots(const CoreRecord& record);

  // The slots and pipes of one of `pieces` equal parts of that work.
  Taken take(const Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle from);
  // Issues one instruction of the warp at `t` or later; returns when that is done, up to when it accounts for its time.
  Cycle issue_one(Warp& w, Cycle t);

 private:
  void show(const Warp& w, std::int64_t parts) const;

  const CoreRecord& record_;
  Rate rate_;                           // warp instructions of one partition
  std::vector<std::int64_t> free_;      // by partition, in parts of cycles
  std::vector<PipeParts> pipes_free_;   // likewise
  std::vector<PipeParts> beside_free_;  // of what computes nothing, alone
};

}  // namespace tilescope::sim
