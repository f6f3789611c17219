// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/load_store_unit.h"

#include <algorithm>
#include <bit>

namespace tilescope::sim {

void LoadStoreUnit::prepare() {
  misses_.prepare(record_.machine.misses);
  stored_ = 0_cycles;
}

bool LoadStoreUnit::holds_back(Warp& w, Cycle t) {
  if (!misses_.limited()) return false;
  const std::optional<Cycle> free = misses_.room();
  if (free && *free <= t) return false;
  w.state = Warp::State::kWaitsForMisses;
  if (free)
    warps_.push(w, *free);
  else
    held_back_.push_back(warps_.number_of(w));
  return true;
}

void LoadStoreUnit::let_one_go_on(Cycle from) {
  if (held_back_.empty()) return;
  const std::optional<Cycle> free = misses_.room();
  if (!free) return;
  Warp& w = warps_.warp(held_back_.front());
  held_back_.pop_front();
  warps_.push(w, std::max({*free, w.since, from}));
}

void LoadStoreUnit::load(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool cached, Cycle at) {
  if (!cached || !cache_.holds_lines()) return request(waiter, line, sectors, false, nullptr, at);
  const SectorCache::Result hit = cache_.touch(line, sectors);
  LevelStatistics& level = record_.level(LevelRole::kCoreCache);
  ++level.requests;
  level.transactions += std::popcount(sectors);
  level.hits += std::popcount(sectors & ~hit.missing);
  level.read_bytes += std::popcount(sectors) * record_.machine.memory.shape.sector;
  if (hit.missing != 0) {
    request(waiter, line, hit.missing, false, hit.line, at);
  } else if (hit.line->pending()) {
    ++in_flight(waiter).pending;
    misses_.wait_too(hit.line->fill(), waiter);
  } else {
    in_flight(waiter).arrive(std::max(at + cache_.latency(), hit.line->ready()), Stall::kL1);
  }
}

void LoadStoreUnit::store(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, const Written& written,
                          Cycle at) {
  request(waiter, line, sectors, true, nullptr, at);
  outbox_.back().written = written;
}

void LoadStoreUnit::request(const Waiter& waiter, std::int64_t line, std::uint32_t sectors, bool write,
                            SectorCache::Line* fills, Cycle at) {
  const bool counts = !waiter.is_engine();
  const int ticket = misses_.begin(waiter, counts, fills);
  if (!write && counts) ++in_flight(waiter).pending;
  outbox_.push_back({record_.core, ticket, write, line, sectors, at});
}

InFlight& LoadStoreUnit::in_flight(const Waiter& w) {
  Warp& warp = warps_.warp(w.who);
  if (w.kind == Waiter::Kind::kLoad) return warp.loads[static_cast<std::size_t>(w.group)];
  return warp.copies[static_cast<std::size_t>(w.group - warp.copies_begin)];
}

void LoadStoreUnit::reply(const MemoryReply& r, Cycle ran_until) {
  if (!misses_.end(r.ticket, r.at, [&](const Waiter& w) { complete(w, r.at, r.from); })) return;
  last_from_ = r.from;
  let_one_go_on(ran_until);
}

void LoadStoreUnit::complete(const Waiter& w, Cycle at, Stall from) {
  if (w.kind == Waiter::Kind::kStore || w.kind == Waiter::Kind::kStoredLine) {
    stored_ = std::max(stored_, at);
    return;
  }
  if (w.kind == Waiter::Kind::kBox) return boxes_->land(w.who, w.group, at, from);
  if (w.passes > 0) at = ports_.scratchpad(at, w.passes);
  InFlight& f = in_flight(w);
  f.pending -= w.times;
  f.arrive(at, from);
  warps_.wake(w.who);
}

}  // namespace tilescope::sim
