// SPDX-License-Identifier: Apache-2.0
// The part of a core that takes units, ports and memory.

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/gpu/detail/core.h"
#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

using Kind = WarpOp::Kind;

// A segment that would hold its units longer is run in pieces, so that bookings stay near the present.
constexpr std::int64_t kLongestPiece = 8192;  // cycles

std::int64_t parts(const Rate& r, std::int64_t units) {
  return base::ceil_div(units * r.cycles * kCycleParts, r.units);
}

// Of parts of cycles: the cycle that they lie in, and the one in which they are over.
constexpr Cycle cycle_of(std::int64_t parts) { return Cycle(parts / kCycleParts); }
constexpr Cycle end_of(std::int64_t parts) { return Cycle(base::ceil_div(parts, kCycleParts)); }

std::int64_t pieces_of(const SegmentCost& c) {
  const std::int64_t longest = std::max(
      {*std::max_element(c.pipes.begin(), c.pipes.end()), c.issue * kCycleParts + c.operands, c.passes * kCycleParts});
  return std::max<std::int64_t>(1, longest / (kLongestPiece * kCycleParts));
}

}  // namespace

// --- segments

std::optional<Cycle> Core::run_segment(Warp& w, const WarpOp& op, Cycle t) {
  if (op.uses != 0)
    if (const auto then = wait_for_loads(w, op.uses, t); !then) return then;
  const SegmentCost& c = code_->segment(op.number).at(w.number, w.uniforms);
  const std::int64_t pieces = pieces_of(c);
  if (w.pieces_left == 0) {
    w.pieces_left = pieces;
    count(c);
    for (const auto& [copy, count] : c.shared) statistics_->copies[static_cast<std::size_t>(copy)].shared += count;
    LevelStatistics& level = statistics_->level(LevelRole::kScratchpad);
    level.requests += c.accesses;
    level.transactions += c.passes;
  }
  const Cycle then = segment(w, c, pieces, t);
  if (--w.pieces_left == 0) ++w.pc;
  return then;
}

void Core::count(const SegmentCost& c) {
  statistics_->instructions += c.issue;
  for (std::size_t p = 0; p < machine_.pipes.size(); ++p) statistics_->pipe_parts[p] += c.pipes[p];
  for (const Operations& o : c.operations) statistics_->operations[static_cast<std::size_t>(o.entry)] += o.number;
}

Core::PipeReservation Core::take_pipes(const Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle from) {
  const auto partition = static_cast<std::size_t>(w.partition);
  const std::int64_t now = from.count() * kCycleParts;
  PipeReservation taken{now, now, now, 0};
  const auto take = [&](std::int64_t& free, std::int64_t work) {
    if (work <= 0) return;
    const std::int64_t begin = std::max(now, free);
    free = begin + work;
    taken.end = std::max(taken.end, free);
    if (work > taken.longest) taken.begin = begin, taken.longest = work;
  };
  const std::int64_t slots = (parts(machine_.issue, c.issue) + c.operands) / pieces;
  take(issue_free_[partition], slots);
  if (timeline_ != nullptr) show_issue(w, slots);
  for (std::size_t p = 0; p < machine_.pipes.size(); ++p) {
    const std::int64_t work = c.pipes[p] / pieces;
    if (work <= 0) continue;
    std::int64_t& free = pipes_free_[partition][p];
    take(free, work);
    std::int64_t& beside = beside_free_[partition][p];
    if (!c.computes) beside = std::max(now, beside) + work, taken.beside = std::max(taken.beside, beside);
    if (timeline_ != nullptr)
      timeline_->pipe(number_, w.partition, static_cast<int>(p), machine_.pipes[p].name,
                      static_cast<double>(free - work) / kCycleParts, static_cast<double>(free) / kCycleParts);
  }
  if (!c.computes) taken.beside = std::max(taken.beside, now + slots);
  return taken;
}

