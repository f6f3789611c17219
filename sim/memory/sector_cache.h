#pragma once
// Tags of one cache or slice of one: lines of sectors, sets of ways, least recently used out first, write-back.
//
// Ignores: who asks and when; the caller keeps times.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/calendar.h"

namespace tilescope::sim {

struct CacheSpec {
  std::int64_t lines = 0;  // 0: holds nothing
  std::int64_t ways = 1;
};

class SectorCache {
 public:
  struct Line {
    std::uint32_t valid = 0, dirty = 0;
    int fill = -1;    // the caller's number of what is on its way into the line, or -1
    Cycle ready = 0;  // when all that is valid has arrived
  };
  struct Victim {
    std::int64_t line = 0;
    std::uint32_t dirty = 0;
  };
  struct Result {
    Line* line = nullptr;  // null where the cache holds nothing; another line's once this one had to leave
    std::uint32_t missing = 0;
    bool allocated = false;
    std::optional<Victim> victim;  // a dirty line that had to leave
  };

  explicit SectorCache(CacheSpec spec);

  // Brings the sectors into the line, which is allocated where it is absent. They count as valid from now on.
  Result touch(std::int64_t line, std::uint32_t sectors);
  std::int64_t lines() const { return static_cast<std::int64_t>(lines_.size()); }

 private:
  // A line's set, and what tells it from the set's other lines.
  struct Place {
    std::int64_t set;
    std::uint32_t tag;
  };
  Place place_of(std::int64_t line) const;
  std::int64_t line_of(const Place& p) const;
  std::size_t oldest_of(std::size_t first) const;

  CacheSpec spec_;
  std::int64_t sets_ = 0;
  std::uint32_t now_ = 0;
  // Side by side by what they are read for: a search reads tags, a replacement times.
  std::vector<std::uint32_t> tags_, used_;  // used_: when last, 0 of a line that never was
  std::vector<Line> lines_;
};

// Spreads a number over all bits (the finalizer of splitmix64): for sets, banks and slices that strides cannot single
// out.
std::uint64_t mixed(std::int64_t n);

}  // namespace tilescope::sim
