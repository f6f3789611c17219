// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/part_requests.h"

#include <algorithm>
#include <bit>

#include "sim/gpu/detail/reply_pairs.h"

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

void PartRequests::prepare(WarpCode& code) {
  code_ = &code;
  missed_by_.assign(code.copies(), {});
  shadows_.emplace(code);
}

template <class Visit>
void PartRequests::visit_shadows(const Uniforms& u, Visit visit) {
  const std::int64_t runs = u[lower::kBlockIndex];
  const BlockGroups::Group group = code_->groups()->group_of(runs);
  for (std::int64_t block = group.first; block < group.end; block += group.stride)
    if (block != runs) visit(shadow(block, u));
}

const Uniforms& PartRequests::shadow(std::int64_t block, const Uniforms& u) {
  shadow_ = u;
  code_->indices().set(shadow_, lower::kBlockIndex, block);
  return shadow_;
}

void PartRequests::send(MemoryRequest r, int copy) {
  const std::optional<std::int64_t> known = lines_.number(r.line);
  if (!known && r.ticket == ReplyPairs::kNobody) return;
  r.line = known.value_or(ReplyPairs::kNotServed);
  outbox_.push_back(r);
  copies_.push_back(copy);
}

void PartRequests::access(const Warp& w, const WarpOp& op, const AccessPatterns::Found& found, std::size_t first) {
  const std::vector<Touch>& touches = found.pattern->touches;
  Misses& misses = missed_by_[static_cast<std::size_t>(op.number)];
  misses.touched += std::ssize(touches);
  if (outbox_.size() == first) return;
  const std::size_t lines = touches.size();
  asked_.clear();
  for (std::size_t i = first, n = 0; i < outbox_.size(); ++i, ++n) {
    while (found.line + touches[n].line != outbox_[i].line) ++n;
    asked_.push_back({outbox_[i], n, touches[n].sectors});
  }
  outbox_.resize(first);
  const ShadowBlocks::OfAccess& shadows = shadows_->of(w.uniforms[lower::kBlockIndex], op.number);
  for (const Asked& a : asked_) {
    send(a.request, op.number);
    MemoryRequest again = a.request;
    again.ticket = ReplyPairs::kNobody;
    for (std::int64_t n = 0; n < shadows.as_runs; ++n) send(again, op.number);
  }
  misses.missed += std::ssize(asked_);
  for (const ShadowBlocks::Alike& alike : shadows.others) {
    const AccessPatterns::Found other = code_->access(op.number).at(w.number, shadow(alike.block, w.uniforms));
    const AccessPattern& p = *other.pattern;
    const auto send_like = [&](const Asked& a, std::size_t touch) {
      if (touch >= p.touches.size()) return;
      const std::uint32_t sectors = p.touches[touch].sectors;
      MemoryRequest r = a.request;
      r.ticket = ReplyPairs::kNobody;
      r.line = other.line + p.touches[touch].line;
      if (sectors != a.touched) r.sectors = like(sectors, a.request.sectors, a.touched);
      r.written = p.written_of(touch);
      for (std::int64_t n = 0; n < alike.times; ++n) send(r, op.number);
    };
    for (const Asked& a : asked_) send_like(a, a.touch);
    if (asked_.back().touch + 1 != lines) continue;
    for (std::size_t more = lines; more < p.touches.size(); ++more) send_like(asked_.back(), more);
  }
}

void PartRequests::access_of_shadows(const Warp& w, const WarpOp& op, bool cached, Cycle at) {
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
      MemoryRequest r{core_,
                      ReplyPairs::kNobody,
                      op.kind == WarpOp::Kind::kStore,
                      other.line + p.touches[n].line,
                      p.touches[n].sectors,
                      at};
      r.written = p.written_of(n);
      send(r, op.number);
    }
  });
}

std::vector<std::vector<BoxLine>> PartRequests::shadow_boxes(const Uniforms& u, const TmaBoxLines& box) {
  std::vector<std::vector<BoxLine>> boxes;
  visit_shadows(u, [&](const Uniforms& shadow) { boxes.push_back(box.lines(shadow)); });
  return boxes;
}

void PartRequests::box_line(const std::vector<std::vector<BoxLine>>& shadows, std::size_t n, std::size_t lines,
                            int copy) {
  const MemoryRequest own = outbox_.back();
  outbox_.pop_back();
  send(own, copy);
  for (const std::vector<BoxLine>& others : shadows) {
    const std::size_t end = n + 1 == lines ? others.size() : n + 1;
    for (std::size_t i = n; i < std::min(end, others.size()); ++i) {
      MemoryRequest r = own;
      r.ticket = ReplyPairs::kNobody;
      r.line = others[i].line;
      r.sectors = others[i].sectors;
      r.written = others[i].written;
      send(r, copy);
    }
  }
}

}  // namespace tilescope::sim
