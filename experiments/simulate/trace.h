// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope trace`: a DRAM level alone, driven by a file of requests; the question under which memory systems are
// compared.

#include <cstdint>
#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/programs/source.h"

namespace tilescope::experiments {

// What a trace did on a level. Cycles are the level's; latencies are those of reads.
struct TraceRow {
  std::int64_t requests = 0, bursts = 0, cycles = 0;
  double time_us = 0, bus_gbps = 0;
  std::int64_t useful_bytes = 0, bus_bytes = 0;
  double peak_ratio = 0;     // of the bus's peak
  double row_hit_ratio = 0;  // 1 - activates / column commands
  double mean_latency_ns = 0, p95_latency_ns = 0;
};

// What is driven, and how: "sat", "win:16" or "rate:0.5" (sim/trace.h).
struct TraceQuestion {
  std::string level, inject;
};

// Replays `<hex address> <R|W> <bytes>` lines, blank ones and # comments left out. Nothing after errors: a line that
// does not parse, an injection that is none, a level that is no DRAM or has no mapping.
std::optional<TraceRow> run_trace(const NamedText& file, const arch::ArchSpec& a, const TraceQuestion& question,
                                  base::Diagnostics& diags);

base::Value to_document(const TraceRow& r);

}  // namespace tilescope::experiments
