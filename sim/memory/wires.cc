// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/memory/detail/memory_spec.h"

namespace tilescope::sim {

FixedLatency fixed_latency_of(const MemorySpec& spec) {
  FixedLatency w;
  const std::int64_t sector = spec.shape.sector;
  const Cycle port = cycles_of(spec.slice_rate, sector + spec.request_bytes);
  const Cycle parts = port + Crossbar(spec.cores, spec.link_rate, spec.cluster).idle_cycles(sector);
  const Cycle wire = std::max(0_cycles, spec.cache_latency - parts);
  w.forward = wire / 2;
  w.back = wire - w.forward;
  const Cycle crossing = spec.remote_rate ? cycles_of(*spec.remote_rate, sector) : 0_cycles;
  w.across = std::max(0_cycles, spec.remote_latency - spec.cache_latency - port - crossing);
  const std::int64_t last_sector = spec.outer.empty() ? sector : spec.outer.back().shape.sector;
  const Clock conflict = conflict_clocks(spec.dram, base::ceil_div(last_sector, spec.burst_bytes));
  Cycle before = spec.cache_latency;
  for (const OuterCacheSpec& o : spec.outer) before = std::max(before, o.latency);
  const Cycle rest = std::max(0_cycles, spec.dram_latency - before - spec.clocks.cycle_at(conflict));
  w.to_channel = rest / 2;
  w.from_channel = rest - w.to_channel;
  return w;
}

}  // namespace tilescope::sim
