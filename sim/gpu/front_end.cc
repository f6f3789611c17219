// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/front_end.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

using Kind = WarpOp::Kind;
using State = Warp::State;
using Event = ResidentWarps::Event;

// Whether the operation is seen by other warps, or sees what they do.
bool meets_others(Kind kind) {
  switch (kind) {
    case Kind::kSegment:
    case Kind::kWgmma:
    case Kind::kTensorProduct:
    case Kind::kTensorCommit:
    case Kind::kTensorLoad:
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAsync:
    case Kind::kWait:
    case Kind::kMbarrierArrive:
    case Kind::kMbarrierWait:
    case Kind::kTmaLoad:
    case Kind::kTmaStore:
      return true;
    case Kind::kLoop:
    case Kind::kEndLoop:
    case Kind::kIf:
    case Kind::kRole:
    case Kind::kWgmmaCommitWait:
    case Kind::kCommit:
    case Kind::kBarrier:
    case Kind::kEnd:
      return false;
  }
  return true;
}

}  // namespace

Stall FrontEnd::waited_for(const Warp& w) const {
  switch (w.state) {
    case State::kWaitsForLoads:
    case State::kWaitsForCopies:
      return w.arrived()->from;
    case State::kAtBarrier:
      return Stall::kBarrier;
    case State::kWaitsForMbarrier:
      return warps_.block(w.block).mbarriers.over(w.mbarrier, w.phase).value_or(BlockMbarriers::Last{}).what;
    case State::kWaitsForStores:
      return Stall::kScratchpad;
    case State::kWaitsForMisses:
      return memory_.last_from();
    case State::kIsLaunched:
    case State::kRuns:
    case State::kEnded:
      break;
  }
  return Stall::kDispatch;
}

void FrontEnd::resume(Warp& w, Cycle now, Cycle until) {
  if (w.state != State::kRuns) record_.stall(w, waited_for(w), now);
  w.state = State::kRuns;
  w.queued = false;
  Cycle t = now;
  while (true) {
    const WarpOp& op = code_->ops()[static_cast<std::size_t>(w.pc)];
    if (t > now && meets_others(op.kind) && (t >= until || warps_.due_before(t))) break;
    const std::optional<Cycle> then = step(w, op, t);
    if (!then) return;
    t = *then;
  }
  warps_.push(w, t);
}

std::optional<Cycle> FrontEnd::step(Warp& w, const WarpOp& op, Cycle t) {
  switch (op.kind) {
    case Kind::kLoop:
    case Kind::kEndLoop:
      return run_loop(w, op, t);
    case Kind::kIf:
      w.pc = code_->holds(op.number, w.uniforms) ? w.pc + 1 : op.jump;
      return t;
    case Kind::kRole:
      w.pc = code_->is_of(op, w.number) ? w.pc + 1 : op.jump;
      return t;
    case Kind::kSegment:
      if (op.uses != 0 && !wait_for_loads(w, op.uses, t)) return std::nullopt;
      return segments_.run(w, code_->segment(op.number).at(w.number, w.uniforms), t);
    case Kind::kWgmma:
      return segments_.begin_product(w, code_->segment(op.number).at(w.number, w.uniforms), t);
    case Kind::kWgmmaCommitWait:
      return wait_for_wgmma(w, t);
    case Kind::kTensorProduct:
      return segments_.issue_tensor_product(w, code_->segment(op.number).at(w.number, w.uniforms), t);
    case Kind::kTensorCommit:
      return arrive(w, op, t, w.tensor_end);
    case Kind::kTensorLoad:
      return segments_.load_tensor(w, op.number, t);
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAsync:
      if (op.uses != 0 && !wait_for_loads(w, op.uses, t)) return std::nullopt;
      return accesses_.access(w, op, t);
    case Kind::kCommit:
      w.copies.emplace_back();
      ++w.pc;
      return t;
    case Kind::kWait:
      return wait_for_copies(w, w.open_copies() - op.number, t);
    case Kind::kBarrier:
      return reach_barrier(w, t);
    case Kind::kMbarrierArrive:
      return arrive(w, op, t);
    case Kind::kMbarrierWait:
      return await(w, op, t);
    case Kind::kTmaLoad:
      return load_box(w, op, t);
    case Kind::kTmaStore:
      return store_box(w, op, t);
    case Kind::kEnd:
      return end(w, t);
  }
  return t;
}

std::optional<Cycle> FrontEnd::run_loop(Warp& w, const WarpOp& op, Cycle t) {
  const CodeLoops& loops = code_->loops();
  const CodeLoop& l = loops[op.number];
  const bool begins = op.kind == Kind::kLoop;
  const bool goes_on = begins ? loops.enter(l, w.uniforms) : loops.next(l, w.uniforms);
  if (begins)
    w.pc = goes_on ? w.pc + 1 : op.jump;
  else
    w.pc = goes_on ? op.jump : w.pc + 1;
  if (op.number == code_->step_loop()) {
    w.in_steps = goes_on;
    if (goes_on) {
      ++record_.statistics->warp_steps;
      ++warps_.block(w.block).steps_begun;
    }
  }
  return t;
}

std::optional<Cycle> FrontEnd::wait_for_wgmma(Warp& w, Cycle t) {
  const Cycle then = std::max(t, w.wgmma_end);
  record_.stall(w, Stall::kIssue, then);
  ++w.pc;
  return then;
}

// --- waits

