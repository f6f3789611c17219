// SPDX-License-Identifier: Apache-2.0
#pragma once
// Issues a warp's accesses to memory: those of its lanes to the load-store unit, boxes to the TMA engine. Counts what
// they move.

#include <optional>

#include "sim/gpu/detail/core_ports.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/issue_slots.h"
#include "sim/gpu/detail/load_store_unit.h"
#include "sim/gpu/detail/part_requests.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/tma_engine.h"
#include "sim/gpu/detail/warp_code.h"

namespace tilescope::sim {

class AccessIssue {
 public:
  // `part`: of a part of a chip, else null.
  AccessIssue(const CoreRecord& record, ResidentWarps& warps, IssueSlots& issue, CorePorts& ports,
              LoadStoreUnit& memory, TmaEngine& tma, PartRequests* part)
      : record_(record), warps_(warps), issue_(issue), ports_(ports), memory_(memory), tma_(tma), part_(part) {}

  void prepare(WarpCode& code) { code_ = &code; }

  // Each issues the warp's operation at `t` and returns when the warp goes on, or nothing where something else wakes
  // it. An access of lanes for which there is no room comes back to the same operation.
  std::optional<Cycle> access(Warp& w, const WarpOp& op, Cycle t);
  Cycle load_box(Warp& w, const WarpOp& op, int mbarrier, std::int64_t phase, Cycle t);
  std::optional<Cycle> store_box(Warp& w, const WarpOp& op, Cycle t);

 private:
  Box box_of(const Warp& w, const WarpOp& op) const;
  void count(const Box& b, const WarpOp& op) const;
  void count(const lower::CopyCount& count, std::size_t copy) const;

  const CoreRecord& record_;
  WarpCode* code_ = nullptr;
  ResidentWarps& warps_;
  IssueSlots& issue_;
  CorePorts& ports_;
  LoadStoreUnit& memory_;
  TmaEngine& tma_;
  PartRequests* part_;
};

}  // namespace tilescope::sim
