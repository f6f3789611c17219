#pragma once
// Tags of one cache or slice of one: lines of sectors, sets of ways, least recently used out first, write-back.
//
// Ignores: who asks and when; the caller keeps times.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/calendar.h"
#include "sim/memory/divisor.h"

namespace tilescope::sim {

struct CacheSpec {
  std::int64_t lines = 0;  // 0: holds nothing
  std::int64_t ways = 1;
};

class SectorCache {
 public:
  struct Line {
    Cycle ready = 0;  // when all that is valid has arrived
    int fill = -1;    // the caller's number of what is on its way into the line, or -1
    std::uint32_t valid = 0, dirty = 0;
    std::uint32_t tag = ~std::uint32_t{0};  // the cache's own
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
  // Says that the line will be touched soon: a simulation of many caches waits for memory most of the time.
  void expect(std::int64_t line) const {
    if (!lines_.empty()) __builtin_prefetch(&order_[place_of(line).set * chunks_of_set_]);
  }

 private:
  // A line's set, and what tells it from the set's other lines.
  struct Place {
    std::size_t set;
    std::uint32_t tag;
  };
  Place place_of(std::int64_t line) const;
  std::int64_t line_of(const Place& p) const;

  // Ways of a set by when they were used, latest first: eight bits of every tag, then the ways themselves. A search
  // reads little else.
  struct alignas(64) Chunk {
    std::uint8_t bytes[64];
  };

  CacheSpec spec_;
  Divisor sets_{1};
  std::size_t chunks_of_set_ = 1;
  std::vector<Chunk> order_;
  std::vector<Line> lines_;
};

}  // namespace tilescope::sim
