// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/loop_ring.h"

#include <algorithm>
#include <utility>

namespace tilescope::lower {

LoopRing::LoopRing(IndexMaker& maker, const StepLoop& loop, std::int64_t steps, std::int64_t stages)
    : maker_(maker),
      loop_(loop),
      steps_(steps),
      stages_(stages),
      now_(maker.quotient(loop.step, 1, stages, "slot")),
      next_(maker.quotient(loop.step + constant(stages - 1), 1, stages, "next_slot")) {}

bool LoopRing::asynchronous() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const RingMember& m) { return m.parts.transfers.any_asynchronous(); });
}

Statement LoopRing::when_more(Body body) {
  const Affine next = loop_.step + constant(stages_ - 1);
  std::vector<Guard> more = {{next, steps_}};
  for (const Guard& g : loop_.not_after_last(maker_, next)) more.push_back(g);
  return {If{std::move(more), std::move(body)}, {}};
}

// Waits count groups, so that a step which is not there has an empty one.
Body LoopRing::before() {
  Body body;
  for (RingMember& m : members_) body = with(std::move(body), m.parts.transfers.copy_once(m.at(constant(0))));
  for (std::int64_t s = 0; s + 1 < stages_; ++s) {
    Body copies;
    for (RingMember& m : members_) {
      if (s >= steps_) continue;
      copies = with(std::move(copies), m.parts.transfers.start(m.at(constant(s)), constant(s)));
      copies = with(std::move(copies), m.parts.transfers.copy(m.at(constant(s)), constant(s)));
    }
    std::vector<Guard> when = loop_.not_after_last(maker_, constant(s));
    if (when.empty())
      body = with(std::move(body), std::move(copies));
    else if (!copies.empty())
      body.push_back({If{std::move(when), std::move(copies)}, {}});
    if (asynchronous()) body.push_back({Commit{}, {}});
  }
  return body;
}

Body LoopRing::begin_step() {
  Body body, copies, loads;
  if (asynchronous()) body.push_back({Wait{stages_ - 2}, {}});
  Body fence;  // one serves all
  for (const RingMember& m : members_)
    if (fence.empty()) fence = m.parts.products.before_reads();
  body = with(std::move(body), std::move(fence));
  body = with(std::move(body), at_barrier("this step's tiles are whole, the last step's are free"));
  for (RingMember& m : members_) {
    const StepPosition at = m.at(loop_.step + constant(stages_ - 1));
    copies = with(std::move(copies), m.parts.transfers.start(at, next_));
    Transfers& t = m.parts.transfers;
    loads = with(std::move(loads), t.in_one_batch() ? t.load(at) : t.copy(at, next_));
  }
  if (!copies.empty()) body.push_back(when_more(std::move(copies)));
  if (asynchronous()) body.push_back({Commit{}, {}});
  if (!loads.empty()) body.push_back(when_more(std::move(loads)));
  return body;
}

Body LoopRing::end_step() {
  Body kept, body;
  for (RingMember& m : members_)
    if (m.parts.transfers.in_one_batch()) kept = with(std::move(kept), m.parts.transfers.keep(next_));
  if (!kept.empty()) body.push_back(when_more(std::move(kept)));
  return body;
}

}  // namespace tilescope::lower
