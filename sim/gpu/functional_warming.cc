// SPDX-License-Identifier: Apache-2.0
// What a core's blocks would have touched in steps that they leave out: addresses alone, no time, nothing counted.
//
// Ignores: pages, rows and what is under way, which the next few steps restore.

#include "sim/gpu/detail/core.h"

namespace tilescope::sim {

using Kind = WarpOp::Kind;

// A step goes from where a warp stands in the loop to the same place one step further. A block's first one begins with
// the block, its last one ends with it.
void Core::warm_caches(std::size_t place, const SkippedSteps& skipped, std::int64_t step, DeviceMemory& memory) {
  const CodeLoop& steps = code_->loop(code_->step_loop());
  const auto first = warps_.begin() + static_cast<std::ptrdiff_t>(place) * warps_per_block_;
  const bool another = skipped.block >= 0, begins = another && step == 0,
             ends = skipped.ends && step + 1 == skipped.steps;
  for (const Warp& w : std::span(first, static_cast<std::size_t>(warps_per_block_))) {
    if (begins) {
      warmed_ = code_->start(skipped.block);
    } else {
      warmed_ = w.uniforms;
      if (another) code_->become(skipped.block, warmed_);
      const std::int64_t by = another ? step - 1 - code_->done(steps, warmed_) : step;
      if (by > code_->remaining(steps, warmed_)) continue;
      code_->jump(steps, warmed_, by);
    }
    warm_caches(w, begins, ends, memory);
  }
}

void Core::warm_caches(const Warp& w, bool from_begin, bool to_end, DeviceMemory& memory) {
  int pc = from_begin ? 0 : w.pc;
  bool in_last = from_begin;  // of the iterations that the step touches
  while (to_end || !in_last || pc != w.pc) {
    const WarpOp& op = code_->ops()[static_cast<std::size_t>(pc)];
    switch (op.kind) {
      case Kind::kLoop:
        pc = code_->enter(code_->loop(op.number), warmed_) ? pc + 1 : op.jump;
        break;
      case Kind::kEndLoop: {
        const bool goes_on = code_->next(code_->loop(op.number), warmed_);
        pc = goes_on ? op.jump : pc + 1;
        if (op.number != code_->step_loop()) break;
        if (!to_end && (in_last || !goes_on)) return;
        in_last = true;
        break;
      }
      case Kind::kIf:
        pc = code_->holds(op.number, warmed_) ? pc + 1 : op.jump;
        break;
      case Kind::kRole:
        pc = code_->is_of(op, w.number) ? pc + 1 : op.jump;
        break;
      case Kind::kLoad:
      case Kind::kStore:
      case Kind::kAsync:
        touch(w, op, memory);
        ++pc;
        break;
      case Kind::kTmaLoad:
      case Kind::kTmaStore:
        if (w.number == code_->box(op.number).warp()) {
          warm_box(op, warmed_, memory);
          if (sampled_) visit_shadows(warmed_, [&](const Uniforms& u) { warm_box(op, u, memory); });
        }
        ++pc;
        break;
      case Kind::kEnd:
        return;
      case Kind::kSegment:
      case Kind::kWgmma:
      case Kind::kWgmmaCommitWait:
      case Kind::kCommit:
      case Kind::kWait:
      case Kind::kBarrier:
      case Kind::kMbarrierArrive:
      case Kind::kMbarrierWait:
        ++pc;
        break;
    }
  }
}

void Core::touch(const Warp& w, const WarpOp& op, DeviceMemory& memory) {
  const AccessPatterns::Found found = code_->access(op.number).at(w.number, warmed_);
  const AccessPattern& p = *found.pattern;
  const bool cached = op.kind == Kind::kLoad && cache_.lines() > 0;
  warmed_sectors_.clear();  // that the core's cache lacks
  for (const Touch& t : p.touches) {
    const std::int64_t line = found.line + t.line;
    warmed_sectors_.push_back(cached ? cache_.touch(line, own_sectors(t.sectors)).missing : t.sectors);
    if (warmed_sectors_.back() != 0 && !sampled_) memory.expect(line);
  }
  for (std::size_t n = 0; n < p.touches.size(); ++n)
    if (const std::uint32_t sectors = warmed_sectors_[n]; sectors != 0)
      touch_device(memory, found.line + p.touches[n].line, sectors, op.kind == Kind::kStore, p.written_of(n));
  if (sampled_ && (!warmed_sectors_.empty() || op.kind == Kind::kStore)) touch_shadows(w, op, memory);
}

void Core::warm_box(const WarpOp& op, const Uniforms& u, DeviceMemory& memory) {
  for (const BoxLine& l : code_->box(op.number).lines(u))
    touch_device(memory, l.line, l.sectors, op.kind == Kind::kTmaStore, l.written);
}

}  // namespace tilescope::sim
