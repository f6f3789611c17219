// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/core.h"

#include <algorithm>

#include "base/check.h"
#include "sim/timeline.h"

namespace tilescope::sim {
using Kind = WarpOp::Kind;

Core::Core(int number, const Machine& machine)
    : number_(number),
      machine_(machine),
      issue_free_(static_cast<std::size_t>(machine.limits.partitions), 0),
      pipes_free_(static_cast<std::size_t>(machine.limits.partitions), PipeParts{}),
      beside_free_(static_cast<std::size_t>(machine.limits.partitions), PipeParts{}),
      scratchpad_(machine.scratchpad),
      cache_port_(Rate{}),
      memory_lanes_(machine.memory_lanes),
      own_scratchpad_lanes_(machine.scratchpad_lanes) {
  if (machine.part) sampled_.emplace(*machine.part);
}

void Core::prepare(WarpCode& code, const Occupancy& occupancy, Statistics& statistics) {
  base::check(resident_ == 0 && events_.empty(), "a core is prepared when nothing runs on it");
  code_ = &code;
  statistics_ = &statistics;
  warps_per_block_ = occupancy.warps;
  launched_ = stored_ = ran_until_ = tma_free_ = copies_free_ = 0_cycles;
  missed_by_.assign(sampled_ ? code.copies() : 0, {});
  if (sampled_) shadows_.emplace(code);
  ends_of_misses_.assign(static_cast<std::size_t>(machine_.misses), 0_cycles);
  blocks_.assign(static_cast<std::size_t>(occupancy.blocks_per_core), {});
  warps_.assign(static_cast<std::size_t>(occupancy.blocks_per_core * occupancy.warps), {});
  if (!machine_.cache) return;
  const CoreCacheSpec& c = *machine_.cache;
  std::int64_t bytes = c.bytes;
  if (c.shares_scratchpad) bytes -= occupancy.blocks_per_core * code.indices().kernel().shared_bytes;
  cache_ = SectorCache({std::max<std::int64_t>(0, bytes) / machine_.memory.shape.line, c.ways});
}

void Core::push(Event::Kind kind, Cycle at, int who) { events_.push({kind, at, events_pushed_++, who}); }

void Core::push(Warp& w, Cycle at) {
  w.queued = true;
  push(Event::Kind::kWarp, at, static_cast<int>(&w - warps_.data()));
}

std::optional<Cycle> Core::next() const {
  return events_.empty() ? std::nullopt : std::optional<Cycle>(events_.top().at);
}

void Core::count_stall(Warp& w, Stall why, Cycle until) {
  if (until <= w.since) return;
  statistics_->stall(why) += (until - w.since).count();
  if (timeline_ != nullptr)
    timeline_->warp(number_, w.block, w.number, machine_.stall_names[static_cast<std::size_t>(why)], w.since, until);
  w.since = until;
}

// --- blocks

std::vector<Core::Block>::const_iterator Core::next_place() const {
  const auto free = std::min_element(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) {
    return a.resident != b.resident ? b.resident : a.end < b.end;
  });
  base::check(free != blocks_.end() && !free->resident, "a block starts where there is room");
  return free;
}

Cycle Core::room_since(Cycle now) const {
  const Cycle end = next_place()->end;
  return end > 0_cycles ? end : now;
}

