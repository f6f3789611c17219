// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/sector_cache.h"

#include <algorithm>

#include "base/integer.h"
#include "sim/memory/detail/spread.h"

namespace tilescope::sim {
namespace {

constexpr std::int64_t kMaxWays = 256;  // a way is a byte

}  // namespace

SectorCache::SectorCache(CacheSpec spec) : spec_(spec) {
  if (spec.lines <= 0) return;
  if (spec.ways == CacheSpec::kAnyWay || spec.ways > kMaxWays) {
    const auto lines = static_cast<std::size_t>(spec.lines);
    lines_ = ZeroedArray<Line>(lines);
    ring_ = ZeroedArray<Neighbours>(lines + 1);
    ring_[lines] = {static_cast<std::uint32_t>(lines), static_cast<std::uint32_t>(lines)};
    return;
  }
  spec_.ways = std::clamp<std::int64_t>(spec.ways, 1, spec.lines);
  const std::int64_t sets = spec.lines / spec_.ways;
  sets_ = base::Divisor(sets);
  chunks_of_set_ = static_cast<std::size_t>(base::ceil_div(2 * spec_.ways, sizeof(Chunk)));
  order_ = ZeroedArray<Chunk>(static_cast<std::size_t>(sets) * chunks_of_set_);
  lines_ = ZeroedArray<Line>(static_cast<std::size_t>(sets * spec_.ways));
}

// Neighbouring lines fall into neighbouring sets; which one comes first is hashed, run by run.
SectorCache::Place SectorCache::place_of(std::int64_t line) const {
  const std::int64_t run = sets_.quotient(line), sets = sets_.value();
  const std::int64_t set = line - run * sets + one_of(mixed(run), sets);
  return {static_cast<std::size_t>(set < sets ? set : set - sets), static_cast<std::uint32_t>(run) + 1};
}

std::int64_t SectorCache::line_of(const Place& p) const {
  const std::int64_t sets = sets_.value(), run = std::int64_t{p.tag} - 1;
  const std::int64_t rest = static_cast<std::int64_t>(p.set) - one_of(mixed(run), sets);
  return run * sets + (rest < 0 ? rest + sets : rest);
}

void SectorCache::expect_now(std::int64_t line) const {
  if (order_.empty()) return;
  const Place place = place_of(line);
  const auto ways = static_cast<std::size_t>(spec_.ways);
  const std::uint8_t* const tags = order(place.set);
  const std::size_t at = likely(tags, static_cast<std::uint8_t>(place.tag), 0);
  __builtin_prefetch(&lines_[place.set * ways + tags[ways + std::min(at, ways - 1)]], 1);
}

SectorCache::Line* SectorCache::find(std::int64_t line) {
  if (lines_.empty()) return nullptr;
  const Place place = place_of(line);
  if (order_.empty()) {
    const auto found = numbers_.find(place.tag);
    return found == numbers_.end() ? nullptr : &lines_[found->second];
  }
  Line* const first = &lines_[place.set * static_cast<std::size_t>(spec_.ways)];
  Line* const end = first + spec_.ways;
  Line* const found = std::find_if(first, end, [&](const Line& l) { return l.tag_ == place.tag; });
  return found == end ? nullptr : found;
}

SectorCache::Line* SectorCache::peek(std::int64_t line, std::uint32_t sectors) {
  Line* const found = find(line);
  return found != nullptr && (sectors & ~std::uint32_t{found->valid_}) == 0 ? found : nullptr;
}

std::uint32_t SectorCache::drop(std::int64_t line, std::uint32_t sectors) {
  Line* const found = find(line);
  if (found == nullptr) return 0;
  const std::uint32_t dirty = found->dirty_ & sectors;
  found->valid_ = static_cast<std::uint16_t>(found->valid_ & ~sectors);
  found->dirty_ = static_cast<std::uint16_t>(found->dirty_ & ~sectors);
  return dirty;
}

SectorCache::Found SectorCache::use_in_set(const Place& place) {
  const auto ways = static_cast<std::size_t>(spec_.ways);
  Line* const first = &lines_[place.set * ways];
  std::uint8_t* const tags = order(place.set);
  std::uint8_t* const way = tags + ways;
  if (ways > 1 && way[0] == way[1])  // the set is touched for the first time
    for (std::size_t w = 0; w < ways; ++w) way[w] = static_cast<std::uint8_t>(w);
  const auto short_tag = static_cast<std::uint8_t>(place.tag);
  std::size_t at = likely(tags, short_tag, 0);
  while (at < ways && first[way[at]].tag_ != place.tag) at = likely(tags, short_tag, at + 1);
  const bool was_there = at < ways;
  if (!was_there) --at;
  const std::uint8_t found = way[at];
  if (at > 0) {
    std::copy_backward(tags, tags + at, tags + at + 1);
    std::copy_backward(way, way + at, way + at + 1);
    way[0] = found;
  }
  tags[0] = short_tag;
  return {&first[found], was_there};
}

void SectorCache::unlink(std::uint32_t number) {
  const Neighbours n = ring_[number];
  ring_[n.later].earlier = n.earlier;
  ring_[n.earlier].later = n.later;
}

void SectorCache::link_latest(std::uint32_t number) {
  const auto end = static_cast<std::uint32_t>(lines_.size());
  const std::uint32_t latest = ring_[end].earlier;
  ring_[number] = {end, latest};
  ring_[latest].later = number;
  ring_[end].earlier = number;
}

SectorCache::Found SectorCache::use_anywhere(const Place& place) {
  const auto end = static_cast<std::uint32_t>(lines_.size());
  const auto [known, is_new] = numbers_.try_emplace(place.tag, static_cast<std::uint32_t>(numbers_.size()));
  if (is_new && known->second == end) {  // full: the one unused longest goes
    const std::uint32_t longest = ring_[end].later;
    unlink(longest);
    numbers_.erase(lines_[longest].tag_);
    numbers_[place.tag] = longest;
    link_latest(longest);
    return {&lines_[longest], false};
  }
  const std::uint32_t number = known->second;
  if (!is_new) unlink(number);
  link_latest(number);
  return {&lines_[number], !is_new};
}

SectorCache::Result SectorCache::touch(std::int64_t line, std::uint32_t sectors) {
  Result r;
  r.missing = sectors;
  if (lines_.empty()) return r;
  const Place place = place_of(line);
  const Found found = order_.empty() ? use_anywhere(place) : use_in_set(place);
  r.line = found.line;
  r.allocated = !found.was_there;
  if (r.allocated) {
    if (r.line->dirty_ != 0 || (spec_.tells_clean && r.line->valid_ != 0))
      r.victim = {line_of({place.set, r.line->tag_}), r.line->dirty_, r.line->valid_};
    *r.line = {};
    r.line->tag_ = place.tag;
  }
  r.missing = sectors & ~std::uint32_t{r.line->valid_};
  r.line->valid_ = static_cast<std::uint16_t>(r.line->valid_ | sectors);
  return r;
}

}  // namespace tilescope::sim
