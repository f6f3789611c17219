// SPDX-License-Identifier: Apache-2.0
#pragma once
// The caches between the one that requests of the cores reach first and the DRAM: an L3 on the memory's side, say. Each
// has slices with ports of their own, looks up what the one before it misses, fetches what it misses itself from the
// next one, and takes what the one before it has to write back. None holds what another holds on purpose, and none
// takes anything back from those before it.
//
// An idle hit costs the level's `latency`, as in the first cache (sim/memory/detail/device_memory.h): what the level
// before and the port take is subtracted from that, the rest is wire there and back.
//
// Ignores: bandwidth of fills, bounded queues in the slices, that a partial write of a wider sector reads the rest.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/fills.h"
#include "sim/memory/detail/sector_cache.h"
#include "sim/memory/detail/warp_access.h"
#include "sim/memory/reservation_table.h"
#include "sim/statistics.h"

namespace tilescope::sim {

class Timeline;

struct OuterCacheSpec {
  LineShape shape;
  std::int64_t slices = 1;
  CacheSpec slice;                 // of each
  Rate slice_rate;                 // bytes
  std::int64_t request_bytes = 0;  // what a slice could move in the time that a request takes in addition to its data
  Cycle latency{};                 // whole load-to-use
};

// What goes on to the DRAM, in lines of the last cache.
struct ToDram {
  std::int64_t line = 0;
  std::uint32_t sectors = 0;
  bool write = false;
  int fill = -1;  // that a read answers
  Cycle at{};
};

class OuterCaches {
 public:
  // From the inside out; `inner` and `inner_latency` are of the cache before the first of them.
  OuterCaches(const std::vector<OuterCacheSpec>& specs, LineShape inner, Cycle inner_latency);

  // What became of a read: how many parts of it wait for the DRAM, when the others are there, and how far out the
  // farthest of these was found, 0 being the first cache.
  struct ReadOutcome {
    int pending = 0;
    Cycle ready{};
    std::size_t level = 0;
  };
  // The cache before asks for sectors of one of its lines; `id` is what `arrive` calls it by.
  ReadOutcome read(std::int64_t line, std::uint32_t sectors, int id, Cycle at, Statistics& statistics,
                   std::vector<ToDram>& out) {
    return read_at(0, line, sectors, id, at, statistics, out);
  }
  // The cache before writes sectors back.
  void write(std::int64_t line, std::uint32_t sectors, Cycle at, Statistics& statistics, std::vector<ToDram>& out) {
    write_at(0, line, sectors, at, statistics, out);
  }
  // The DRAM has answered; parts of reads that are there by that are added, each with when.
  void arrive(int fill, Cycle at, std::vector<std::pair<int, Cycle>>& arrived) {
    arrive_at(levels_.size() - 1, fill, at, arrived);
  }
  // Like `read` and `write` without time, and nothing is counted.
  void touch(std::int64_t line, std::uint32_t sectors, bool write) { touch_at(0, line, sectors, write); }
  // Bytes by which what waits in the last cache to be written has become less through touches, since the last call.
  std::int64_t take_cleaned() { return std::exchange(cleaned_, 0); }

  // Another kernel begins.
  void begin();
  std::size_t size() const { return levels_.size(); }
  std::int64_t bytes(std::size_t level) const { return levels_[level].lines * levels_[level].spec.shape.line; }
  // How often a cache has been filled since the kernel began.
  double times_filled(std::size_t level) const {
    return static_cast<double>(levels_[level].allocated) / static_cast<double>(levels_[level].lines);
  }
  void show(Timeline& timeline, Cycle until) const;

 private:
  struct Slice {
    ReservationTable port;
    SectorCache cache;
  };
  struct Level {
    Level(const OuterCacheSpec& own, LineShape of_inner) : spec(own), inner(of_inner), map({.slices = own.slices}) {}

    OuterCacheSpec spec;
    LineShape inner;
    AddressMap map;
    std::vector<Slice> slices;
    Cycle to{}, back{};  // between the cache before and a slice
    Fills<int> fills;    // those who wait are fills of the cache before
    std::int64_t lines = 0, allocated = 0;
  };
  // A line's sectors in the slice that has them, whose port was booked for them.
  struct Found {
    std::int64_t slice = 0;
    Cycle served{};
    SectorCache::Result hit;
  };

  static Found look_up(Level& l, std::int64_t own, std::uint32_t mask, Cycle at, LevelStatistics& t);
  ReadOutcome read_at(std::size_t level, std::int64_t line, std::uint32_t sectors, int id, Cycle at,
                      Statistics& statistics, std::vector<ToDram>& out);
  void write_at(std::size_t level, std::int64_t line, std::uint32_t sectors, Cycle at, Statistics& statistics,
                std::vector<ToDram>& out);
  void write_back(std::size_t level, std::int64_t slice, const SectorCache::Victim& v, Cycle at, Statistics& statistics,
                  std::vector<ToDram>& out);
  void arrive_at(std::size_t level, int fill, Cycle at, std::vector<std::pair<int, Cycle>>& arrived);
  void touch_at(std::size_t level, std::int64_t line, std::uint32_t sectors, bool write);
  bool is_last(std::size_t level) const { return level + 1 == levels_.size(); }

  std::vector<Level> levels_;
  std::int64_t cleaned_ = 0;
};

}  // namespace tilescope::sim
