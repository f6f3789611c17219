// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel's body as a warp runs it: a list of operations with jumps. What needs no other warp is one segment; accesses
// to memory, barriers, waits and asynchronous products stand alone. Roles follow each other: a warp skips those that it
// does not have.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "sim/gpu/detail/chip_part.h"
#include "sim/gpu/detail/code_loops.h"
#include "sim/gpu/detail/segment.h"
#include "sim/gpu/detail/step_loop.h"
#include "sim/gpu/detail/tma_boxes.h"

namespace tilescope::sim {

struct Machine;

// Loads into registers that a segment or store waits for, a bit each; arrays beyond the last share it.
using LoadGroups = std::uint64_t;
inline constexpr int kLoadGroups = 64;

struct WarpOp {
  enum class Kind : std::uint8_t {
    kLoop,
    kEndLoop,
    kIf,
    kRole,
    kSegment,
    kWgmma,
    kWgmmaCommitWait,
    kTensorProduct,
    kTensorCommit,
    kTensorLoad,
    kLoad,
    kStore,
    kAsync,
    kCommit,
    kWait,
    kBarrier,
    kMbarrierArrive,
    kMbarrierWait,
    kTmaLoad,
    kTmaStore,
    kEnd
  };
  Kind kind{};
  int jump = 0;            // kLoop, kIf, kRole: behind its end; kEndLoop: its first operation
  int number = 0;          // of the loop, guards, role, segment (of products too), copy or box; kWait: groups that may
                           // be under way; kTensorLoad: bytes of a warp
  int mbarrier_phase = 0;  // kMbarrierArrive, kMbarrierWait, kTmaLoad, kTensorCommit
  int group = 0;           // kLoad: which loads it is one of
  LoadGroups uses = 0;     // kSegment, kStore, kLoad of a gather: what has to have arrived
};

// Warps of a block from one of them on.
struct WarpRange {
  std::int64_t first = 0, count = 0;
};

// What an operation does about an mbarrier.
struct MbarrierPhase {
  int mbarrier = 0;
  LaneForm phase;
  std::int64_t bytes = 0;  // that are to come, by an arrival
  bool cluster = false;    // at this mbarrier of all blocks of the cluster
};

class WarpCode {
 public:
  // `bases`: where the module's arrays begin; `tables`: what those hold by which copies gather; `machine`: of the chip.
  WarpCode(const lower::Kernel& kernel, const std::vector<std::int64_t>& bases, const IndexTables& tables,
           const arch::ArchSpec& chip, const Machine& machine);
  WarpCode(const WarpCode&) = delete;
  WarpCode& operator=(const WarpCode&) = delete;

  const KernelIndices& indices() const { return indices_; }
  const std::vector<WarpOp>& ops() const { return ops_; }
  const CodeLoops& loops() const { return loops_; }
  Segment& segment(int number) { return segments_[static_cast<std::size_t>(number)]; }
  AccessPatterns& access(int copy) { return accesses_[static_cast<std::size_t>(copy)]; }
  const AccessPatterns& access(int copy) const { return accesses_[static_cast<std::size_t>(copy)]; }
  // Of the kernel, by whose numbers they are counted; boxes come after copies.
  std::size_t copies() const { return accesses_.size(); }
  std::size_t counted() const { return accesses_.size() + boxes_.size(); }
  std::size_t counted_box(int number) const { return accesses_.size() + static_cast<std::size_t>(number); }
  const TmaBoxLines& box(int number) const { return boxes_[static_cast<std::size_t>(number)]; }
  const MbarrierPhase& mbarrier_phase(const WarpOp& op) const {
    return mbarrier_phases_[static_cast<std::size_t>(op.mbarrier_phase)];
  }
  std::int64_t phase_of(const WarpOp& op, const Uniforms& u) const { return mbarrier_phase(op).phase.common(u, {}); }
  // By how many phases of an mbarrier an iteration of the loop over steps goes on.
  std::int64_t phases_per_step(int mbarrier) const { return step_loop_.phases[static_cast<std::size_t>(mbarrier)]; }
  bool is_of(const WarpOp& role, std::int64_t warp) const {
    const WarpRange& r = roles_[static_cast<std::size_t>(role.number)];
    return warp >= r.first && warp < r.first + r.count;
  }
  // Whether the guards of an If hold.
  bool holds(int guards, const Uniforms& u) const;

  int load_groups() const { return load_groups_; }
  // Whether products read what asynchronous copies bring from the scratchpad, after a proxy fence.
  bool fences_copies() const { return fences_copies_; }

  // The loop over a block's steps (sim/gpu/detail/step_loop.h); -1 where there is none.
  int step_loop() const { return step_loop_.number; }
  // How many steps a block has; 0 where it begins that loop more than once, or has none, or blocks differ.
  std::int64_t steps() const;
  // Iterations of it after which what the indices derived from it do begins anew: the rhythm of a kernel's taps. 1
  // where there is none, or none of a useful length.
  std::int64_t step_period() const;

  // Blocks that run: of a part of a chip, one of each group, and all are called by the group's number.
  std::int64_t blocks() const { return groups_ ? groups_->count() : indices_.kernel().blocks; }
  const std::optional<BlockGroups>& groups() const { return groups_; }

  Uniforms start(std::int64_t block) const;
  // Of another block, at the same place of every loop.
  void become(std::int64_t block, Uniforms& u) const;

 private:
  friend class WarpCodeBuilder;

  KernelIndices indices_;
  std::optional<BlockGroups> groups_;
  std::vector<WarpOp> ops_;
  CodeLoops loops_;
  std::vector<std::vector<SegmentNode::UniformGuard>> guards_;
  std::deque<Segment> segments_;
  std::deque<AccessPatterns> accesses_;  // by copy of the kernel
  std::vector<WarpRange> roles_;
  std::vector<MbarrierPhase> mbarrier_phases_;
  std::vector<TmaBoxLines> boxes_;
  int own_slots_ = 0;
  int load_groups_ = 0;
  bool fences_copies_ = false;
  StepLoop step_loop_;
};

}  // namespace tilescope::sim
