// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/device_memory.h"

#include <algorithm>
#include <bit>

#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

// Requests, and served ones, ahead of the one in hand whose memory is asked for.
constexpr std::size_t kLinesAhead = 8;
// Beyond this part of a cache, some of its sets are full while others have room: with lines that fall on 16 ways at
// random one set of 250 at a half, one of five at 0.85.
constexpr double kFits = 0.5;
constexpr int kNobody = -1;

}  // namespace

DeviceMemory::DeviceMemory(const MemorySpec& spec, Statistics& statistics)
    : spec_(spec),
      latency_(fixed_latency_of(spec)),
      statistics_(&statistics),
      crossbar_(spec.cores, spec.link_rate, spec.cluster),
      cache_(spec),
      slices_(static_cast<std::size_t>(spec.slices),
              {ReservationTable(spec.slice_rate), SliceMisses(spec.slice_misses)}),
      behind_(spec, latency_, statistics) {
  if (spec.tlb) tlb_.emplace(*spec.tlb);
  if (spec.slice_queue > 0) waiting_.emplace(spec.cores, spec.slices, spec.slice_queue);
  if (spec.remote_rate)
    crossing_.assign(static_cast<std::size_t>(spec.partitions), ReservationTable(*spec.remote_rate));
}

void DeviceMemory::use(Statistics& statistics) {
  statistics_ = &statistics;
  cache_.begin();
  behind_.use(statistics);
}

void DeviceMemory::run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) {
  advance(end, replies);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + 2 * kLinesAhead < requests.size()) cache_.expect(requests[i + 2 * kLinesAhead].line);
    if (i + kLinesAhead < requests.size()) cache_.expect_now(requests[i + kLinesAhead].line);
    const MemoryRequest& r = requests[i];
    if (waiting_)
      waiting_->add(r, cache_.slice_of(r.core, r.line));
    else
      serve(r, r.at, replies);
  }
  if (waiting_) waiting_->send(end, [&](const MemoryRequest& r, Cycle at) { return serve(r, at, replies); });
}

void DeviceMemory::advance(Cycle until, std::vector<MemoryReply>& replies) {
  const std::span<const DramServed> served = behind_.run(until);
  const auto fill_of = [&](std::size_t i) { return i < served.size() ? served[i].id : BehindCache::kNoFill; };
  const bool near = behind_.outer() == nullptr;  // else the ids are theirs
  for (std::size_t i = 0; i < served.size(); ++i) {
    if (const int soon = fill_of(i + 2 * kLinesAhead); near && soon != BehindCache::kNoFill) fills_.expect(soon);
    if (const int now = fill_of(i + kLinesAhead); near && now != BehindCache::kNoFill) fills_.expect_now(now);
    for (const BehindCache::Arrival& a : behind_.arrive(served[i]))
      if (const auto ready = fills_.arrive(a.fill, a.at)) complete(a.fill, *ready, a.write, Stall::kDram, replies);
  }
}

Cycle DeviceMemory::serve(const MemoryRequest& r, Cycle from, std::vector<MemoryReply>& replies) {
  const std::int64_t bytes = spec_.shape.bytes_of(r.sectors);
  const std::int64_t number = cache_.slice_of(r.core, r.line);
  const Cycle sent = crossbar_.send(r.core, from, r.write ? bytes : 0);
  const Cycle served = slice(number).port.book(sent + latency_.forward, bytes + spec_.request_bytes);
  LevelStatistics& t = statistics_->level(LevelRole::kDeviceCache);
  ++t.requests;
  t.transactions += std::popcount(r.sectors);
  (r.write ? t.written_bytes : t.read_bytes) += bytes;
  if (r.write)
    write(r, number, served, replies);
  else
    read(r, number, served, replies);
  return served;
}

