// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs segments and asynchronous products on a core's issue slots, pipes and scratchpad. A segment takes them when it
// begins, and ends when the slowest of them and its longest chain of results do. One that would hold its units long is
// run in pieces, so that bookings stay near the present.

#include <cstdint>
#include <vector>

#include "sim/gpu/detail/core_ports.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/issue_slots.h"
#include "sim/gpu/detail/segment.h"
#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

class SegmentUnits {
 public:
  SegmentUnits(const CoreRecord& record, IssueSlots& issue, CorePorts& ports)
      : record_(record),
        issue_(issue),
        ports_(ports),
        tensor_ports_(static_cast<std::size_t>(record.machine.limits.partitions),
                      ReservationTable(record.machine.tensor_reads)) {}

  // Runs the warp's next piece of a segment at `t`; returns when it is done. With the last piece the warp is past the
  // operation.
  Cycle run(Warp& w, const SegmentCost& c, Cycle t);
  // Likewise of a product that goes on by itself: returns when it is issued.
  Cycle begin_product(Warp& w, const SegmentCost& c, Cycle t);
  // Of products that the warp issues for the core's partitions together: they take the unit behind all that any warp of
  // the core issued before, as long as that or the scratchpad needs. Returns when they are issued.
  Cycle issue_tensor_product(Warp& w, const SegmentCost& c, Cycle t);
  // The warp reads so many bytes of tensor memory by its partition's port; returns when they are there.
  Cycle load_tensor(Warp& w, std::int64_t bytes, Cycle t);

 private:
  // The first of its pieces counts the work.
  void count(const SegmentCost& c);
  static bool end_piece(Warp& w);

  const CoreRecord& record_;
  IssueSlots& issue_;
  CorePorts& ports_;
  Cycle tensor_unit_free_{};
  std::vector<ReservationTable> tensor_ports_;  // by partition
};

}  // namespace tilescope::sim