Cycle Core::segment(Warp& w, const SegmentCost& c, std::int64_t pieces, Cycle t) {
  const Cycle first = c.reads_scratchpad ? machine_.scratchpad_latency : 0_cycles;
  const PipeReservation taken = take_pipes(w, c, pieces, c.computes ? t + first : t);
  // What only moves and computes addresses has slots and lanes between instructions of warps that compute.
  Cycle done = end_of(c.computes ? taken.end : taken.beside);
  const Cycle passes_from = c.computes ? cycle_of(taken.begin) - first : t;
  done = std::max(done, t + first + Cycle(c.latency / pieces));
  Cycle moved{};
  if (const std::int64_t passes = c.passes - c.kept_passes; passes > 0) {
    const std::int64_t accesses = c.accesses - c.kept_accesses;
    const Cycle over = c.computes ? cycle_of(taken.longest) : 0_cycles;
    moved = scratchpad_.book(passes_from, base::ceil_div(passes, pieces), over);
    if (accesses > 0 && (machine_.lanes_shared || machine_.scratchpad_lanes.units < machine_.limits.warp)) {
      ReservationTable& lanes = machine_.lanes_shared ? memory_lanes_ : own_scratchpad_lanes_;
      moved = std::max(moved, lanes.book(passes_from, base::ceil_div(accesses * machine_.limits.warp, pieces), over));
    }
    if (!c.computes && c.reads_scratchpad) moved += machine_.scratchpad_latency - Cycle(machine_.scratchpad.cycles);
  }
  count_stall(w, Stall::kIssue, done);
  count_stall(w, Stall::kScratchpad, moved);
  return std::max(done, moved);
}

// Products take units and scratchpad as a segment does; the warp goes on once they are issued, of long ones the last
// piece.
std::optional<Cycle> Core::begin_wgmma(Warp& w, const WarpOp& op, Cycle t) {
  const SegmentCost& c = code_->segment(op.number).at(w.number, w.uniforms);
  const std::int64_t pieces = pieces_of(c);
  if (w.pieces_left == 0) {
    w.pieces_left = pieces;
    count(c);
    statistics_->level(LevelRole::kScratchpad).transactions += c.passes;
  }
  const PipeReservation taken = take_pipes(w, c, pieces, t);
  const Cycle begin = cycle_of(taken.begin);
  Cycle done = std::max(end_of(taken.end), begin + Cycle(c.latency / pieces));
  if (c.passes > 0)
    done = std::max(done, scratchpad_.book(begin, base::ceil_div(c.passes, pieces), cycle_of(taken.longest)));
  w.wgmma_end = std::max(w.wgmma_end, done);
  const bool last = --w.pieces_left == 0;
  if (last) ++w.pc;
  const Cycle then = last ? std::max(t, begin) + end_of(parts(machine_.issue, c.issue) / pieces) : done;
  count_stall(w, Stall::kIssue, then);
  return then;
}

std::optional<Cycle> Core::wait_for_wgmma(Warp& w, Cycle t) {
  const Cycle then = std::max(t, w.wgmma_end);
  count_stall(w, Stall::kIssue, then);
  ++w.pc;
  return then;
}

// So many parts of a cycle of the partition's issue slots have just been taken.
void Core::show_issue(const Warp& w, std::int64_t parts) const {
  const std::int64_t free = issue_free_[static_cast<std::size_t>(w.partition)];
  if (parts > 0)
    timeline_->issue(number_, w.partition, static_cast<double>(free - parts) / kCycleParts,
                     static_cast<double>(free) / kCycleParts);
}

Cycle Core::issue_one(const Warp& w, Cycle t) {
  std::int64_t& free = issue_free_[static_cast<std::size_t>(w.partition)];
  const std::int64_t one = parts(machine_.issue, 1);
  free = std::max(free, t.count() * kCycleParts) + one;
  ++statistics_->instructions;
  if (timeline_ != nullptr) show_issue(w, one);
  return t + end_of(one);
}

// --- accesses to memory

// When an access leaves the core, lanes, data and tags being looked after side by side. The latency of a level holds
// the time of a whole warp's lanes and of one pass.
Cycle Core::access_port(const AccessPattern& p, bool asynchronous, std::int64_t line, Cycle t) {
  const std::int64_t warp = machine_.limits.warp;
  Cycle lanes = memory_lanes_.book(t, warp) - cycles_of(machine_.memory_lanes, warp);
  if (asynchronous) {
    lanes = std::max(lanes, copies_free_);
    copies_free_ = lanes + (code_->fences_copies() ? machine_.fenced_copy_interval : machine_.async_copy_interval);
  }
  if (!machine_.cache) return lanes;
  const CoreCacheSpec& c = *machine_.cache;
  const std::int64_t tags = tag_passes(line, p.touches, c.tags);
  // What is copied asynchronously passes the banks once, when it arrives.
  const std::int64_t passes = asynchronous ? 0 : p.cache_passes;
  if (c.shares_scratchpad)
    return std::max(lanes, scratchpad_.book(t, std::max(passes, base::ceil_div(tags, machine_.scratchpad.cycles))) -
                               Cycle(machine_.scratchpad.cycles));
  const std::int64_t data =
      asynchronous ? 0 : cycles_of(c.rate, p.count.global.sectors * machine_.memory.shape.sector).count();
  return std::max(lanes, cache_port_.book(t, std::max(data, tags)) - 1_cycles);
}