std::optional<Cycle> FrontEnd::wait_for_loads(Warp& w, LoadGroups groups, Cycle t) {
  w.state = State::kWaitsForLoads;
  w.waits_for = groups;
  const std::optional<InFlight> last = w.arrived();
  if (last && last->ready <= t) {
    w.state = State::kRuns;
    return t;
  }
  if (last) warps_.push(w, last->ready);
  return std::nullopt;
}

std::optional<Cycle> FrontEnd::wait_for_copies(Warp& w, std::int64_t until, Cycle t) {
  w.state = State::kWaitsForCopies;
  w.waits_until = std::max(until, w.copies_begin);
  const std::optional<InFlight> last = w.arrived();
  if (last && last->ready <= t) {
    w.copies.erase(w.copies.begin(), w.copies.begin() + (w.waits_until - w.copies_begin));
    w.copies_begin = w.waits_until;
    w.state = State::kRuns;
    ++w.pc;
    return t;
  }
  if (last) warps_.push(w, last->ready);
  return std::nullopt;
}

// --- barriers and mbarriers

std::optional<Cycle> FrontEnd::reach_barrier(Warp& w, Cycle t) {
  ++w.pc;
  w.state = State::kAtBarrier;
  ResidentBlock& b = warps_.block(w.block);
  ++b.at_barrier;
  b.release = std::max(b.release, t);
  if (b.at_barrier < b.running) return std::nullopt;
  b.at_barrier = 0;
  warps_.push(Event::Kind::kBlock, b.release + 1_cycles, w.block);
  b.release = 0_cycles;
  return std::nullopt;
}

std::int64_t FrontEnd::ran_phase(const Warp& w, const WarpOp& op) const {
  return warps_.block(w.block).mbarriers.ran(code_->mbarrier_phase(op).mbarrier, code_->phase_of(op, w.uniforms));
}

std::nullopt_t FrontEnd::wait_for_phase(Warp& w, int mbarrier, std::int64_t phase) {
  w.state = State::kWaitsForMbarrier;
  w.mbarrier = mbarrier;
  w.phase = phase;
  return std::nullopt;
}

// No warp of a right kernel arrives or asks for a phase that is not in progress. One that does stays where it is, which
// is found when nothing goes on any more.
std::nullopt_t FrontEnd::stop(Warp& w, int mbarrier, std::int64_t phase) {
  w.queued = true;
  return wait_for_phase(w, mbarrier, phase);
}

// The warp goes on when the phase is over, which another warp or the TMA engine says where that is not known yet.
std::optional<Cycle> FrontEnd::await(Warp& w, const WarpOp& op, Cycle t) {
  const int mbarrier = code_->mbarrier_phase(op).mbarrier;
  const std::int64_t phase = ran_phase(w, op);
  const auto over = warps_.block(w.block).mbarriers.over(mbarrier, phase);
  if (!over || over->at > t) {
    if (over) warps_.push(w, std::max(over->at, w.since));
    return wait_for_phase(w, mbarrier, phase);
  }
  ++w.pc;
  const Cycle read = issue_.issue_one(w, t) + record_.machine.scratchpad_latency;  // the word that says so
  record_.stall(w, Stall::kScratchpad, read);
  return read;
}

std::optional<Cycle> FrontEnd::arrive(Warp& w, const WarpOp& op, Cycle t, Cycle behind) {
  const MbarrierPhase& s = code_->mbarrier_phase(op);
  const std::int64_t phase = ran_phase(w, op);
  BlockMbarriers& mbarriers = warps_.block(w.block).mbarriers;
  if (!mbarriers.under_way(s.mbarrier, phase)) return stop(w, s.mbarrier, phase);
  ++w.pc;
  const Cycle issued = issue_.issue_one(w, t);
  const Cycle arrived = std::max(issued, behind);
  mbarriers.arrive(s.mbarrier, phase, s.bytes, arrived);
  if (s.cluster)
    warps_.tell_peers(w.block,
                      {.mbarrier = s.mbarrier, .phase = phase, .at = arrived + record_.machine.cluster_latency});
  warps_.wake_waiting(w.block, s.mbarrier, phase);
  return issued;
}

std::optional<Cycle> FrontEnd::load_box(Warp& w, const WarpOp& op, Cycle t) {
  if (w.number != code_->box(op.number).warp()) {
    ++w.pc;
    return t;
  }
  const int mbarrier = code_->mbarrier_phase(op).mbarrier;
  const std::int64_t phase = ran_phase(w, op);
  if (!warps_.block(w.block).mbarriers.under_way(mbarrier, phase)) return stop(w, mbarrier, phase);
  return accesses_.load_box(w, op, mbarrier, phase, t);
}

std::optional<Cycle> FrontEnd::store_box(Warp& w, const WarpOp& op, Cycle t) {
  if (w.number == code_->box(op.number).warp()) return accesses_.store_box(w, op, t);
  ++w.pc;
  return t;
}

std::optional<Cycle> FrontEnd::end(Warp& w, Cycle t) {
  if (const auto then = wait_for_loads(w, ~LoadGroups{0}, t); !then || *then > t) return then;
  const std::int64_t all = w.open_copies() + 1;
  if (w.copies_begin < all) {
    const auto then = wait_for_copies(w, all, t);
    if (!then || *then > t) return then;
    --w.pc;  // a wait goes past itself; this is none
  }
  w.state = State::kEnded;
  ResidentBlock& b = warps_.block(w.block);
  --b.running;
  b.end = std::max(b.end, t);
  if (b.running == 0 && b.boxes == 0) warps_.push(Event::Kind::kDone, b.end, w.block);
  return std::nullopt;
}

}  // namespace tilescope::sim
