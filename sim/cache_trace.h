// SPDX-License-Identifier: Apache-2.0
#pragma once
// The caches of a device and its DRAM, driven by a trace of requests in place of cores.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"
#include "sim/trace.h"

namespace tilescope::sim {

// Amounts of requests that were cut at lines of the cache that cores reach first. Cycles are the core's.
struct CacheTraceResult {
  std::int64_t requests = 0, lines = 0;  // of the trace; parts of them that lie in one line
  std::int64_t useful_bytes = 0;         // asked for
  std::int64_t bus_bytes = 0;            // of the sectors that they touch
  Cycle cycles{};                        // until the last part is answered
  double peak = 0;                       // bytes that the cache moves in a cycle
  std::int64_t dirtied_bytes = 0;        // that writes made dirty, written back or not
  LatencySummary latency;                // load-to-use, from leaving a core, or from arrival where that is given
  std::vector<LevelReport> levels;       // the DRAM, then caches from the outside in
};

// The parts of requests come from the cores in turn, each of which sends its own in order, with as many under way as
// its cache has lines (`mshrs`) where they are sent as they are taken (kSaturated). kWindow: so many under way of all
// cores' together, in the order of the trace. kRate: by the cache's peak in bytes. The caches are empty at first.
// Throws SimError where the chip has no cache of the device, or misses a number that a simulation needs.
CacheTraceResult replay_through_caches(const std::vector<TraceRequest>& trace, const arch::ArchSpec& chip,
                                       const Injection& injection);

}  // namespace tilescope::sim
