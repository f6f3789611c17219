// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates how long a program takes on cores that exchange data: cycle-approximate, event-driven, from its supersteps
// alone. Deterministic. A process runs one simulation at a time (SystemC's kernel).
//
// Ignores: copies within one core, bank conflicts of operands in a core's memory.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "lower/bsp/supersteps.h"
#include "sim/common/report.h"

namespace tilescope::sim::bsp {

// Bytes that the whole program moves and iterations that it computes.
struct Counts {
  std::vector<std::int64_t> sent, received;  // bytes over the link, by core
  std::int64_t delivered = 0;                // bytes that exchanges write to buffers, copies within a core included
  std::int64_t from_dram = 0, to_dram = 0;   // bytes, counted once per receiver
  std::int64_t points = 0;                   // iterations computed
};

// Bound on the links that the heads of all transfers of one mesh exchange take. Above it, sampled mode does not
// schedule the exchange, which would take seconds, but counts the load of its busiest link.
inline constexpr std::int64_t kCountedBeyond = 1 << 22;

// If `counts` is not null, it receives the counts of the simulated supersteps; in full mode these are all supersteps.
SimReport simulate(const lower::bsp::Program& p, const arch::ArchSpec& chip, const SimOptions& options,
                   Counts* counts = nullptr, std::int64_t counted_beyond = kCountedBeyond);

}  // namespace tilescope::sim::bsp
