// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/functional_warming.h"

#include <algorithm>

namespace tilescope::sim {

using Kind = WarpOp::Kind;

void FunctionalWarming::step(std::span<const Warp> warps, const SkippedSteps& skipped, std::int64_t step,
                             DeviceMemory& memory) {
  const CodeLoops& loops = code_.loops();
  const CodeLoop& steps = loops[code_.step_loop()];
  const bool another = skipped.block >= 0, begins = another && step == 0,
             ends = skipped.ends && step + 1 == skipped.steps;
  for (const Warp& w : warps) {
    if (begins) {
      uniforms_ = code_.start(skipped.block);
    } else {
      uniforms_ = w.uniforms;
      if (another) code_.become(skipped.block, uniforms_);
      const std::int64_t by = another ? step - 1 - CodeLoops::done(steps, uniforms_) : step;
      if (by > loops.remaining(steps, uniforms_)) continue;
      loops.jump(steps, uniforms_, by);
    }
    walk(w, begins, ends, memory);
  }
}

void FunctionalWarming::walk(const Warp& w, bool from_begin, bool to_end, DeviceMemory& memory) {
  int pc = from_begin ? 0 : w.pc;
  bool in_last = from_begin;  // of the iterations that the step touches
  while (to_end || !in_last || pc != w.pc) {
    const WarpOp& op = code_.ops()[static_cast<std::size_t>(pc)];
    switch (op.kind) {
      case Kind::kLoop:
        pc = code_.loops().enter(code_.loops()[op.number], uniforms_) ? pc + 1 : op.jump;
        break;
      case Kind::kEndLoop: {
        const bool goes_on = code_.loops().next(code_.loops()[op.number], uniforms_);
        pc = goes_on ? op.jump : pc + 1;
        if (op.number != code_.step_loop()) break;
        if (!to_end && (in_last || !goes_on)) return;
        in_last = true;
        break;
      }
      case Kind::kIf:
        pc = code_.holds(op.number, uniforms_) ? pc + 1 : op.jump;
        break;
      case Kind::kRole:
        pc = code_.is_of(op, w.number) ? pc + 1 : op.jump;
        break;
      case Kind::kLoad:
      case Kind::kStore:
      case Kind::kAsync:
        touch(w, op, memory);
        ++pc;
        break;
      case Kind::kTmaLoad:
      case Kind::kTmaStore:
        if (const TmaBoxLines& box = code_.box(op.number); w.number == box.warp()) {
          touch_box(op, box.lines(uniforms_), memory);
          if (part_ != nullptr)
            for (const auto& lines : part_->shadow_boxes(uniforms_, box)) touch_box(op, lines, memory);
        }
        ++pc;
        break;
      case Kind::kEnd:
        return;
      case Kind::kSegment:
      case Kind::kWgmma:
      case Kind::kWgmmaCommitWait:
      case Kind::kTensorProduct:
      case Kind::kTensorCommit:
      case Kind::kTensorLoad:
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

void FunctionalWarming::touch(const Warp& w, const WarpOp& op, DeviceMemory& memory) {
  const AccessPatterns::Found found = code_.access(op.number).at(w.number, uniforms_);
  const AccessPattern& p = *found.pattern;
  const bool cached = op.kind == Kind::kLoad && cache_.holds_lines();
  sectors_.clear();
  for (const Touch& t : p.touches) {
    const std::int64_t line = found.line + t.line;
    sectors_.push_back(cached ? cache_.touch(line, t.sectors).missing : t.sectors);
    if (sectors_.back() != 0 && part_ == nullptr) memory.expect(line);
  }
  for (std::size_t n = 0; n < p.touches.size(); ++n)
    if (const std::uint32_t sectors = sectors_[n]; sectors != 0)
      touch_device(memory, found.line + p.touches[n].line, sectors, op.kind == Kind::kStore, p.written_of(n));
  if (part_ != nullptr && (!sectors_.empty() || op.kind == Kind::kStore)) touch_of_shadows(w, op, memory);
}

// Lines that the block which runs has in its core's cache its shadow blocks have in theirs.
void FunctionalWarming::touch_of_shadows(const Warp& w, const WarpOp& op, DeviceMemory& memory) {
  const auto misses = [](std::uint32_t sectors) { return sectors != 0; };
  if (!sectors_.empty() && std::none_of(sectors_.begin(), sectors_.end(), misses)) return;
  part_->visit_accesses(w, uniforms_, op.number, [&](const AccessPatterns::Found& found) {
    const AccessPattern& p = *found.pattern;
    for (std::size_t n = 0; n < p.touches.size(); ++n)
      if (sectors_.empty() || sectors_[std::min(n, sectors_.size() - 1)] != 0)
        touch_device(memory, found.line + p.touches[n].line, p.touches[n].sectors, op.kind == Kind::kStore,
                     p.written_of(n));
  });
}

void FunctionalWarming::touch_box(const WarpOp& op, const std::vector<BoxLine>& lines, DeviceMemory& memory) const {
  for (const BoxLine& l : lines) touch_device(memory, l.line, l.sectors, op.kind == Kind::kTmaStore, l.written);
}

// Of a part of a chip, where the line is the part's.
void FunctionalWarming::touch_device(DeviceMemory& memory, std::int64_t line, std::uint32_t sectors, bool write,
                                     const Written& written) const {
  if (part_ == nullptr) return memory.touch(core_, line, sectors, write, written);
  if (const auto number = part_->number(line)) memory.touch(core_, *number, sectors, write, written);
}

}  // namespace tilescope::sim