void DeviceMemory::read(const MemoryRequest& r, std::int64_t number, Cycle served, std::vector<MemoryReply>& replies) {
  const std::int64_t bytes = spec_.shape.bytes_of(r.sectors);
  const auto [hit, lacking] = cache_.read(r.core, r.line, r.sectors);
  const std::uint32_t missing = hit.missing | lacking;
  LevelStatistics& t = statistics_->level(LevelRole::kDeviceCache);
  t.hits += std::popcount(r.sectors & ~missing);
  if (hit.victim) evict(number, hit.victim, served);
  if (missing != 0 && lacking == 0 && spec_.partitions > 1 && read_far(r, hit, served, replies)) {
    t.hits += std::popcount(missing);
  } else if (missing != 0) {
    const int fill = fills_.begin(hit.line, {r.core, r.ticket, bytes, number});
    slice(number).misses.add({r.line, missing, fill, served});
    ask(number, replies);
  } else if (hit.line->pending()) {
    fills_.wait_too(hit.line->fill(), {r.core, r.ticket, bytes});
  } else {
    // Data leave as they are read: the link takes the first sector while the slice reads the second.
    const Cycle first = served - cycles_of(spec_.slice_rate, bytes - spec_.shape.sector);
    const bool late = hit.line->ready() > first;
    replies.push_back({r.core, r.ticket, respond(r.core, bytes, std::max(first, hit.line->ready())),
                       late ? Stall::kDram : Stall::kL2});
  }
}

bool DeviceMemory::read_far(const MemoryRequest& r, const SectorCache::Result& near, Cycle served,
                            std::vector<MemoryReply>& replies) {
  const auto [number, line] = cache_.elsewhere(r.core, r.line, near.missing);
  if (line == nullptr) return false;
  const std::int64_t bytes = spec_.shape.bytes_of(r.sectors), copied = spec_.shape.bytes_of(near.missing);
  if (line->pending()) {
    near.line->fetch(line->fill());
    fills_.wait_too(line->fill(), {r.core, r.ticket, bytes, kNoSlice, near.line, copied});
    return true;
  }
  const Cycle there = slice(number).port.book(served + latency_.across / 2, copied + spec_.request_bytes);
  const Cycle here = cross(r.core, copied, std::max(there, line->ready())) + latency_.across - latency_.across / 2;
  near.line->arrive(here);
  replies.push_back({r.core, r.ticket, respond(r.core, bytes, here), Stall::kL2});
  return true;
}

void DeviceMemory::write(const MemoryRequest& r, std::int64_t number, Cycle served, std::vector<MemoryReply>& replies) {
  const auto [hit, rest, dirtied] = cache_.write(r.core, r.line, r.sectors, r.written);
  statistics_->level(LevelRole::kDeviceCache).hits += std::popcount(r.sectors & ~hit.missing);
  if (behind_.outer() == nullptr) statistics_->dirtied_bytes += dirtied;
  if (hit.missing != 0 && tlb_ && tlb_->translates_writes())
    served = tlb_->translate(r.line * spec_.shape.line, served);
  // What has no room in the cache leaves it at once.
  const SectorCache::Victim out =
      hit.line != nullptr ? hit.victim : SectorCache::Victim{cache_.local(r.line), r.sectors, r.sectors};
  bool waits = false;
  if (out) {
    const int writer = fills_.begin(nullptr, {r.core, r.ticket});
    waits = evict(number, out, served, writer);
    if (!waits) fills_.cancel(writer);
  }
  if (rest != 0) {
    slice(number).misses.add({r.line, rest, fills_.begin(hit.line, {.core = kNobody, .slice = number}), served});
    ask(number, replies);
  }
  if (!waits) replies.push_back({r.core, r.ticket, served + latency_.back, Stall::kL2});
}

bool DeviceMemory::evict(std::int64_t number, const SectorCache::Victim& v, Cycle at, int writer) {
  if (v.dirty != 0)
    return behind_.write(cache_.line_of(number, v.line), v.dirty,
                         behind_.outer() == nullptr ? cache_.leave(number, v) : DramWrites{}, at, writer);
  const auto [next, kept] = cache_.keep(number, v);
  if (kept.line != nullptr && !kept.line->pending()) kept.line->arrive(std::max(kept.line->ready(), at));
  return kept.victim.dirty != 0 && evict(next, kept.victim, at);
}