std::optional<Cycle> Core::run_access(Warp& w, const WarpOp& op, Cycle t) {
  if (op.uses != 0)
    if (const auto then = wait_for_loads(w, op.uses, t); !then) return then;
  if (waits_for_a_miss(w, t)) return std::nullopt;
  const AccessPatterns::Found found = code_->access(op.number).at(w.number, w.uniforms);
  const AccessPattern& p = *found.pattern;
  lower::CopyCount& sum = statistics_->copies[static_cast<std::size_t>(op.number)];
  sum.global += p.count.global;
  sum.shared += p.count.shared;
  ++w.pc;
  const Cycle issued = issue_one(w, t);
  count_stall(w, Stall::kIssue, issued);
  const auto self = static_cast<int>(&w - warps_.data());
  Waiter waiter;
  if (op.kind == Kind::kStore)
    waiter = {Waiter::Kind::kStore, w.block, 0, 0};
  else if (op.kind == Kind::kLoad)
    waiter = {Waiter::Kind::kLoad, self, op.group, 0};
  else
    waiter = {Waiter::Kind::kCopy, self, w.copies_begin + static_cast<std::int64_t>(w.copies.size()) - 1,
              p.count.shared.passes};
  if (op.kind == Kind::kAsync) {
    LevelStatistics& level = statistics_->level(LevelRole::kScratchpad);
    level.requests += p.count.shared.requests;
    level.transactions += p.count.shared.passes;
  }
  if (p.touches.empty()) {
    if (op.kind == Kind::kAsync && waiter.passes > 0) scratchpad_.book(issued, waiter.passes);  // zeros
    if (sampled_) sample_orphans(w, op, issued);
    wake_one_for_a_miss(issued);
    return issued;
  }
  const Cycle at = access_port(p, op.kind == Kind::kAsync, found.line, t);
  if (op.kind == Kind::kLoad)
    for (const Touch& touch : p.touches) cache_.expect(found.line + touch.line);
  const std::size_t first = outbox_.size();
  for (std::size_t n = 0; n < p.touches.size(); ++n) {
    const Touch& touch = p.touches[n];
    const std::int64_t line = found.line + touch.line;
    if (op.kind == Kind::kStore)
      store_line(waiter, line, touch.sectors, p.written_of(n), at);
    else
      load_line(waiter, line, touch.sectors, op.kind == Kind::kLoad, at);
    waiter.passes = 0;
  }
  if (sampled_) sample_access(w, op, found, first);
  wake_one_for_a_miss(issued);
  return issued;
}

// A cache with wider sectors fetches all of them.
std::uint32_t Core::own_sectors(std::uint32_t sectors) const {
  const std::int64_t wide = machine_.cache->sectors;
  if (wide == 1) return sectors;
  const std::uint32_t one = wide >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << wide) - 1;
  std::uint32_t out = 0;
  for (std::int64_t s = 0; s < 32; s += wide)
    if ((sectors >> s & one) != 0) out |= one << s;
  return out;
}

void Core::load_line(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool cached, Cycle at) {
  if (!cached || cache_.lines() == 0) return request(waiter, line, sectors, false, nullptr, at);
  LevelStatistics& level = statistics_->level(LevelRole::kCoreCache);
  const SectorCache::Result hit = cache_.touch(line, own_sectors(sectors));
  const std::uint32_t missing = hit.missing;
  ++level.requests;
  level.transactions += std::popcount(sectors);
  level.hits += std::popcount(sectors & ~missing);
  level.read_bytes += std::popcount(sectors) * machine_.memory.shape.sector;
  if (missing != 0) {
    request(waiter, line, missing, false, hit.line, at);
  } else if (hit.line->pending()) {
    ++in_flight(waiter).pending;
    wait_too(misses_[static_cast<std::size_t>(hit.line->fill())], waiter);
  } else {
    InFlight& f = in_flight(waiter);
    const Cycle ready = std::max(at + machine_.cache->latency, hit.line->ready());
    if (ready > f.ready) {
      f.ready = ready;
      f.from = Stall::kL1;
    }
  }
}

