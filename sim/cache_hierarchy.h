// SPDX-License-Identifier: Apache-2.0
#pragma once
// The link, the caches of a device and its DRAM, asked without cores: by a trace (sim/cache_trace.h), by initiators of
// a platform. Time goes on in turns that are no longer than the shortest reply takes, so that no one hears in a turn of
// what was asked in it. Turns are those of a simulation of cores; one in which nothing happens may be left out.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "arch/spec.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"
#include "sim/memory/dram_model.h"

namespace tilescope::sim {

// Of one core, within one line of the cache that it reaches first.
struct CacheRequest {
  int core = 0;
  int ticket = 0;  // given back with the reply
  bool write = false;
  std::int64_t address = 0, bytes = 0;
  Cycle at{};              // it leaves the core
  bool continues = false;  // the one before it, of the same core, kind, line and time: they are one, with its ticket
};

struct CacheReply {
  int ticket = 0;
  Cycle at{};     // the data can be used; the core knows that a write is accepted
  int level = 0;  // that the data come from: caches of the device in the order of reach, then the DRAM
};

class CacheHierarchy {
 public:
  static constexpr Cycle kNever = Cycle::max();

  // The caches are empty; `dram` makes what stands in for the chip's channels, if it is given. Throws SimError where
  // the chip has no cache of the device, or misses a number that a simulation needs.
  explicit CacheHierarchy(const arch::ArchSpec& chip, DramFactory dram = {});
  ~CacheHierarchy();
  CacheHierarchy(const CacheHierarchy&) = delete;
  CacheHierarchy& operator=(const CacheHierarchy&) = delete;

  std::int64_t cores() const;
  // Lines that a core has under way at a time; 0: any number.
  std::int64_t misses() const;
  std::int64_t line_bytes() const;
  // Of the sectors that these bytes of one line touch.
  std::int64_t moved_bytes(std::int64_t address, std::int64_t bytes) const;
  // Bytes that the first cache moves in a cycle.
  double peak() const;

  // Cycles of a turn; the beginning of the one that holds a cycle.
  Cycle turn() const;
  Cycle turn_of(Cycle at) const { return at / turn() * turn(); }
  // When something next happens of itself; kNever once nothing is left to do.
  Cycle next() const;
  // One turn: all that is asked before `end`, or handed over before, and was not asked in a turn before. Of one cycle,
  // the first in the vector comes first; the vector is sorted. Adds replies as their times are known, in this turn or a
  // later one.
  void run(std::vector<CacheRequest>& requests, Cycle end, std::vector<CacheReply>& replies);

  // So far: the DRAM, then caches from the outside in.
  std::vector<LevelReport> levels() const;
  // That writes made dirty, written back or not.
  std::int64_t dirtied_bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tilescope::sim
