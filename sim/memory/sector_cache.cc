#include "sim/memory/sector_cache.h"

#include <algorithm>

namespace tilescope::sim {
std::uint64_t mixed(std::int64_t n) {
  auto z = static_cast<std::uint64_t>(n);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

SectorCache::SectorCache(CacheSpec spec) : spec_(spec) {
  if (spec.lines <= 0) return;
  spec_.ways = std::clamp<std::int64_t>(spec.ways, 1, spec.lines);
  sets_ = spec.lines / spec_.ways;
  const auto n = static_cast<std::size_t>(sets_ * spec_.ways);
  tags_.assign(n, 0);
  used_.assign(n, 0);
  lines_.assign(n, {});
}

// Neighbouring lines fall into neighbouring sets; which one comes first is hashed, run by run.
SectorCache::Place SectorCache::place_of(std::int64_t line) const {
  const std::int64_t run = line / sets_;
  const auto sets = static_cast<std::uint64_t>(sets_);
  return {static_cast<std::int64_t>((static_cast<std::uint64_t>(line % sets_) + mixed(run) % sets) % sets),
          static_cast<std::uint32_t>(run)};
}

std::int64_t SectorCache::line_of(const Place& p) const {
  const auto turn = static_cast<std::int64_t>(mixed(p.tag) % static_cast<std::uint64_t>(sets_));
  return p.tag * sets_ + (p.set - turn + sets_) % sets_;
}

std::size_t SectorCache::oldest_of(std::size_t first) const {
  std::size_t oldest = first;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(spec_.ways); ++i)
    if (used_[i] < used_[oldest]) oldest = i;
  return oldest;
}

SectorCache::Result SectorCache::touch(std::int64_t line, std::uint32_t sectors) {
  if (sets_ == 0) return {nullptr, sectors, false, {}};
  const Place place = place_of(line);
  const auto first = static_cast<std::size_t>(place.set * spec_.ways);
  const std::size_t last = first + static_cast<std::size_t>(spec_.ways);
  Result r;
  std::size_t at = first;
  while (at < last && (tags_[at] != place.tag || used_[at] == 0)) ++at;
  if (at == last) {
    at = oldest_of(first);
    if (lines_[at].dirty != 0) r.victim = Victim{line_of({place.set, tags_[at]}), lines_[at].dirty};
    lines_[at] = {};
    tags_[at] = place.tag;
    r.allocated = true;
  }
  used_[at] = ++now_;
  r.line = &lines_[at];
  r.missing = sectors & ~r.line->valid;
  r.line->valid |= sectors;
  return r;
}

}  // namespace tilescope::sim
