// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ports by which a core's accesses leave it: the lanes that compute addresses, the banks of its scratchpad, the
// data and tags of its cache. The latency of a level holds the time of a whole warp's lanes and of one pass.

#include <cstdint>

#include "sim/gpu/detail/access_patterns.h"
#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/segment.h"
#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

class Timeline;

class CorePorts {
 public:
  explicit CorePorts(const Machine& machine);

  // `fences_copies`: the kernel's products read what asynchronous copies bring.
  void prepare(bool fences_copies);

  // Passes of the scratchpad from `at` on, spread over at least `over` cycles; returns when they are done.
  Cycle scratchpad(Cycle at, std::int64_t passes, Cycle over = 0_cycles) { return scratchpad_.book(at, passes, over); }
  // The passes that `bytes` fill.
  Cycle scratchpad_bytes(Cycle at, std::int64_t bytes) { return scratchpad(at, base::ceil_div(bytes, pass_bytes())); }
  std::int64_t pass_bytes() const { return machine_.banks.count * machine_.banks.width; }
  // Of one of a segment's pieces, when its accesses to the scratchpad are done; 0 where it has none.
  Cycle segment(const SegmentCost& c, std::int64_t pieces, Cycle from, Cycle over);
  // When an access to memory leaves the core; `line`: where the pattern's lines begin.
  Cycle access(const AccessPattern& p, bool asynchronous, std::int64_t line, Cycle t);

  // Tells the timeline what is booked before `until`.
  void show(Timeline& timeline, int core, Cycle until) const;

 private:
  const Machine& machine_;
  ReservationTable scratchpad_, cache_, memory_lanes_, scratchpad_lanes_;
  Cycle copy_interval_{};
  Cycle copies_free_{};  // when the next asynchronous copy may begin
};

}  // namespace tilescope::sim
