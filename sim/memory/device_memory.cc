// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/device_memory.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "sim/memory/dram_channels.h"
#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

// Requests, and served ones, ahead of the one in hand whose memory is asked for.
constexpr std::size_t kLinesAhead = 8;
// Beyond this part of a cache, some of its sets are full while others have room: with lines that fall on 16 ways at
// random one set of 250 at a half, one of five at 0.85.
constexpr double kFits = 0.5;
constexpr int kNoWaiter = -1;  // the fill of a write that no warp waits for

AddressMapSpec of_one_partition(const MemorySpec& spec) { return {.slices = spec.slices / spec.partitions}; }

}  // namespace

DeviceMemory::DeviceMemory(const MemorySpec& spec, Statistics& statistics)
    : spec_(spec),
      fixed_latency_(fixed_latency_of(spec)),
      statistics_(&statistics),
      last_(spec.outer.empty() ? spec.shape : spec.outer.back().shape),
      map_(spec.map),
      near_(of_one_partition(spec)),
      slices_of_partition_(spec.slices / spec.partitions),
      crossbar_(spec.cores, spec.link_rate, spec.cluster),
      unsent_(static_cast<std::size_t>(spec.slice_queue > 0 ? spec.cores : 0)),
      partly_(spec.shape) {
  if (spec.tlb) tlb_.emplace(*spec.tlb);
  if (spec.remote_rate)
    crossing_.assign(static_cast<std::size_t>(spec.partitions), ReservationTable(*spec.remote_rate));
  for (std::int64_t s = 0; s < spec.slices; ++s)
    slices_.push_back({ReservationTable(spec.slice_rate), SectorCache(spec.slice), SliceQueue(spec.slice_queue),
                       SliceMisses(spec.slice_misses)});
  for (const Slice& s : slices_) slice_lines_ += s.cache.lines();
  if (!spec.outer.empty()) outer_.emplace(spec.outer, spec.shape, spec.cache_latency);
  dram_ = spec.dram_model ? spec.dram_model() : std::make_unique<DramChannels>(spec.dram, spec.map.channels);
}

std::int64_t DeviceMemory::bytes_of(std::uint32_t sectors) const { return std::popcount(sectors) * spec_.shape.sector; }

void DeviceMemory::run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) {
  advance(end, replies);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + 2 * kLinesAhead < requests.size()) expect(requests[i + 2 * kLinesAhead].line);
    if (i + kLinesAhead < requests.size()) expect_now(requests[i + kLinesAhead].line);
    accept(requests[i], replies);
  }
  send(end, replies);
}

void DeviceMemory::accept(const MemoryRequest& r, std::vector<MemoryReply>& replies) {
  if (spec_.slice_queue == 0) {
    serve(r, r.at, replies);
    return;
  }
  std::deque<MemoryRequest>& unsent = unsent_[static_cast<std::size_t>(r.core)];
  unsent.push_back(r);
  if (unsent.size() == 1) ask_again(r.core, r.at);
}

// A core asks for a place for its first request when it has one, and again when the slice whose turn it is then has a
// place. So places are taken in the order of times, and none by a request that waits behind another.
void DeviceMemory::send(Cycle until, std::vector<MemoryReply>& replies) {
  while (!sends_.empty() && sends_.top().at < until) {
    const auto [at, number, core] = sends_.top();
    sends_.pop();
    std::deque<MemoryRequest>& unsent = unsent_[static_cast<std::size_t>(core)];
    const MemoryRequest r = unsent.front();
    SliceQueue& queue = slices_[static_cast<std::size_t>(slice_of(core, r.line))].queue;
    if (!queue.take(core, at)) {
      if (queue.first() == core) ask_again(core, queue.free_at());
      continue;
    }
    queue.served(serve(r, at, replies));
    if (const auto first = queue.first()) ask_again(*first, std::max(at, queue.free_at()));
    unsent.pop_front();
    if (!unsent.empty()) ask_again(core, std::max(at, unsent.front().at));
  }
}

