// SPDX-License-Identifier: Apache-2.0
#pragma once
// The link, the caches of a device and its DRAM without cores: the requests come from a trace (sim/cache_trace.h) or
// from initiators of a platform. Time advances in turns that are no longer than the shortest reply latency, so that no
// reply falls into the turn of its request. Turns are those of a simulation of cores; the caller may skip a turn in
// which nothing happens.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "arch/spec.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"
#include "sim/memory/dram_model.h"

namespace tilescope::sim {

// A request of one core, within one line of the cache that the core reaches first.
struct CacheRequest {
  int core = 0;
  int ticket = 0;  // returned with the reply
  bool write = false;
  std::int64_t address = 0, bytes = 0;
  Cycle at{};              // when the request leaves the core
  bool continues = false;  // joins the previous request (same core, kind, line and time) and takes its ticket
};

struct CacheReply {
  int ticket = 0;
  Cycle at{};     // when the data can be used, or the core knows that its write is accepted
  int level = 0;  // source of the data: caches of the device in the order of reach, then the DRAM
};

class CacheHierarchy {
 public:
  static constexpr Cycle kNever = Cycle::max();

  // The caches are empty at first. `dram`, if given, makes the model that replaces the chip's DRAM channels. Throws
  // SimError where the chip has no cache of the device, or lacks a number that a simulation needs.
  explicit CacheHierarchy(const arch::ArchSpec& chip, DramFactory dram = {});
  ~CacheHierarchy();
  CacheHierarchy(const CacheHierarchy&) = delete;
  CacheHierarchy& operator=(const CacheHierarchy&) = delete;

  std::int64_t cores() const;
  // Maximum number of lines that a core has in flight; 0: unlimited.
  std::int64_t misses() const;
  std::int64_t line_bytes() const;
  // Bytes of the sectors that the given bytes of one line touch.
  std::int64_t moved_bytes(std::int64_t address, std::int64_t bytes) const;
  // Peak bandwidth of the cache that cores reach first, in bytes per cycle.
  double peak() const;

  // Length of a turn; beginning of the turn that contains a cycle.
  Cycle turn() const;
  Cycle turn_of(Cycle at) const { return at / turn() * turn(); }
  // Time of the next event if no request comes; kNever once nothing is left to do.
  Cycle next() const;
  // Runs one turn. `requests` are those that leave a core before `end`, or were handed over before `end`, without the
  // requests of earlier turns. Sorts them by time; requests of one cycle keep their order. Adds each reply once its
  // time is known, in this turn or a later one.
  void run(std::vector<CacheRequest>& requests, Cycle end, std::vector<CacheReply>& replies);

  // Statistics so far: the DRAM, then caches from the outside in.
  std::vector<LevelReport> levels() const;
  // Bytes that writes made dirty, written back or not.
  std::int64_t dirtied_bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tilescope::sim
