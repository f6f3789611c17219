// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/mbarriers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"

namespace tilescope::lower {

void Mbarriers::begin(std::size_t roles) {
  phases_.clear();
  Phase first;
  first.arriving = first.over = Clock(roles, 0);
  for (const Mbarrier& m : k_.mbarriers) phases_.emplace_back(static_cast<std::size_t>(m.stages), first);
}

void Mbarriers::end() const {
  for (const std::vector<Phase>& stages : phases_)
    for (const Phase& p : stages)
      if (!p.landings.empty()) throw Mistake("a TMA load that no warp waited for", 0);
}

Mbarriers::Phase& Mbarriers::phase_of(int mbarrier, std::int64_t phase) {
  std::vector<Phase>& stages = phases_[static_cast<std::size_t>(mbarrier)];
  return stages[static_cast<std::size_t>(base::floor_mod(phase, std::ssize(stages)))];
}

std::int64_t Mbarriers::number_of(int mbarrier, std::int64_t phase) const {
  return base::floor_div(phase, std::ssize(phases_[static_cast<std::size_t>(mbarrier)]));
}

Mbarriers::Phase& Mbarriers::open(int mbarrier, const Affine& number, const Crew& by) {
  if (!by.of_role) throw Mistake("an mbarrier where there are no roles", 0);
  const std::int64_t phase = by.common(number);
  Phase& p = phase_of(mbarrier, phase);
  settle(mbarrier, p, by);
  if (p.number != number_of(mbarrier, phase))
    throw Mistake(fmt::format("phase {} of {}, of whose stage completion {} is in progress", phase,
                              this->mbarrier(mbarrier).name, p.number),
                  by.first);
  return p;
}

void Mbarriers::settle(int mbarrier, Phase& p, const Crew& by) {
  const Mbarrier& m = this->mbarrier(mbarrier);
  if (p.arrived > m.arrivals) throw Mistake(fmt::format("more arrive for {} than it waits for", m.name), by.first);
  if (p.arrived < m.arrivals || p.received != p.expected) return;
  for (const Landing& l : p.landings) memory_.land(l);
  Phase next;
  next.number = p.number + 1;
  next.arriving = next.over = p.arriving;
  p = std::move(next);
}

bool Mbarriers::is_over(const MbarrierWait& w, const Crew& by) {
  if (!by.of_role) throw Mistake("an mbarrier where there are no roles", 0);
  const std::int64_t phase = by.common(w.phase);
  const Mbarrier& m = mbarrier(w.mbarrier);
  // Waiters tell a phase from the one before it alone, so that no more than one of a stage is over from the beginning.
  if (phase < -m.stages)
    throw Mistake(fmt::format("phase {} of {}, more than one of its stage before the first", phase, m.name), by.first);
  if (phase < 0) return true;
  Phase& p = phase_of(w.mbarrier, phase);
  settle(w.mbarrier, p, by);
  const std::int64_t passed = p.number - number_of(w.mbarrier, phase);
  if (passed > 1) throw Mistake("a wait for a phase after its stage's next one is over too", by.first);
  return passed == 1;
}

void Mbarriers::wait(const MbarrierWait& w, Crew& by) {
  const std::int64_t phase = by.common(w.phase);
  if (phase < 0) return;
  const Phase& p = phase_of(w.mbarrier, phase);
  for (std::size_t c = 0; c < by.seen.size(); ++c) by.seen[c] = std::max(by.seen[c], p.over[c]);
  by.met = std::max(by.met, p.over[by.number]);
  if (by.tensor_commit == std::pair{w.mbarrier, phase}) by.tensor_products = false;
}

void Mbarriers::arrive(const MbarrierArrive& a, Crew& by) {
  if (by.products_of) throw Mistake("an arrival while products still read the scratchpad", by.first);
  if (by.tensor_products) throw Mistake("an arrival while products may still read the scratchpad", by.first);
  const std::int64_t warps = by.threads() / k_.warp;
  arrive(a.mbarrier, a.phase, warps, a.bytes * warps, by);
}

// The commit arrives as the thread that issued the crew's products.
void Mbarriers::arrive(const Tcgen05Commit& c, Crew& by) {
  arrive(c.mbarrier, c.phase, 1, 0, by);
  by.tensor_commit = {c.mbarrier, by.common(c.phase)};
}

void Mbarriers::arrive(int mbarrier, const Affine& phase, std::int64_t arrivals, std::int64_t bytes, Crew& by) {
  Phase& p = open(mbarrier, phase, by);
  p.arrived += arrivals;
  p.expected += bytes;
  ++by.seen[by.number];
  for (std::size_t c = 0; c < by.seen.size(); ++c) p.arriving[c] = std::max(p.arriving[c], by.seen[c]);
}

void Mbarriers::add(const TmaLoad& load, Landing data, std::int64_t bytes, const Crew& by) {
  Phase& p = phase_of(load.mbarrier, by.common(load.phase));
  p.received += bytes;
  p.landings.push_back(std::move(data));
}

}  // namespace tilescope::lower