void Core::start(std::int64_t block, Cycle now, Cycle handed_out, Cycle skipped) {
  const auto free = blocks_.begin() + (next_place() - blocks_.cbegin());
  // Its place is its own from when the block before it ended; the chip's `launch` holds what the first blocks wait for.
  const bool succeeds = free->end > 0_cycles;
  const Cycle since = succeeds ? free->end : now;
  const Cycle first =
      succeeds ? std::max(now, std::max(since, handed_out) + machine_.block_launch) : std::max(now, handed_out);
  const auto slot = static_cast<int>(free - blocks_.begin());
  *free = {.resident = true,
           .running = warps_per_block_,
           .stamp = since + skipped,
           .steps_begun = free->steps_begun,
           .mbarriers = BlockMbarriers(code_->indices().kernel().mbarriers)};
  ++resident_;
  const Uniforms uniforms = code_->start(block);
  for (std::int64_t n = 0; n < warps_per_block_; ++n) {
    Warp& w = warps_[static_cast<std::size_t>(slot * warps_per_block_ + n)];
    w = {};
    w.block = slot;
    w.number = n;
    w.state = State::kIsLaunched;
    w.uniforms = uniforms;
    w.since = since;
    w.loads.resize(static_cast<std::size_t>(code_->load_groups()));
    w.copies.resize(1);
  }
  deal_partitions(static_cast<std::size_t>(slot));
  if (timeline_ != nullptr) timeline_->block_started(number_, slot, block, since);
  if (machine_.warp_launch == 0_cycles) {
    push(Event::Kind::kBlock, first, slot);
    return;
  }
  for (std::int64_t n = 0; n < warps_per_block_; ++n) {
    launched_ = std::max(launched_ + machine_.warp_launch, first);
    push(warps_[static_cast<std::size_t>(slot * warps_per_block_ + n)], launched_);
  }
}

void Core::deal_partitions(std::size_t place) {
  const auto first = warps_.begin() + static_cast<std::ptrdiff_t>(place) * warps_per_block_;
  for (Warp& w : std::span(first, static_cast<std::size_t>(warps_per_block_))) {
    w.partition = next_partition_;
    next_partition_ = (next_partition_ + 1) % static_cast<int>(machine_.limits.partitions);
  }
}

void Core::run(Cycle until) {
  ran_until_ = until;
  while (!events_.empty() && events_.top().at < until) {
    const Event e = events_.top();
    events_.pop();
    const auto who = static_cast<std::size_t>(e.who);
    if (e.kind == Event::Kind::kWarp) {
      resume(warps_[who], e.at, until);
    } else if (e.kind == Event::Kind::kBlock) {
      const auto first = who * static_cast<std::size_t>(warps_per_block_);
      for (std::size_t w = first; w < first + static_cast<std::size_t>(warps_per_block_); ++w)
        if (warps_[w].state != State::kEnded) resume(warps_[w], e.at, e.at + 1_cycles);
    } else if (e.kind == Event::Kind::kBoxes) {
      ask_for_lines(e.at, until);
    } else {
      blocks_[who].resident = false;
      if (timeline_ != nullptr) timeline_->block_ended(number_, e.who, e.at);
      --resident_;
      ++finished_.blocks;
      finished_.ends += e.at;
      finished_.stamps += blocks_[who].stamp;
      finished_.last = std::max(finished_.last, e.at);
    }
  }
}

// The warp goes on as long as no other warp of the core has something to do first.
void Core::resume(Warp& w, Cycle now, Cycle until) {
  if (w.state == State::kWaitsForLoads || w.state == State::kWaitsForCopies)
    count_stall(w, arrived(w)->from, now);
  else if (w.state == State::kAtBarrier)
    count_stall(w, Stall::kBarrier, now);
  else if (w.state == State::kWaitsForMbarrier)
    count_stall(w, block_of(w).mbarriers.over(w.mbarrier, w.phase).value_or(BlockMbarriers::Last{}).what, now);
  else if (w.state == State::kWaitsForStores)
    count_stall(w, Stall::kScratchpad, now);
  else if (w.state == State::kIsLaunched)
    count_stall(w, Stall::kDispatch, now);
  else if (w.state == State::kWaitsForMisses)
    count_stall(w, last_from_, now);
  w.state = State::kRuns;
  w.queued = false;
  Cycle t = now;
  while (true) {
    const WarpOp& op = code_->ops()[static_cast<std::size_t>(w.pc)];
    const bool meets_others = op.kind == Kind::kSegment || op.kind == Kind::kWgmma || op.kind == Kind::kLoad ||
                              op.kind == Kind::kStore || op.kind == Kind::kAsync || op.kind == Kind::kWait ||
                              op.kind == Kind::kMbarrierArrive || op.kind == Kind::kMbarrierWait ||
                              op.kind == Kind::kTmaLoad || op.kind == Kind::kTmaStore;
    if (meets_others && t > now && (t >= until || (!events_.empty() && events_.top().at < t))) break;
    const std::optional<Cycle> then = step(w, op, t);
    if (!then) return;
    t = *then;
  }
  push(w, t);
}

