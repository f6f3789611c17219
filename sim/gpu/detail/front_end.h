// SPDX-License-Identifier: Apache-2.0
#pragma once
// The front end of a core: runs the operations of its warps, each warp as long as no other of the core has something to
// do first.

#include <cstdint>
#include <optional>

#include "sim/gpu/detail/access_issue.h"
#include "sim/gpu/detail/core_record.h"
#include "sim/gpu/detail/issue_slots.h"
#include "sim/gpu/detail/load_store_unit.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/segment_units.h"
#include "sim/gpu/detail/tma_engine.h"
#include "sim/gpu/detail/warp_code.h"

namespace tilescope::sim {

class FrontEnd {
 public:
  // `part`: of a part of a chip, else null.
  FrontEnd(const CoreRecord& record, ResidentWarps& warps, CorePorts& ports, LoadStoreUnit& memory, TmaEngine& tma,
           PartRequests* part)
      : record_(record),
        warps_(warps),
        memory_(memory),
        issue_(record),
        segments_(record, issue_, ports),
        accesses_(record, warps, issue_, ports, memory, tma, part) {}

  void prepare(WarpCode& code) {
    code_ = &code;
    accesses_.prepare(code);
  }

  // The warp goes on at `now`, to `until` at most.
  void resume(Warp& w, Cycle now, Cycle until);

 private:
  // Each runs one operation at `t`, and returns when the warp goes on, or nothing where something else wakes it.
  std::optional<Cycle> step(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> run_loop(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> wait_for_wgmma(Warp& w, Cycle t);
  std::optional<Cycle> reach_barrier(Warp& w, Cycle t);
  // `behind`: of what has to end before.
  std::optional<Cycle> arrive(Warp& w, const WarpOp& op, Cycle t, Cycle behind = 0_cycles);
  std::optional<Cycle> await(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> load_box(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> store_box(Warp& w, const WarpOp& op, Cycle t);
  std::optional<Cycle> end(Warp& w, Cycle t);
  // Returns t where nothing is missing; else the warp comes back to the same operation.
  std::optional<Cycle> wait_for_loads(Warp& w, LoadGroups groups, Cycle t);
  std::optional<Cycle> wait_for_copies(Warp& w, std::int64_t until, Cycle t);
  static std::nullopt_t wait_for_phase(Warp& w, int mbarrier, std::int64_t phase);
  static std::nullopt_t stop(Warp& w, int mbarrier, std::int64_t phase);

  // What came last of what the warp waited for.
  Stall waited_for(const Warp& w) const;
  // The phase of the operation's mbarrier, as the block ran them.
  std::int64_t ran_phase(const Warp& w, const WarpOp& op) const;

  const CoreRecord& record_;
  WarpCode* code_ = nullptr;
  ResidentWarps& warps_;
  LoadStoreUnit& memory_;
  IssueSlots issue_;
  SegmentUnits segments_;
  AccessIssue accesses_;
};

}  // namespace tilescope::sim
