// SPDX-License-Identifier: Apache-2.0
// Roles, the mbarriers through which they synchronise, and TMA loads and stores.

#include <algorithm>

#include <fmt/format.h>

#include "base/integer.h"
#include "lower/affine.h"
#include "lower/detail/kernel_run.h"

namespace tilescope::lower {

void KernelRun::run(const WarpSpecialized& w) {
  if (specialized_ || now_->places.size() > 1 || now_->places.back().next < now_->places.back().body->size())
    fail("roles that are not the end of a kernel", 0);
  specialized_ = true;
  std::vector<Crew> crews;
  std::int64_t end = 0;
  for (const WarpRole& r : w.roles) {
    if (r.first_thread < end || r.first_thread % k_.warp != 0 || r.threads % k_.warp != 0)
      fail(fmt::format("role {} is not of warps of its own", r.name), r.first_thread);
    end = r.first_thread + r.threads;
    crews.push_back({crews.size(), r.first_thread, end, now_->lanes, {{&r.body}}, Clock(w.roles.size(), 0), {}});
  }
  if (end > k_.threads) fail("a role of more threads than there are", end);
  for (std::vector<Phase>& stages : mbarriers_)
    for (Phase& p : stages) p.arriving = p.over = Clock(w.roles.size(), 0);
  crews_ = std::move(crews);
  now_ = crews_.data();
}

Phase& KernelRun::phase_of(int mbarrier, std::int64_t phase) {
  std::vector<Phase>& stages = mbarriers_[static_cast<std::size_t>(mbarrier)];
  return stages[static_cast<std::size_t>(base::floor_mod(phase, std::ssize(stages)))];
}

std::int64_t KernelRun::phase_number(int mbarrier, std::int64_t phase) const {
  return base::floor_div(phase, std::ssize(mbarriers_[static_cast<std::size_t>(mbarrier)]));
}

Phase& KernelRun::under_way(int mbarrier, const Affine& number) {
  if (!specialized_) fail("a signal where there are no roles", 0);
  const std::int64_t phase = common(number);
  Phase& p = phase_of(mbarrier, phase);
  settle(mbarrier, p);
  if (p.number != phase_number(mbarrier, phase))
    fail(fmt::format("use {} of {}, of whose slot phase {} is under way", phase,
                     k_.mbarriers[static_cast<std::size_t>(mbarrier)].name, p.number),
         now_->first);
  return p;
}

void KernelRun::settle(int mbarrier, Phase& p) {
  const Mbarrier& s = k_.mbarriers[static_cast<std::size_t>(mbarrier)];
  if (p.arrived > s.arrivals) fail(fmt::format("more arrive for {} than it waits for", s.name), now_->first);
  if (p.arrived < s.arrivals || p.asked != p.to_come) return;
  for (const Landing& l : p.landings)
    for (std::size_t e = 0; e < l.values.size(); ++e) {
      SharedWord& w = shared_[l.buffer][static_cast<std::size_t>(l.offset) + e];
      --w.in_flight;
      w.value = l.values[e];
    }
  Phase next;
  next.number = p.number + 1;
  next.arriving = next.over = p.arriving;
  p = std::move(next);
}

bool KernelRun::is_over(const MbarrierWait& a) {
  if (!specialized_) fail("a signal where there are no roles", 0);
  const std::int64_t phase = common(a.phase);
  const Mbarrier& s = k_.mbarriers[static_cast<std::size_t>(a.mbarrier)];
  // Waiters tell a phase from the one before it alone, so that no more than one turn is over from the beginning.
  if (phase < -s.stages)
    fail(fmt::format("use {} of {}, more than a turn before the first", phase, s.name), now_->first);
  if (phase < 0) return true;
  Phase& p = phase_of(a.mbarrier, phase);
  settle(a.mbarrier, p);
  const std::int64_t passed = p.number - phase_number(a.mbarrier, phase);
  if (passed > 1) fail("a use that is awaited after its slot's next one is over too", now_->first);
  return passed == 1;
}

void KernelRun::run(const MbarrierWait& a) {
  if (common(a.phase) < 0) return;
  const Phase& p = phase_of(a.mbarrier, common(a.phase));
  for (std::size_t c = 0; c < crews_.size(); ++c) now_->seen[c] = std::max(now_->seen[c], p.over[c]);
  now_->met = std::max(now_->met, p.over[now_->number]);
}

void KernelRun::run(const MbarrierArrive& a) {
  if (now_->products_of) fail("an arrival while products still read the scratchpad", now_->first);
  Phase& p = under_way(a.mbarrier, a.phase);
  const std::int64_t warps = (now_->end - now_->first) / k_.warp;
  p.arrived += warps;
  p.to_come += a.bytes * warps;
  ++now_->seen[now_->number];
  for (std::size_t c = 0; c < crews_.size(); ++c) p.arriving[c] = std::max(p.arriving[c], now_->seen[c]);
}

template <class Visit>
void KernelRun::elements_of(const TmaBox& b, const Visit& visit) {
  std::vector<std::int64_t> begin;
  for (const BoxDim& d : b.dims) begin.push_back(common(d.at));
  for (std::int64_t e = 0; e < b.elements(); ++e) {
    std::int64_t rest = e, in_array = 0;
    bool inside = true;
    for (std::size_t d = b.dims.size(); d-- > 0; rest /= b.dims[d].box) {
      const std::int64_t at = begin[d] + rest % b.dims[d].box;
      inside = inside && at >= 0 && at < b.dims[d].extent;
      in_array += at * b.dims[d].stride;
    }
    if (inside) visit(e, in_array);
  }
}

void KernelRun::run(const TmaStore& b) {
  const auto from = static_cast<std::size_t>(b.shared.buffer);
  const std::int64_t begin = begin_of({b.shared.buffer, constant(common(b.shared.offset))}, b.elements(), now_->first);
  elements_of(b, [&](std::int64_t e, std::int64_t at) {
    if (!shared_[from][static_cast<std::size_t>(begin + e)].published)
      fail(fmt::format("{}[{}] is stored and was not published", k_.buffers[from].name, begin + e), now_->first);
    // Not as the thread that asks: what no thread but it knows of is not there yet.
    write(static_cast<std::size_t>(b.memory), at, now_->first, read(from, begin + e, kSeveral));
  });
}

void KernelRun::run(const TmaLoad& b) {
  Phase& p = under_way(b.mbarrier, b.phase);
  const auto to = static_cast<std::size_t>(b.shared.buffer);
  const std::int64_t elements = b.elements();
  Landing l{to, common(b.shared.offset), now_->first, std::vector<double>(static_cast<std::size_t>(elements), 0.0)};
  begin_of({b.shared.buffer, constant(l.offset)}, elements, now_->first);
  elements_of(b, [&](std::int64_t e, std::int64_t at) {
    l.values[static_cast<std::size_t>(e)] = read(static_cast<std::size_t>(b.memory), at, now_->first);
  });
  for (std::int64_t e = 0; e < elements; ++e) deliver(to, l.offset + e);
  p.asked += elements * base::size_of(k_.buffers[to].dtype).n;
  p.landings.push_back(std::move(l));
}

void KernelRun::deliver(std::size_t buffer, std::int64_t at) {
  SharedWord& w = shared_[buffer][static_cast<std::size_t>(at)];
  const std::string& name = k_.buffers[buffer].name;
  if (w.in_flight > 0) fail(fmt::format("{}[{}] is copied to while another copy is under way", name, at), now_->first);
  if (w.reader != kNoThread && w.read_at >= now_->seen[w.read_by])
    fail(fmt::format("{}[{}] is copied to and may still be read", name, at), now_->first);
  overwrite_others(buffer, at, now_->first);
  w = {};
  w.written = w.published = true;
  w.in_flight = 1;
}

}  // namespace tilescope::lower
