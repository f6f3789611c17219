// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope trace`: replays a file of requests on a DRAM level alone, or through the caches of a device before it.
// Memory systems are compared this way.

#include <cstdint>
#include <optional>
#include <string>

#include "api/common/simulation.h"
#include "api/source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::api {

// Result of a trace on a level. Cycles are the DRAM's, or the core's if caches are driven; latencies are those of
// reads.
struct TraceRow {
  std::int64_t requests = 0, cycles = 0;
  std::int64_t bursts = 0;  // of the DRAM
  double time_us = 0, bus_gbps = 0;
  std::int64_t useful_bytes = 0, bus_bytes = 0;
  double peak_ratio = 0;     // share of the bus's peak
  double row_hit_ratio = 0;  // 1 - activates / column commands
  double mean_latency_ns = 0, p50_latency_ns = 0, p95_latency_ns = 0, p99_latency_ns = 0, max_latency_ns = 0;
  // Only if caches are driven: bytes that writes made dirty, and the traffic of every level, DRAM first.
  std::int64_t dirtied_bytes = 0;
  std::vector<SimulatedLevel> levels;
};

// The level that is driven (the DRAM if empty), and the injection: "sat", "win:16" or "rate:0.5" (sim/trace.h).
struct TraceQuestion {
  std::string level, inject;
};

// Replays lines `<hex address> <R|W> <bytes> [<cycle>]`; blank lines and # comments are skipped. The cycle is the
// arrival time in the clock of the driven level. Either all lines have one, in ascending order, or none has. Returns
// nullopt after errors: a line that does not parse, an unknown injection, or a level that the chip lacks or that
// requests do not enter.
std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags);

base::Value to_document(const TraceRow& r);

}  // namespace tilescope::api