void DeviceMemory::touch(int core, std::int64_t line, std::uint32_t sectors, bool write, const Written& written) {
  const auto leaves = [&](std::int64_t number, const SectorCache::Victim& v) {
    if (v.dirty == 0) return;
    cleaned_ += spec_.shape.bytes_of(v.dirty);
    const std::int64_t left = cache_.line_of(number, v.line);
    cache_.forget(left);
    behind_.touch(left, v.dirty, true);
  };
  SectorCache::Result hit;
  if (write) {
    const auto [of_write, rest, dirtied] = cache_.write(core, line, sectors, written);
    hit = of_write;
    if (hit.line == nullptr) return cache_.forget(line);
    cleaned_ -= dirtied;
  } else {
    hit = cache_.read(core, line, sectors).hit;
    if (hit.line == nullptr) return;
  }
  const std::int64_t number = cache_.slice_of(core, line);
  leaves(number, hit.victim);
  if (hit.victim && hit.victim.dirty == 0) {
    const auto [next, kept] = cache_.keep(number, hit.victim);
    leaves(next, kept.victim);
  }
  if (!write) behind_.touch(line, hit.missing, false);
}

Cycle DeviceMemory::cross(int core, std::int64_t bytes, Cycle from) {
  return crossing_.empty() ? from : crossing_[static_cast<std::size_t>(cache_.partition_of(core))].book(from, bytes);
}

// What is fetched may be there at once and give its register back, to this loop and not to one inside of it.
void DeviceMemory::ask(std::int64_t number, std::vector<MemoryReply>& replies) {
  Slice& s = slice(number);
  if (s.asks) return;
  s.asks = true;
  while (const std::optional<MissedLine> m = s.misses.take()) {
    const Cycle at = tlb_ ? tlb_->translate(m->line * spec_.shape.line, m->at) : m->at;
    const BehindCache::Outcome outcome = behind_.read(m->line, m->sectors, m->fill, at);
    if (const auto ready = fills_.in_parts(m->fill, outcome.pending, outcome.ready))
      complete(m->fill, *ready, false, outcome.from, replies);
  }
  s.asks = false;
}

void DeviceMemory::complete(int fill, Cycle at, bool write, Stall from, std::vector<MemoryReply>& replies) {
  std::int64_t number = kNoSlice;
  fills_.end(fill, at, [&](const Waiter& w) {
    if (w.slice != kNoSlice) number = w.slice;
    if (w.core == kNobody) return;
    Cycle then = at;
    if (w.copy != nullptr) {
      then = cross(w.core, w.copied_bytes, then) + latency_.across;
      if (w.copy->fill() == fill) w.copy->arrive(then);
    }
    replies.push_back({w.core, w.ticket, write ? then + latency_.back : respond(w.core, w.bytes, then), from});
  });
  if (number == kNoSlice) return;
  slice(number).misses.release(at);
  ask(number, replies);
}

std::vector<std::int64_t> DeviceMemory::bytes_of_caches() const {
  std::vector<std::int64_t> bytes = {cache_.bytes()};
  const OuterCaches* const outer = behind_.outer();
  for (std::size_t o = 0; outer != nullptr && o < outer->size(); ++o) bytes.push_back(outer->bytes(o));
  return bytes;
}

std::optional<double> DeviceMemory::times_filled(std::int64_t footprint) const {
  std::optional<double> least;
  const auto look_at = [&](std::int64_t bytes, double filled) {
    if (static_cast<double>(footprint) > kFits * static_cast<double>(bytes))
      least = std::min(least.value_or(filled), filled);
  };
  if (cache_.bytes() > 0) look_at(cache_.bytes_of_partition(), cache_.times_filled());
  const OuterCaches* const outer = behind_.outer();
  for (std::size_t o = 0; outer != nullptr && o < outer->size(); ++o) look_at(outer->bytes(o), outer->times_filled(o));
  return least;
}

void DeviceMemory::show(Timeline& timeline, Cycle until) const {
  using enum Track::Kind;
  for (std::size_t s = 0; s < slices_.size(); ++s) timeline.port({kSlice, static_cast<int>(s)}, slices_[s].port, until);
  if (behind_.outer() != nullptr) behind_.outer()->show(timeline, until);
  if (!crossbar_.has_ports()) return;
  for (int core = 0; core < static_cast<int>(spec_.cores); ++core) {
    if (!timeline.shows(core)) continue;
    timeline.port({kLinkOut, core}, crossbar_.out(static_cast<std::size_t>(core)), until);
    timeline.port({kLinkIn, core}, crossbar_.in(static_cast<std::size_t>(core)), until);
  }
}

}  // namespace tilescope::sim
