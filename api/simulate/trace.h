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

namespace tilescope::api {

// What the caches before the DRAM did.
struct CacheTraffic {
  std::int64_t dirtied_bytes = 0;
  std::vector<SimulatedLevel> levels;  // DRAM first
};

template <class V>
void describe(V& v, base::Is<CacheTraffic> auto& c) {
  v.field({"dirtied_bytes", "B", "Bytes that writes made dirty."}, c.dirtied_bytes);
  v.rows({{"levels", "", "Traffic of each level."}, "", "level."}, c.levels);
}

// Result of a trace on a level. Cycles are the DRAM's, or the core's if caches are driven; latencies are those of
// reads.
struct TraceRow {
  std::int64_t requests = 0, bursts = 0, cycles = 0;
  double time_us = 0;
  std::int64_t useful_bytes = 0, bus_bytes = 0;
  double bus_gbps = 0, peak_ratio = 0, row_hit_ratio = 0;
  double mean_latency_ns = 0, p50_latency_ns = 0, p95_latency_ns = 0, p99_latency_ns = 0, max_latency_ns = 0;
  std::optional<CacheTraffic> caches;  // only if caches are driven
};

template <class V>
void describe(V& v, base::Is<TraceRow> auto& r) {
  v.field({"requests", "", "Lines of the trace."}, r.requests);
  v.field({"bursts", "", "Bursts of the DRAM."}, r.bursts);
  v.field({"cycles", "cycles", "Cycles until the last request is served."}, r.cycles);
  v.field({"time_us", "us", "The same time."}, r.time_us);
  v.field({"useful_bytes", "B", "Bytes that requests ask for."}, r.useful_bytes);
  v.field({"bus_bytes", "B", "Bytes that pass the bus."}, r.bus_bytes);
  v.field({"bus_gbps", "GB/s", "Bytes that pass the bus over the time."}, r.bus_gbps);
  v.field({"peak_ratio", "", "Share of the bus's peak."}, r.peak_ratio);
  v.field({"row_hit_ratio", "", "1 - activates / column commands."}, r.row_hit_ratio);
  v.field({"mean_latency_ns", "ns", "Mean latency."}, r.mean_latency_ns);
  v.field({"p50_latency_ns", "ns", "Median of the latencies."}, r.p50_latency_ns);
  v.field({"p95_latency_ns", "ns", "0.95 quantile of the latencies."}, r.p95_latency_ns);
  v.field({"p99_latency_ns", "ns", "0.99 quantile of the latencies."}, r.p99_latency_ns);
  v.field({"max_latency_ns", "ns", "The longest latency."}, r.max_latency_ns);
  v.part(r.caches);
}

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

}  // namespace tilescope::api