std::optional<Cycle> Core::step(Warp& w, const WarpOp& op, Cycle t) {
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
      return run_segment(w, op, t);
    case Kind::kWgmma:
      return begin_wgmma(w, op, t);
    case Kind::kWgmmaCommitWait:
      return wait_for_wgmma(w, t);
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kAsync:
      return run_access(w, op, t);
    case Kind::kCommit:
      w.copies.emplace_back();
      ++w.pc;
      return t;
    case Kind::kWait:
      return wait_for_copies(w, w.copies_begin + static_cast<std::int64_t>(w.copies.size()) - 1 - op.number, t);
    case Kind::kBarrier:
      return reach_barrier(w, t);
    case Kind::kMbarrierArrive:
      return arrive(w, op, t);
    case Kind::kMbarrierWait:
      return await(w, op, t);
    case Kind::kTmaLoad:
      return ask_for_box(w, op, t);
    case Kind::kTmaStore:
      return store_box(w, op, t);
    case Kind::kEnd:
      return end(w, t);
  }
  return t;
}

std::optional<Cycle> Core::run_loop(Warp& w, const WarpOp& op, Cycle t) {
  const CodeLoop& l = code_->loop(op.number);
  const bool begins = op.kind == Kind::kLoop;
  const bool goes_on = begins ? code_->enter(l, w.uniforms) : code_->next(l, w.uniforms);
  if (begins)
    w.pc = goes_on ? w.pc + 1 : op.jump;
  else
    w.pc = goes_on ? op.jump : w.pc + 1;
  if (op.number == code_->step_loop()) {
    w.in_steps = goes_on;
    if (goes_on) {
      ++statistics_->warp_steps;
      ++blocks_[static_cast<std::size_t>(w.block)].steps_begun;
    }
  }
  return t;
}

std::optional<Cycle> Core::reach_barrier(Warp& w, Cycle t) {
  ++w.pc;
  w.state = State::kAtBarrier;
  Block& b = blocks_[static_cast<std::size_t>(w.block)];
  ++b.at_barrier;
  b.release = std::max(b.release, t);
  if (b.at_barrier < b.running) return std::nullopt;
  b.at_barrier = 0;
  push(Event::Kind::kBlock, b.release + 1_cycles, w.block);
  b.release = 0_cycles;
  return std::nullopt;
}

std::optional<Cycle> Core::end(Warp& w, Cycle t) {
  if (const auto then = wait_for_loads(w, ~LoadGroups{0}, t); !then || *then > t) return then;
  const std::int64_t all = w.copies_begin + static_cast<std::int64_t>(w.copies.size());
  if (w.copies_begin < all) {
    const auto then = wait_for_copies(w, all, t);
    if (!then || *then > t) return then;
    --w.pc;  // a wait goes past itself; this is none
  }
  w.state = State::kEnded;
  Block& b = blocks_[static_cast<std::size_t>(w.block)];
  --b.running;
  b.end = std::max(b.end, t);
  if (b.running == 0 && b.boxes == 0) push(Event::Kind::kDone, b.end, w.block);
  return std::nullopt;
}

// --- waiting

std::optional<Core::InFlight> Core::arrived(const Warp& w) const {
  InFlight last;
  bool known = true;
  const auto look = [&](const InFlight& f) {
    known = known && f.pending == 0;
    if (f.ready > last.ready) last = f;
  };
  if (w.state == State::kWaitsForLoads)
    for (std::size_t g = 0; g < w.loads.size(); ++g)
      if ((w.waits_for >> g & 1u) != 0) look(w.loads[g]);
  if (w.state == State::kWaitsForCopies)
    for (std::int64_t n = w.copies_begin; n < w.waits_until; ++n)
      look(w.copies[static_cast<std::size_t>(n - w.copies_begin)]);
  if (!known) return std::nullopt;
  return last;
}

