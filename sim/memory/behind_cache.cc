// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/behind_cache.h"

#include <algorithm>

#include "sim/memory/dram_channels.h"
#include "sim/timeline.h"

namespace tilescope::sim {

BehindCache::BehindCache(const MemorySpec& spec, const FixedLatency& latency, Statistics& statistics)
    : spec_(spec),
      to_channel_(latency.to_channel),
      from_channel_(latency.from_channel),
      statistics_(&statistics),
      last_(spec.outer.empty() ? spec.shape : spec.outer.back().shape),
      map_(spec.map) {
  if (!spec.outer.empty()) outer_.emplace(spec.outer, spec.shape, spec.cache_latency);
  dram_ = spec.dram_model ? spec.dram_model() : std::make_unique<DramChannels>(spec.dram, spec.map.channels);
}

void BehindCache::use(Statistics& statistics) {
  statistics_ = &statistics;
  if (outer_) outer_->begin();
}

BehindCache::Outcome BehindCache::read(std::int64_t line, std::uint32_t sectors, int fill, Cycle at) {
  if (!outer_) {
    push(line, sectors, {.id = fill, .bursts = bursts(sectors)}, at);
    return {};
  }
  asked_.clear();
  const OuterCaches::ReadOutcome found = outer_->read(line, sectors, fill, at, *statistics_, asked_);
  hand_on(kNoFill);
  return {found.pending, found.ready, stall_of_device_cache(found.level)};
}

bool BehindCache::write(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at, int writer) {
  if (!outer_) return write_to_dram(line, sectors, writes, at, writer);
  asked_.clear();
  outer_->write(line, sectors, at, *statistics_, asked_);
  return hand_on(writer);
}

bool BehindCache::hand_on(int writer) {
  bool waits = false;
  for (const ToDram& r : asked_)
    if (!r.write)
      push(r.line, r.sectors, {.id = r.fill, .bursts = bursts(r.sectors)}, r.at);
    else
      waits = write_to_dram(r.line, r.sectors, {bursts(r.sectors)}, r.at, waits ? kNoFill : writer) || waits;
  return waits;
}

bool BehindCache::write_to_dram(std::int64_t line, std::uint32_t sectors, const DramWrites& writes, Cycle at,
                                int writer) {
  const bool waits = writer != kNoFill && spec_.write_backlog > 0 &&
                     dram_->waiting_writes(map_.dram(line).channel) >= spec_.write_backlog;
  int fill = waits ? writer : kNoFill;
  const auto write = [&](std::int64_t count, bool merges, const LineParts& parts) {
    if (count == 0) return;
    push(line, sectors, {.id = fill, .write = true, .bursts = count, .merges = merges}, at, parts);
    fill = kNoFill;
  };
  write(writes.merged, true, writes.merged_parts);
  write(writes.bursts, false, writes.parts);
  return waits;
}

void BehindCache::push(std::int64_t line, std::uint32_t sectors, DramRequest request, Cycle at,
                       const LineParts& parts) {
  const DramPlace place = map_.dram(line);
  request.bank = spec_.dram.first_bank_of(place.channel) + place.bank;
  request.row = place.row;
  request.arrival = spec_.clocks.clock_at(at + to_channel_);
  note_next(
      dram_->push({request, place.channel, line * last_.line, sectors, last_.sector, parts, bytes_of_part(last_)}));
}

std::span<const DramServed> BehindCache::run(Cycle until) {
  served_.clear();
  if (next_ >= until) return served_;
  dram_->run(spec_.clocks.clock_at(until - 1_cycles) + 1_nck, served_);
  next_ = Cycle::max();
  note_next(dram_->next());
  return served_;
}

std::span<const BehindCache::Arrival> BehindCache::arrive(const DramServed& s) {
  LevelStatistics& t = statistics_->level(LevelRole::kDram);
  ++t.requests;
  t.transactions += s.bursts;
  t.hits += s.row_hit ? s.bursts : s.bursts - 1;
  (s.write ? t.written_bytes : t.read_bytes) += s.bursts * spec_.burst_bytes;
  arrived_.clear();
  if (s.id == kNoFill || s.merges) return arrived_;
  const Cycle done = spec_.clocks.cycle_at(s.done) + (s.write ? 0_cycles : from_channel_);
  if (s.write || !outer_) {
    arrived_.push_back({s.id, done, s.write});
  } else {
    through_.clear();
    outer_->arrive(s.id, done, through_);
    for (const auto& [fill, at] : through_) arrived_.push_back({fill, at});
  }
  return arrived_;
}

// --- timeline

void BehindCache::watch(Timeline& timeline) {
  dram_->watch([this, &timeline](std::size_t controller, DramLog& log) { show_channel(timeline, controller, log); });
}

void BehindCache::show_channel(Timeline& timeline, std::size_t channel, DramLog& log) const {
  const auto cycle = [&](Clock c) { return spec_.clocks.cycles_of(c); };
  const auto number = [&](std::int64_t pseudo_channel) {
    return static_cast<int>(static_cast<std::int64_t>(channel) * spec_.dram.pseudo_channels + pseudo_channel);
  };
  for (const DramLog::Column& c : log.columns)
    timeline.burst(number(c.pseudo_channel), c.write, c.row_hit, cycle(c.begin), cycle(c.begin + spec_.dram.t.burst),
                   spec_.burst_bytes);
  const Clock refresh = spec_.dram.refreshes_banks ? spec_.dram.t.rfc_sb : spec_.dram.t.rfc;
  for (const DramLog::Refresh& r : log.refreshes)
    timeline.refresh(number(r.pseudo_channel), r.rank, cycle(r.begin), cycle(r.begin + refresh));
  log.columns.clear();
  log.refreshes.clear();
}

}  // namespace tilescope::sim
