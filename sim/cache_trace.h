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

// Result for requests that are cut at line boundaries of the cache that cores reach first. Cycles are core cycles.
struct CacheTraceResult {
  std::int64_t requests = 0, lines = 0;  // requests of the trace; their parts, each within one line
  std::int64_t useful_bytes = 0;         // requested
  std::int64_t bus_bytes = 0;            // of the sectors that the requests touch
  Cycle cycles{};                        // until the last part is answered
  double peak = 0;                       // bandwidth of the cache in bytes per cycle
  std::int64_t dirtied_bytes = 0;        // made dirty by writes, written back or not
  LatencySummary latency;                // load-to-use, from leaving a core, or from arrival where it is given
  std::vector<LevelReport> levels;       // the DRAM, then caches from the outside in
};

// Replays a trace. The parts of its requests are dealt to the cores in turn, and each core sends its parts in order.
// kSaturated: a core has at most `mshrs` lines of its cache in flight. kWindow: all cores together have at most
// `window` parts in flight, in the order of the trace. kRate: `rate` is relative to the cache's peak in bytes. The
// caches are empty at first. Throws SimError where the chip has no cache of the device, or lacks a number that a
// simulation needs.
CacheTraceResult replay_through_caches(const std::vector<TraceRequest>& trace, const arch::ArchSpec& chip,
                                       const Injection& injection);

}  // namespace tilescope::sim