void Core::request(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool write, SectorCache::Line* fills,
                   Cycle at) {
  if (free_misses_.empty()) {
    free_misses_.push_back(static_cast<int>(misses_.size()));
    misses_.emplace_back();
  }
  const int ticket = free_misses_.back();
  free_misses_.pop_back();
  Miss& m = misses_[static_cast<std::size_t>(ticket)];
  const bool counts = waiter.kind != Waiter::Kind::kBox && waiter.kind != Waiter::Kind::kStoredLine;
  m.number = counts && !ends_of_misses_.empty() ? misses_begun_ : kNotCounted;
  if (m.number != kNotCounted) end_of_miss(misses_begun_++) = kNotKnown;
  m.fills = fills;
  if (fills != nullptr) fills->fetch(ticket);
  m.first = waiter;
  if (!write && counts) ++in_flight(waiter).pending;
  outbox_.push_back({number_, ticket, write, line, sectors, at});
}

// Loads of one warp often want the line several times before it comes.
void Core::wait_too(Miss& m, const Waiter& waiter) {
  Waiter* const last = others_.last(m.others);
  Waiter& before = last != nullptr ? *last : m.first;
  if (before.same(waiter) && waiter.passes == 0)
    ++before.times;
  else
    others_.append(m.others, waiter);
}

void Core::store_line(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, const Written& written,
                      Cycle at) {
  request(waiter, line, sectors, true, nullptr, at);
  outbox_.back().written = written;
}

Core::InFlight& Core::in_flight(const Waiter& w) {
  Warp& warp = warps_[static_cast<std::size_t>(w.who)];
  if (w.kind == Waiter::Kind::kLoad) return warp.loads[static_cast<std::size_t>(w.group)];
  return warp.copies[static_cast<std::size_t>(w.group - warp.copies_begin)];
}

// --- replies

void Core::reply(const MemoryReply& r) {
  Miss& m = misses_[static_cast<std::size_t>(r.ticket)];
  if (m.fills != nullptr && m.fills->fill() == r.ticket) m.fills->arrive(r.at);
  complete(m.first, r.at, r.from);
  others_.take(m.others, [&](const Waiter& w) { complete(w, r.at, r.from); });
  free_misses_.push_back(r.ticket);
  if (m.number == kNotCounted) return;
  if (misses_begun_ - m.number <= static_cast<std::int64_t>(ends_of_misses_.size())) end_of_miss(m.number) = r.at;
  last_from_ = r.from;
  wake_one_for_a_miss(ran_until_);
}

// --- misses, of which so many are under way at a time; one begins when the one that many before it has ended

bool Core::waits_for_a_miss(Warp& w, Cycle t) {
  if (ends_of_misses_.empty()) return false;  // any number
  const Cycle free = end_of_miss(misses_begun_);
  if (free <= t) return false;
  w.state = State::kWaitsForMisses;
  if (free == kNotKnown)
    wait_for_misses_.push_back(static_cast<int>(&w - warps_.data()));
  else
    push(w, free);
  return true;
}

// Called when a miss has ended, and when a warp that was woken has taken what it waited for.
void Core::wake_one_for_a_miss(Cycle from) {
  if (wait_for_misses_.empty()) return;
  const Cycle free = end_of_miss(misses_begun_);
  if (free == kNotKnown) return;
  Warp& w = warps_[static_cast<std::size_t>(wait_for_misses_.front())];
  wait_for_misses_.pop_front();
  push(w, std::max({free, w.since, from}));
}

void Core::complete(const Waiter& w, Cycle at, Stall from) {
  if (w.kind == Waiter::Kind::kStore || w.kind == Waiter::Kind::kStoredLine) {
    stored_ = std::max(stored_, at);
    return;
  }
  if (w.kind == Waiter::Kind::kBox) return land(w.who, w.group, at, from);
  if (w.passes > 0) at = scratchpad_.book(at, w.passes);
  InFlight& f = in_flight(w);
  f.pending -= w.times;
  if (at > f.ready) {
    f.ready = at;
    f.from = from;
  }
  wake(w.who);
}

}  // namespace tilescope::sim
