// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags of one cache or slice of one: lines of sectors, sets of ways or one set of all lines, least recently used out
// first, write-back.
//
// Ignores: requesters and times, which the caller keeps.

#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "arch/spec.h"
#include "base/divisor.h"
#include "sim/memory/detail/zeroed_array.h"
#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

struct CacheSpec {
  static constexpr std::int64_t kAnyWay = 0;

  std::int64_t lines = 0;       // 0: holds nothing
  std::int64_t ways = kAnyWay;  // of a set; kAnyWay: a line may lie anywhere
  bool tells_clean = false;     // tells of clean lines too that had to leave
};

class SectorCache {
 public:
  static constexpr std::int64_t kMaxSectors = arch::kMaxSectors;  // of a line

  // Sixteen bytes: a simulation has many and waits for memory.
  class Line {
   public:
    // Whether something is on its way into the line: the caller's number of that, and when it came.
    bool pending() const { return when_ < 0; }
    int fill() const { return static_cast<int>(~when_); }
    Cycle ready() const { return Cycle(when_); }
    void fetch(int fill) { when_ = ~static_cast<std::int64_t>(fill); }
    void arrive(Cycle at) { when_ = at.count(); }

    std::uint32_t dirty() const { return dirty_; }
    void write(std::uint32_t sectors) { dirty_ = static_cast<std::uint16_t>(dirty_ | sectors); }

   private:
    friend class SectorCache;
    std::int64_t when_ = 0;  // the cycle when all that is valid has arrived, or ~ the number of what is on its way
    std::uint32_t tag_ = 0;  // 0: no line's
    std::uint16_t valid_ = 0, dirty_ = 0;
  };
  // A line that had to leave: what of it has to be written back, and what was valid of it. None where nothing of it is
  // dirty, unless the cache tells of clean ones.
  struct Victim {
    std::int64_t line = 0;
    std::uint32_t dirty = 0;
    std::uint32_t valid = 0;

    explicit operator bool() const { return valid != 0; }
  };
  struct Result {
    Line* line = nullptr;  // null where the cache holds nothing; another line's once this one had to leave
    std::uint32_t missing = 0;
    bool allocated = false;
    Victim victim;
  };

  explicit SectorCache(CacheSpec spec);

  // Adds the sectors to the line, which is allocated where it is absent. They count as valid from now on.
  Result touch(std::int64_t line, std::uint32_t sectors);
  // The line where it is present with all of the sectors; it does not count as used.
  Line* peek(std::int64_t line, std::uint32_t sectors);
  // Sectors of the line that are present.
  std::uint32_t valid(std::int64_t line) {
    const Line* const found = find(line);
    return found == nullptr ? 0 : found->valid_;
  }
  // Forgets the sectors of the line where it is present; returns those that were dirty.
  std::uint32_t drop(std::int64_t line, std::uint32_t sectors);
  std::int64_t lines() const { return static_cast<std::int64_t>(lines_.size()); }
  // Say that the line will be touched soon, and very soon: a simulation of many caches waits for memory most of the
  // time.
  void expect(std::int64_t line) const {
    if (!order_.empty()) __builtin_prefetch(order(place_of(line).set));
  }
  void expect_now(std::int64_t line) const;

 private:
  // A line's set, and what tells it from the set's other lines, never 0.
  struct Place {
    std::size_t set;
    std::uint32_t tag;
  };
  Place place_of(std::int64_t line) const;
  std::int64_t line_of(const Place& p) const;
  Line* find(std::int64_t line);
  // Where among the latest used of its set a line probably is (its tag's eight bits are), or the number of ways.
  std::size_t likely(const std::uint8_t* tags, std::uint8_t tag, std::size_t from) const {
    const auto ways = static_cast<std::size_t>(spec_.ways);
    const void* const found = std::memchr(tags + from, tag, ways - from);
    return found == nullptr ? ways : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - tags);
  }

  // Ways of a set by when they were used, latest first: eight bits of every tag, then the ways themselves. A search
  // reads little else.
  struct alignas(64) Chunk {
    std::uint8_t bytes[64];
  };
  std::uint8_t* order(std::size_t set) {
    return reinterpret_cast<std::uint8_t*>(order_.data()) + set * chunks_of_set_ * sizeof(Chunk);
  }
  const std::uint8_t* order(std::size_t set) const {
    return reinterpret_cast<const std::uint8_t*>(order_.data()) + set * chunks_of_set_ * sizeof(Chunk);
  }

  // The line of a place, the latest used of its set from now on; whether it was there.
  struct Found {
    Line* line = nullptr;
    bool was_there = false;
  };
  Found use_in_set(const Place& place);
  Found use_anywhere(const Place& place);

  // The lines of a cache without sets by when they were used: a ring through their numbers and one for its end.
  struct Neighbours {
    std::uint32_t later = 0, earlier = 0;
  };
  void unlink(std::uint32_t number);
  void link_latest(std::uint32_t number);

  CacheSpec spec_;
  base::Divisor sets_{1};
  std::size_t chunks_of_set_ = 1;
  ZeroedArray<Chunk> order_;  // none without sets
  ZeroedArray<Line> lines_;
  // Without sets:
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // of lines, by tag
  ZeroedArray<Neighbours> ring_;                              // the last element is the end
};

}  // namespace tilescope::sim
