// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/outer_caches.h"

#include <algorithm>
#include <bit>

#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

// Visits the lines of a cache that hold sectors of a line of the cache before it, each with its own sectors.
template <class Visit>
void each_line(const LineShape& inner, const LineShape& own, std::int64_t line, std::uint32_t sectors, Visit visit) {
  std::int64_t current = -1;
  std::uint32_t mask = 0;
  for (std::uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const std::int64_t begin = line * inner.line + std::countr_zero(rest) * inner.sector;
    for (std::int64_t at = begin / own.sector; at * own.sector < begin + inner.sector; ++at) {
      const std::int64_t sectors_of_line = own.line / own.sector;
      if (at / sectors_of_line != current) {
        if (mask != 0) visit(current, mask);
        current = at / sectors_of_line;
        mask = 0;
      }
      mask |= std::uint32_t{1} << (at % sectors_of_line);
    }
  }
  if (mask != 0) visit(current, mask);
}

}  // namespace

OuterCaches::OuterCaches(const std::vector<OuterCacheSpec>& specs, LineShape inner, Cycle inner_latency) {
  for (const OuterCacheSpec& spec : specs) {
    Level& l = levels_.emplace_back(spec, inner);
    for (std::int64_t s = 0; s < spec.slices; ++s)
      l.slices.push_back({ReservationTable(spec.slice_rate), SectorCache(spec.slice)});
    for (const Slice& s : l.slices) l.lines += s.cache.lines();
    const std::int64_t asked = std::max(inner.sector, spec.shape.sector);
    const Cycle wire =
        std::max(0_cycles, spec.latency - inner_latency - cycles_of(spec.slice_rate, asked + spec.request_bytes));
    l.to = wire / 2;
    l.back = wire - l.to;
    inner = spec.shape;
    inner_latency = std::max(inner_latency, spec.latency);
  }
}

void OuterCaches::begin() {
  for (Level& l : levels_) l.allocated = 0;
}

OuterCaches::Found OuterCaches::look_up(Level& l, std::int64_t own, std::uint32_t mask, Cycle at, LevelStatistics& t) {
  const std::int64_t number = l.map.slice(own);
  Slice& slice = l.slices[static_cast<std::size_t>(number)];
  const Cycle served = slice.port.book(at + l.to, l.spec.shape.bytes_of(mask) + l.spec.request_bytes);
  const SectorCache::Result hit = slice.cache.touch(l.map.in_slice(own), mask);
  l.allocated += hit.allocated ? 1 : 0;
  ++t.requests;
  t.transactions += std::popcount(mask);
  t.hits += std::popcount(mask & ~hit.missing);
  return {number, served, hit};
}

OuterCaches::ReadOutcome OuterCaches::read_at(std::size_t level, std::int64_t line, std::uint32_t sectors, int id,
                                              Cycle at, Statistics& statistics, std::vector<ToDram>& out) {
  ReadOutcome all{.ready = at, .level = level + 1};
  each_line(levels_[level].inner, levels_[level].spec.shape, line, sectors, [&](std::int64_t own, std::uint32_t mask) {
    Level& l = levels_[level];
    LevelStatistics& t = statistics.level(role_of_device_cache(level + 1));
    const auto [number, served, hit] = look_up(l, own, mask, at, t);
    t.read_bytes += l.spec.shape.bytes_of(mask);
    if (hit.victim) write_back(level, number, hit.victim, served, statistics, out);
    if (hit.missing == 0) {
      if (hit.line->pending()) {
        l.fills.wait_too(hit.line->fill(), id);
        ++all.pending;
      } else {
        all.ready = std::max(all.ready, std::max(served, hit.line->ready()) + l.back);
      }
      return;
    }
    const int fill = l.fills.begin(hit.line, id);
    if (is_last(level)) {
      out.push_back({own, hit.missing, false, fill, served});
      ++all.pending;
      return;
    }
    const ReadOutcome more = read_at(level + 1, own, hit.missing, fill, served, statistics, out);
    if (!l.fills.in_parts(fill, more.pending, more.ready)) {
      ++all.pending;
      return;
    }
    l.fills.end(fill, more.ready, [](int) {});
    all.ready = std::max(all.ready, more.ready + l.back);
    all.level = std::max(all.level, more.level);
  });
  return all;
}

void OuterCaches::write_at(std::size_t level, std::int64_t line, std::uint32_t sectors, Cycle at,
                           Statistics& statistics, std::vector<ToDram>& out) {
  each_line(levels_[level].inner, levels_[level].spec.shape, line, sectors, [&](std::int64_t own, std::uint32_t mask) {
    Level& l = levels_[level];
    LevelStatistics& t = statistics.level(role_of_device_cache(level + 1));
    const auto [number, served, hit] = look_up(l, own, mask, at, t);
    t.written_bytes += l.spec.shape.bytes_of(mask);
    if (is_last(level)) statistics.dirtied_bytes += l.spec.shape.bytes_of(mask & ~hit.line->dirty());
    hit.line->write(mask);
    if (hit.victim) write_back(level, number, hit.victim, served, statistics, out);
  });
}

void OuterCaches::write_back(std::size_t level, std::int64_t slice, const SectorCache::Victim& v, Cycle at,
                             Statistics& statistics, std::vector<ToDram>& out) {
  const std::int64_t line = levels_[level].map.line_of(slice, v.line);
  if (is_last(level))
    out.push_back({line, v.dirty, true, -1, at});
  else
    write_at(level + 1, line, v.dirty, at, statistics, out);
}

void OuterCaches::arrive_at(std::size_t level, int fill, Cycle at, std::vector<std::pair<int, Cycle>>& arrived) {
  Level& l = levels_[level];
  const Cycle back = at + l.back;
  l.fills.end(fill, at, [&](int id) {
    if (level == 0)
      arrived.emplace_back(id, back);
    else if (const auto ready = levels_[level - 1].fills.arrive(id, back))
      arrive_at(level - 1, id, *ready, arrived);
  });
}

void OuterCaches::touch_at(std::size_t level, std::int64_t line, std::uint32_t sectors, bool write) {
  each_line(levels_[level].inner, levels_[level].spec.shape, line, sectors, [&](std::int64_t own, std::uint32_t mask) {
    Level& l = levels_[level];
    const std::int64_t number = l.map.slice(own);
    const SectorCache::Result hit = l.slices[static_cast<std::size_t>(number)].cache.touch(l.map.in_slice(own), mask);
    l.allocated += hit.allocated ? 1 : 0;
    if (is_last(level)) {
      cleaned_ += l.spec.shape.bytes_of(hit.victim.dirty);
      if (write) cleaned_ -= l.spec.shape.bytes_of(mask & ~hit.line->dirty());
    } else {
      if (hit.victim) touch_at(level + 1, l.map.line_of(number, hit.victim.line), hit.victim.dirty, true);
      if (!write && hit.missing != 0) touch_at(level + 1, own, hit.missing, false);
    }
    if (write) hit.line->write(mask);
  });
}

void OuterCaches::show(Timeline& timeline, Cycle until) const {
  for (std::size_t level = 0; level < levels_.size(); ++level)
    for (std::size_t s = 0; s < levels_[level].slices.size(); ++s)
      timeline.port({Track::Kind::kSlice, static_cast<int>(s), static_cast<int>(level) + 1},
                    levels_[level].slices[s].port, until);
}

}  // namespace tilescope::sim