// Returns t where nothing is missing; else the warp comes back to the same operation.
std::optional<Cycle> Core::wait_for_loads(Warp& w, LoadGroups groups, Cycle t) {
  w.state = State::kWaitsForLoads;
  w.waits_for = groups;
  const std::optional<InFlight> last = arrived(w);
  if (last && last->ready <= t) {
    w.state = State::kRuns;
    return t;
  }
  if (last) push(w, last->ready);
  return std::nullopt;
}

std::optional<Cycle> Core::wait_for_copies(Warp& w, std::int64_t until, Cycle t) {
  w.state = State::kWaitsForCopies;
  w.waits_until = std::max(until, w.copies_begin);
  const std::optional<InFlight> last = arrived(w);
  if (last && last->ready <= t) {
    w.copies.erase(w.copies.begin(), w.copies.begin() + (w.waits_until - w.copies_begin));
    w.copies_begin = w.waits_until;
    w.state = State::kRuns;
    ++w.pc;
    return t;
  }
  if (last) push(w, last->ready);
  return std::nullopt;
}

void Core::wake(int warp) {
  Warp& w = warps_[static_cast<std::size_t>(warp)];
  if (w.queued || (w.state != State::kWaitsForLoads && w.state != State::kWaitsForCopies)) return;
  if (const std::optional<InFlight> last = arrived(w)) push(w, std::max(last->ready, w.since));
}

// --- timeline

void Core::show(Cycle until) const {
  if (timeline_ == nullptr) return;
  timeline_->port({Track::Kind::kScratchpad, number_}, scratchpad_, until);
  timeline_->port({Track::Kind::kAddress, number_}, memory_lanes_, until);
  if (machine_.cache && !machine_.cache->shares_scratchpad)
    timeline_->port({Track::Kind::kCoreCache, number_}, cache_port_, until);
}

// --- steps

void Core::progress(std::vector<StepProgress>& out) const {
  std::vector<std::int64_t> in_partition(issue_free_.size(), 0);
  for (const Warp& w : warps_)
    if (w.state != State::kEnded) ++in_partition[static_cast<std::size_t>(w.partition)];
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    StepProgress p{.resident = blocks_[b].resident,
                   .core = number_,
                   .warps = warps_per_block_,
                   .begun = blocks_[b].steps_begun,
                   .inside = blocks_[b].resident,
                   .stamp = blocks_[b].stamp};
    const auto first = warps_.begin() + static_cast<std::ptrdiff_t>(b) * warps_per_block_;
    for (const Warp& w : std::span(first, static_cast<std::size_t>(warps_per_block_))) {
      p.inside = p.inside && w.in_steps;
      p.crowd = std::max(p.crowd, in_partition[static_cast<std::size_t>(w.partition)]);
      if (!w.in_steps) continue;
      const std::int64_t left = code_->remaining(code_->loop(code_->step_loop()), w.uniforms);
      p.min_remaining = &w == &*first ? left : std::min(p.min_remaining, left);
    }
    out.push_back(p);
  }
}

std::span<const StepJump> Core::jump(std::span<const StepJump> jumps, std::span<const std::size_t> started) {
  for (const std::size_t place : started) deal_partitions(place);
  const CodeLoop& steps = code_->loop(code_->step_loop());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const StepJump& j = jumps.front();
    jumps = jumps.subspan(1);
    if (!blocks_[b].resident) continue;
    if (j.successor >= 0) blocks_[b].stamp = j.stamp;
    const std::span warps(warps_.begin() + static_cast<std::ptrdiff_t>(b) * warps_per_block_,
                          static_cast<std::size_t>(warps_per_block_));
    // All warps of a block by as many steps, for they meet at the barriers and mbarriers of each.
    std::int64_t n = j.steps;
    for (const Warp& w : warps) n = std::max(n, -code_->done(steps, w.uniforms));
    for (Warp& w : warps) {
      if (j.successor >= 0) code_->become(j.successor, w.uniforms);
      if (j.steps != 0) code_->jump(steps, w.uniforms, n);
    }
    if (j.steps == 0) continue;
    const int mbarriers = static_cast<int>(code_->indices().kernel().mbarriers.size());
    for (int s = 0; s < mbarriers; ++s) blocks_[b].mbarriers.leave_out(s, n * code_->phases_per_step(s));
  }
  return jumps;
}

}  // namespace tilescope::sim
