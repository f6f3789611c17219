// SPDX-License-Identifier: Apache-2.0
// A core of a part of a chip (chip_part.h): what its blocks ask of the device's memory becomes what is sampled of what
// they and their shadow blocks ask for.
//
// A shadow block makes the same accesses at the same moment, from the same place of its loops, and finds in its core's
// cache what the one that runs finds there.

#include <algorithm>
#include <bit>

#include "sim/gpu/detail/core.h"

namespace tilescope::sim {
namespace {

// As large a part of the sectors as `missing` is of `touched`, at the same end.
std::uint32_t like(std::uint32_t sectors, std::uint32_t missing, std::uint32_t touched) {
  const int all = std::popcount(touched), some = std::popcount(missing & touched), of = std::popcount(sectors);
  if (some == all) return sectors;
  const int kept = std::max(1, (2 * of * some + all) / (2 * all));
  const bool high = (missing & touched) >> (std::bit_width(touched) - 1) != 0;
  for (int n = of; n > kept; --n) sectors &= high ? sectors - 1 : ~std::bit_floor(sectors);
  return sectors;
}

}  // namespace

void Core::send_sampled(MemoryRequest r, int copy) {
  const std::optional<std::int64_t> number = sampled_->number(r.line);
  if (!number && r.ticket == ReplyPairs::kNobody) return;
  r.line = number.value_or(ReplyPairs::kNotServed);
  outbox_.push_back(r);
  copies_.push_back(copy);
}

void Core::sample_access(const Warp& w, const WarpOp& op, const AccessPatterns::Found& found, std::size_t first) {
  const std::vector<Touch>& touches = found.pattern->touches;
  if (outbox_.size() == first) {
    missed_by_[static_cast<std::size_t>(op.number)].touched += std::ssize(touches);
    return;
  }
  const std::size_t lines = touches.size();
  accesses_.clear();
  for (std::size_t i = first, n = 0; i < outbox_.size(); ++i, ++n) {
    while (found.line + touches[n].line != outbox_[i].line) ++n;
    accesses_.push_back({outbox_[i], n, touches[n].sectors});
  }
  outbox_.resize(first);
  const ShadowBlocks::OfAccess& shadows = shadows_->of(w.uniforms[lower::kBlockIndex], op.number);
  for (const CacheAccess& a : accesses_) {
    send_sampled(a.request, op.number);
    MemoryRequest again = a.request;
    again.ticket = ReplyPairs::kNobody;
    for (std::int64_t n = 0; n < shadows.as_runs; ++n) send_sampled(again, op.number);
  }
  Misses& misses = missed_by_[static_cast<std::size_t>(op.number)];
  misses.touched += std::ssize(touches);
  misses.missed += std::ssize(accesses_);
  for (const ShadowBlocks::Alike& alike : shadows.others) {
    become_shadow(alike.block, w.uniforms);
    const AccessPatterns::Found other = code_->access(op.number).at(w.number, shadow_);
    const AccessPattern& p = *other.pattern;
    const auto send = [&](const CacheAccess& a, std::size_t touch) {
      if (touch >= p.touches.size()) return;
      const std::uint32_t sectors = p.touches[touch].sectors;
      MemoryRequest r = a.request;
      r.ticket = ReplyPairs::kNobody;
      r.line = other.line + p.touches[touch].line;
      if (sectors != a.touched) r.sectors = like(sectors, a.request.sectors, a.touched);
      r.written = p.written_of(touch);
      for (std::int64_t n = 0; n < alike.times; ++n) send_sampled(r, op.number);
    };
    for (const CacheAccess& a : accesses_) send(a, a.touch);
    if (accesses_.back().touch + 1 != lines) continue;
    for (std::size_t more = lines; more < p.touches.size(); ++more) send(accesses_.back(), more);
  }
}

// An access by which the block that runs touches nothing: its shadow blocks miss as much as it usually does.
void Core::sample_orphans(const Warp& w, const WarpOp& op, Cycle at) {
  const bool cached = op.kind == WarpOp::Kind::kLoad && cache_.lines() > 0;
  Misses& misses = missed_by_[static_cast<std::size_t>(op.number)];
  visit_shadows(w.uniforms, [&](const Uniforms& u) {
    const AccessPatterns::Found other = code_->access(op.number).at(w.number, u);
    const AccessPattern& p = *other.pattern;
    for (std::size_t n = 0; n < p.touches.size(); ++n) {
      if (cached) {
        misses.owed += misses.missed;
        if (misses.owed < misses.touched || misses.touched == 0) continue;
        misses.owed -= misses.touched;
      }
      MemoryRequest r{number_,
                      ReplyPairs::kNobody,
                      op.kind == WarpOp::Kind::kStore,
                      other.line + p.touches[n].line,
                      p.touches[n].sectors,
                      at};
      r.written = p.written_of(n);
      send_sampled(r, op.number);
    }
  });
}

std::vector<std::vector<BoxLine>> Core::shadow_boxes(const Warp& w, const WarpOp& op) {
  std::vector<std::vector<BoxLine>> boxes;
  if (sampled_) visit_shadows(w.uniforms, [&](const Uniforms& u) { boxes.push_back(code_->box(op.number).lines(u)); });
  return boxes;
}

void Core::sample_box_line(const Box& b, std::size_t n) {
  const MemoryRequest own = outbox_.back();
  outbox_.pop_back();
  send_sampled(own, b.copy);
  for (const std::vector<BoxLine>& lines : b.shadows) {
    const std::size_t end = n + 1 == b.lines.size() ? lines.size() : n + 1;
    for (std::size_t i = n; i < std::min(end, lines.size()); ++i) {
      MemoryRequest r = own;
      r.ticket = ReplyPairs::kNobody;
      r.line = lines[i].line;
      r.sectors = lines[i].sectors;
      r.written = lines[i].written;
      send_sampled(r, b.copy);
    }
  }
}

// Lines that the block which runs has in its core's cache its shadow blocks have in theirs.
void Core::touch_shadows(const Warp& w, const WarpOp& op, DeviceMemory& memory) {
  const auto misses = [](std::uint32_t sectors) { return sectors != 0; };
  if (!warmed_sectors_.empty() && std::none_of(warmed_sectors_.begin(), warmed_sectors_.end(), misses)) return;
  for (const ShadowBlocks::Alike& alike : shadows_->of(warmed_[lower::kBlockIndex], op.number).others) {
    become_shadow(alike.block, warmed_);
    const AccessPatterns::Found other = code_->access(op.number).at(w.number, shadow_);
    const AccessPattern& p = *other.pattern;
    for (std::size_t n = 0; n < p.touches.size(); ++n)
      if (warmed_sectors_.empty() || warmed_sectors_[std::min(n, warmed_sectors_.size() - 1)] != 0)
        touch_device(memory, other.line + p.touches[n].line, p.touches[n].sectors, op.kind == WarpOp::Kind::kStore,
                     p.written_of(n));
  }
}

void Core::touch_device(DeviceMemory& memory, std::int64_t line, std::uint32_t sectors, bool write,
                        const Written& written) {
  if (!sampled_) return memory.touch(number_, line, sectors, write, written);
  if (const auto number = sampled_->number(line)) memory.touch(number_, *number, sectors, write, written);
}

}  // namespace tilescope::sim
