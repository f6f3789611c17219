// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope trace`: a DRAM level alone, or the caches of a device before it, driven by a file of requests; the
// question under which memory systems are compared.

#include <cstdint>
#include <optional>
#include <string>

#include "api/common/simulation.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// What a trace did on a level. Cycles are the DRAM's, or the core's where caches are driven; latencies are those of
// reads.
struct TraceRow {
  std::int64_t requests = 0, cycles = 0;
  std::int64_t bursts = 0;  // of the DRAM
  double time_us = 0, bus_gbps = 0;
  std::int64_t useful_bytes = 0, bus_bytes = 0;
  double peak_ratio = 0;     // of the bus's peak
  double row_hit_ratio = 0;  // 1 - activates / column commands
  double mean_latency_ns = 0, p50_latency_ns = 0, p95_latency_ns = 0, p99_latency_ns = 0, max_latency_ns = 0;
  // Of caches alone: bytes that writes made dirty; what every level did, from the DRAM on.
  std::int64_t dirtied_bytes = 0;
  std::vector<SimulatedLevel> levels;
};

// What is driven, the DRAM where it is empty, and how: "sat", "win:16" or "rate:0.5" (sim/trace.h).
struct TraceQuestion {
  std::string level, inject;
};

// Replays `<hex address> <R|W> <bytes> [<cycle>]` lines, blank ones and # comments left out: all with the cycle of the
// driven level's clock at which they arrive, in its order, or none. Nothing after errors: a line that does not parse,
// an injection that is none, a level that the chip lacks or that requests do not enter at.
std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags);

base::Value to_document(const TraceRow& r);

}  // namespace tilescope::api