Cycle DeviceMemory::serve(const MemoryRequest& r, Cycle from, std::vector<MemoryReply>& replies) {
  const std::int64_t bytes = bytes_of(r.sectors);
  const std::int64_t number = slice_of(r.core, r.line);
  Slice& slice = slices_[static_cast<std::size_t>(number)];
  const Cycle sent = crossbar_.send(r.core, from, r.write ? bytes : 0);
  const Cycle served = slice.port.book(sent + fixed_latency_.forward, bytes + spec_.request_bytes);
  LevelStatistics& t = statistics_->level(LevelRole::kDeviceCache);
  ++t.requests;
  t.transactions += std::popcount(r.sectors);
  (r.write ? t.written_bytes : t.read_bytes) += bytes;
  if (r.write)
    write(r, slice, number, served, replies);
  else
    read(r, slice, number, served, replies);
  return served;
}

void DeviceMemory::read(const MemoryRequest& r, Slice& slice, std::int64_t number, Cycle served,
                        std::vector<MemoryReply>& replies) {
  const std::int64_t bytes = bytes_of(r.sectors), local = near_.in_slice(r.line);
  const SectorCache::Result hit = slice.cache.touch(local, r.sectors);
  allocated_ += hit.allocated ? 1 : 0;
  const std::uint32_t lacking = partly_.fill(r.line, r.sectors), missing = hit.missing | lacking;
  LevelStatistics& t = statistics_->level(LevelRole::kDeviceCache);
  t.hits += std::popcount(r.sectors & ~missing);
  if (hit.victim) evict(number, hit.victim, served, nullptr);
  if (missing != 0 && lacking == 0 && spec_.partitions > 1 && read_far(r, hit, served, replies)) {
    t.hits += std::popcount(missing);
  } else if (missing != 0) {
    const int fill = new_fill(hit.line, {r.core, r.ticket, bytes});
    if (hit.line != nullptr) hit.line->fetch(fill);
    miss(number, {r.line, missing, fill, served}, replies);
  } else if (hit.line->pending()) {
    others_.append(fills_[static_cast<std::size_t>(hit.line->fill())].others, {r.core, r.ticket, bytes});
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
  const std::int64_t bytes = bytes_of(r.sectors);
  for (std::int64_t further = 1; further < spec_.partitions; ++further) {
    Slice& far = slices_[static_cast<std::size_t>(slice_of(r.core, r.line, further))];
    SectorCache::Line* const line = far.cache.peek(near_.in_slice(r.line), near.missing);
    if (line == nullptr) continue;
    if (line->pending()) {
      near.line->fetch(line->fill());
      others_.append(fills_[static_cast<std::size_t>(line->fill())].others,
                     {r.core, r.ticket, bytes, near.line, bytes_of(near.missing)});
      return true;
    }
    const std::int64_t copied = bytes_of(near.missing);
    const Cycle there = far.port.book(served + fixed_latency_.across / 2, copied + spec_.request_bytes);
    const Cycle here = cross(partition_of(r.core), copied, std::max(there, line->ready())) + fixed_latency_.across -
                       fixed_latency_.across / 2;
    near.line->arrive(here);
    replies.push_back({r.core, r.ticket, respond(r.core, bytes, here), Stall::kL2});
    return true;
  }
  return false;
}

void DeviceMemory::keep(std::int64_t number, const SectorCache::Victim& v, Cycle at) {
  const std::int64_t next = (number + slices_of_partition_) % (slices_of_partition_ * spec_.partitions);
  const SectorCache::Result kept = slices_[static_cast<std::size_t>(next)].cache.touch(v.line, v.valid);
  if (kept.line != nullptr && !kept.line->pending()) kept.line->arrive(std::max(kept.line->ready(), at));
  if (kept.victim.dirty != 0) write_back(next, kept.victim, at, nullptr);
}

void DeviceMemory::write(const MemoryRequest& r, Slice& slice, std::int64_t number, Cycle served,
                         std::vector<MemoryReply>& replies) {
  const std::int64_t local = near_.in_slice(r.line);
  const std::uint32_t elsewhere = held_elsewhere(r.core, r.line, r.written.partly);
  const std::int64_t dropped = drop_others(r.core, r.line, r.sectors);
  const SectorCache::Result hit = slice.cache.touch(local, r.sectors);
  allocated_ += hit.allocated ? 1 : 0;
  statistics_->level(LevelRole::kDeviceCache).hits += std::popcount(r.sectors & ~hit.missing);
  if (hit.missing != 0 && tlb_ && tlb_->translates_writes())
    served = tlb_->translate(r.line * spec_.shape.line, served);
  const Waiter writer{r.core, r.ticket, 0};
  bool waits = false;
  if (!outer_)
    statistics_->dirtied_bytes += bytes_of(r.sectors & ~(hit.line == nullptr ? 0 : hit.line->dirty())) - dropped;
  const std::uint32_t lacking = r.written.partly & hit.missing & ~elsewhere;
  const bool fetches = fetches_the_rest() && lacking != 0 && hit.line != nullptr;
  note_written(r.line, r.sectors, fetches ? 0 : lacking, r.written);
  if (hit.line != nullptr) {
    hit.line->write(r.sectors);
    if (hit.victim) waits = evict(number, hit.victim, served, &writer);
  } else {
    waits = write_back(number, {local, r.sectors, r.sectors}, served, &writer);
  }
  if (fetches) {
    const int fill = new_fill(hit.line, {kNobody});
    hit.line->fetch(fill);
    miss(number, {r.line, lacking, fill, served}, replies);
  }
  if (!waits) replies.push_back({r.core, r.ticket, served + fixed_latency_.back, Stall::kL2});
}

std::int64_t DeviceMemory::drop_others(int core, std::int64_t line, std::uint32_t sectors) {
  std::int64_t dirty = 0;
  for (std::int64_t further = 1; further < spec_.partitions; ++further) {
    Slice& other = slices_[static_cast<std::size_t>(slice_of(core, line, further))];
    dirty += bytes_of(other.cache.drop(near_.in_slice(line), sectors));
  }
  return dirty;
}

std::uint32_t DeviceMemory::held_elsewhere(int core, std::int64_t line, std::uint32_t sectors) {
  std::uint32_t held = 0;
  for (std::int64_t further = 1; sectors != 0 && further < spec_.partitions; ++further)
    held |= slices_[static_cast<std::size_t>(slice_of(core, line, further))].cache.valid(near_.in_slice(line));
  return held & sectors;
}

void DeviceMemory::note_written(std::int64_t line, std::uint32_t sectors, std::uint32_t lacking,
                                const Written& written) {
  if (lacking == 0 && partly_.sectors(line) == 0) return;
  partly_.write(line, lacking, written.parts.any() ? written.parts : parts_of_sectors(spec_.shape, sectors));
}

void DeviceMemory::touch(int core, std::int64_t line, std::uint32_t sectors, bool write, const Written& written) {
  const std::int64_t number = slice_of(core, line), local = near_.in_slice(line);
  const auto leaves = [&](const SectorCache::Victim& v, std::int64_t slice) {
    cleaned_ += bytes_of(v.dirty);
    if (v.dirty != 0) partly_.forget(near_.line_of(slice % slices_of_partition_, v.line));
    if (outer_ && v.dirty != 0) outer_->touch(near_.line_of(slice % slices_of_partition_, v.line), v.dirty, true);
  };
  const std::uint32_t elsewhere = held_elsewhere(core, line, written.partly);
  if (write) cleaned_ += drop_others(core, line, sectors);
  const SectorCache::Result hit = slices_[static_cast<std::size_t>(number)].cache.touch(local, sectors);
  if (hit.line == nullptr) return;
  allocated_ += hit.allocated ? 1 : 0;
  leaves(hit.victim, number);
  if (hit.victim && hit.victim.dirty == 0) {
    const std::int64_t next = (number + slices_of_partition_) % (slices_of_partition_ * spec_.partitions);
    Slice& kept = slices_[static_cast<std::size_t>(next)];
    leaves(kept.cache.touch(hit.victim.line, hit.victim.valid).victim, next);
  }
  if (outer_ && !write && hit.missing != 0) outer_->touch(line, hit.missing, false);
  if (!write) {
    partly_.fill(line, sectors);
    return;
  }
  if (!fetches_the_rest()) note_written(line, sectors, written.partly & hit.missing & ~elsewhere, written);
  cleaned_ -= bytes_of(sectors & ~hit.line->dirty());
  hit.line->write(sectors);
}

Cycle DeviceMemory::cross(std::int64_t partition, std::int64_t bytes, Cycle from) {
  return crossing_.empty() ? from : crossing_[static_cast<std::size_t>(partition)].book(from, bytes);
}

void DeviceMemory::miss(std::int64_t number, const MissedLine& m, std::vector<MemoryReply>& replies) {
  if (spec_.slice_misses == 0) return fetch(m.line, m.sectors, m.fill, m.at, replies);
  Slice& slice = slices_[static_cast<std::size_t>(number)];
  slice.misses.add(m);
  ask(slice, number, replies);
}

// What is fetched may be there at once and give its register back, to this loop and not to one inside of it.
void DeviceMemory::ask(Slice& slice, std::int64_t number, std::vector<MemoryReply>& replies) {
  if (slice.asks) return;
  slice.asks = true;
  while (const std::optional<MissedLine> m = slice.misses.take()) {
    fills_[static_cast<std::size_t>(m->fill)].slice = number;
    fetch(m->line, m->sectors, m->fill, m->at, replies);
  }
  slice.asks = false;
}

int DeviceMemory::new_fill(SectorCache::Line* line, const Waiter& first) {
  if (free_fills_.empty()) {
    free_fills_.push_back(static_cast<int>(fills_.size()));
    fills_.emplace_back();
  }
  const int fill = free_fills_.back();
  free_fills_.pop_back();
  Fill& f = fills_[static_cast<std::size_t>(fill)];
  f.line = line;
  f.slice = kNoSlice;
  f.first = first;
  return fill;
}

bool DeviceMemory::evict(std::int64_t number, const SectorCache::Victim& v, Cycle at, const Waiter* writer) {
  if (v.dirty != 0) return write_back(number, v, at, writer);
  keep(number, v, at);
  return false;
}

bool DeviceMemory::write_back(std::int64_t number, const SectorCache::Victim& v, Cycle at, const Waiter* writer) {
  const std::int64_t line = near_.line_of(number % slices_of_partition_, v.line);
  if (!outer_) return write_to_dram(line, v.dirty, writes_of(line, v), at, writer);
  asked_.clear();
  outer_->write(line, v.dirty, at, *statistics_, asked_);
  return send_to_dram(writer);
}

DramWrites DeviceMemory::writes_of(std::int64_t line, const SectorCache::Victim& v) {
  if (spec_.write_granule <= spec_.shape.sector && partly_.sectors(line) == 0) return {bursts_of(v.dirty)};
  return partly_.leave(line, v.valid, v.dirty, spec_.burst_bytes, spec_.write_granule);
}

void DeviceMemory::fetch(std::int64_t line, std::uint32_t sectors, int fill, Cycle at,
                         std::vector<MemoryReply>& replies) {
  if (tlb_) at = tlb_->translate(line * spec_.shape.line, at);
  if (!outer_) return to_dram(line, sectors, {.id = fill, .bursts = bursts_of(sectors)}, at);
  asked_.clear();
  const OuterCaches::ReadOutcome outcome = outer_->read(line, sectors, fill, at, *statistics_, asked_);
  send_to_dram(nullptr);
  Fill& f = fills_[static_cast<std::size_t>(fill)];
  f.pending = outcome.pending;
  f.ready = outcome.ready;
  if (outcome.pending == 0) complete(fill, outcome.ready, false, stall_of_device_cache(outcome.level), replies);
}

bool DeviceMemory::send_to_dram(const Waiter* writer) {
  bool waits = false;
  for (const ToDram& r : asked_)
    if (!r.write)
      to_dram(r.line, r.sectors, {.id = r.fill, .bursts = bursts_of(r.sectors)}, r.at);
    else
      waits = write_to_dram(r.line, r.sectors, {bursts_of(r.sectors)}, r.at, waits ? nullptr : writer) || waits;
  return waits;
}

bool DeviceMemory::write_to_dram(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at,
                                 const Waiter* writer) {
  const bool waits = writer != nullptr && spec_.write_backlog > 0 &&
                     dram_->waiting_writes(map_.dram(line).channel) >= spec_.write_backlog;
  int fill = waits ? new_fill(nullptr, *writer) : kNoWaiter;
  const auto write = [&](std::int64_t bursts, bool merges, const LineParts& parts) {
    if (bursts == 0) return;
    to_dram(line, sectors, {.id = fill, .write = true, .bursts = bursts, .merges = merges}, at, parts);
    fill = kNoWaiter;
  };
  write(writes.merged, true, writes.merged_parts);
  write(writes.bursts, false, writes.parts);
  return waits;
}

std::int64_t DeviceMemory::bursts_of(std::uint32_t sectors) const {
  std::int64_t bursts = 0, last = -1;
  for (std::uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const int s = std::countr_zero(rest);
    const std::int64_t begin = s * last_.sector / spec_.burst_bytes;
    const std::int64_t end = ((s + 1) * last_.sector - 1) / spec_.burst_bytes;
    bursts += end - std::max(begin, last + 1) + 1;
    last = end;
  }
  return bursts;
}

void DeviceMemory::to_dram(std::int64_t line, std::uint32_t sectors, DramRequest request, Cycle at,
                           const LineParts& parts) {
  const DramPlace place = map_.dram(line);
  request.bank = spec_.dram.first_bank_of(place.channel) + place.bank;
  request.row = place.row;
  request.arrival = spec_.clocks.clock_at(at + fixed_latency_.to_channel);
  note_next(
      dram_->push({request, place.channel, line * last_.line, sectors, last_.sector, parts, bytes_of_part(last_)}));
}

void DeviceMemory::advance(Cycle until, std::vector<MemoryReply>& replies) {
  if (next_ >= until) return;
  served_.clear();
  dram_->run(spec_.clocks.clock_at(until - 1_cycles) + 1_nck, served_);
  next_ = kNever;
  note_next(dram_->next());
  for (std::size_t i = 0; i < served_.size(); ++i) {
    if (i + 2 * kLinesAhead < served_.size()) expect(served_[i + 2 * kLinesAhead]);
    if (i + kLinesAhead < served_.size()) expect_now(served_[i + kLinesAhead]);
    finish(served_[i], replies);
  }
}

void DeviceMemory::expect(const DramServed& s) const {
  if (s.id != kNoWaiter && !outer_) __builtin_prefetch(&fills_[static_cast<std::size_t>(s.id)]);
}

void DeviceMemory::expect_now(const DramServed& s) const {
  if (s.id != kNoWaiter && !outer_) __builtin_prefetch(fills_[static_cast<std::size_t>(s.id)].line, 1);
}

void DeviceMemory::finish(const DramServed& s, std::vector<MemoryReply>& replies) {
  LevelStatistics& t = statistics_->level(LevelRole::kDram);
  ++t.requests;
  t.transactions += s.bursts;
  t.hits += s.row_hit ? s.bursts : s.bursts - 1;
  (s.write ? t.written_bytes : t.read_bytes) += s.bursts * spec_.burst_bytes;
  if (s.id == kNoWaiter || s.merges) return;
  const Cycle done = spec_.clocks.cycle_at(s.done) + (s.write ? 0_cycles : fixed_latency_.from_channel);
  if (s.write || !outer_) return complete(s.id, done, s.write, Stall::kDram, replies);
  arrived_.clear();
  outer_->arrive(s.id, done, arrived_);
  for (const auto& [fill, at] : arrived_) {
    Fill& f = fills_[static_cast<std::size_t>(fill)];
    f.ready = std::max(f.ready, at);
    if (--f.pending == 0) complete(fill, f.ready, false, Stall::kDram, replies);
  }
}

void DeviceMemory::complete(int fill, Cycle at, bool write, Stall from, std::vector<MemoryReply>& replies) {
  Fill& f = fills_[static_cast<std::size_t>(fill)];
  if (f.line != nullptr && f.line->fill() == fill) f.line->arrive(at);
  const auto reply = [&](const Waiter& w) {
    if (w.core == kNobody) return;
    Cycle then = at;
    if (w.copy != nullptr) {
      then = cross(partition_of(w.core), w.copied_bytes, then) + fixed_latency_.across;
      if (w.copy->fill() == fill) w.copy->arrive(then);
    }
    replies.push_back({w.core, w.ticket, write ? then + fixed_latency_.back : respond(w.core, w.bytes, then), from});
  };
  reply(f.first);
  others_.take(f.others, reply);
  free_fills_.push_back(fill);
  const std::int64_t number = f.slice;
  if (number == kNoSlice) return;
  Slice& slice = slices_[static_cast<std::size_t>(number)];
  slice.misses.release(at);
  ask(slice, number, replies);
}

std::vector<std::int64_t> DeviceMemory::bytes_of_caches() const {
  std::vector<std::int64_t> bytes = {cache_bytes()};
  for (std::size_t o = 0; outer_ && o < outer_->size(); ++o) bytes.push_back(outer_->bytes(o));
  return bytes;
}

std::optional<double> DeviceMemory::times_filled(std::int64_t footprint) const {
  std::optional<double> least;
  const auto look_at = [&](std::int64_t bytes, double filled) {
    if (static_cast<double>(footprint) > kFits * static_cast<double>(bytes))
      least = std::min(least.value_or(filled), filled);
  };
  if (slice_lines_ > 0)
    look_at(cache_bytes() / spec_.partitions, static_cast<double>(allocated_) / static_cast<double>(slice_lines_));
  for (std::size_t o = 0; outer_ && o < outer_->size(); ++o) look_at(outer_->bytes(o), outer_->times_filled(o));
  return least;
}

// --- timeline

void DeviceMemory::watch(Timeline& timeline) {
  timeline_ = &timeline;
  dram_->watch([this](std::size_t controller, DramLog& log) { show_channel(controller, log); });
}

void DeviceMemory::show_channel(std::size_t channel, DramLog& log) {
  const auto cycle = [&](Clock c) { return spec_.clocks.cycles_of(c); };
  const auto number = [&](std::int64_t pseudo_channel) {
    return static_cast<int>(static_cast<std::int64_t>(channel) * spec_.dram.pseudo_channels + pseudo_channel);
  };
  for (const DramLog::Column& c : log.columns)
    timeline_->burst(number(c.pseudo_channel), c.write, c.row_hit, cycle(c.begin), cycle(c.begin + spec_.dram.t.burst),
                     spec_.burst_bytes);
  const Clock refresh = spec_.dram.refreshes_banks ? spec_.dram.t.rfc_sb : spec_.dram.t.rfc;
  for (const DramLog::Refresh& r : log.refreshes)
    timeline_->refresh(number(r.pseudo_channel), r.rank, cycle(r.begin), cycle(r.begin + refresh));
  log.columns.clear();
  log.refreshes.clear();
}

void DeviceMemory::show(Timeline& timeline, Cycle until) const {
  using enum Track::Kind;
  for (std::size_t s = 0; s < slices_.size(); ++s) timeline.port({kSlice, static_cast<int>(s)}, slices_[s].port, until);
  if (outer_) outer_->show(timeline, until);
  if (!crossbar_.has_ports()) return;
  for (int core = 0; core < static_cast<int>(spec_.cores); ++core) {
    if (!timeline.shows(core)) continue;
    timeline.port({kLinkOut, core}, crossbar_.out(static_cast<std::size_t>(core)), until);
    timeline.port({kLinkIn, core}, crossbar_.in(static_cast<std::size_t>(core)), until);
  }
}

}  // namespace tilescope::sim
