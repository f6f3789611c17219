// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a program takes on cores that exchange, simulated: cycle-approximate, event-driven, from its supersteps
// alone. Deterministic. A process runs one simulation at a time (SystemC's kernel).
//
// Ignores: copies of what a core has itself, conflicts of operands in one bank of a core's memory.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "lower/bsp/supersteps.h"
#include "sim/common/report.h"

namespace tilescope::sim::bsp {

// What a program moves and computes, over all of it.
struct Counts {
  std::vector<std::int64_t> sent, received;  // bytes over the link, by core
  std::int64_t delivered = 0;               // bytes that exchanges fill buffers with, also those that a core has itself
  std::int64_t from_dram = 0, to_dram = 0;  // bytes, those of every receiver
  std::int64_t points = 0;                  // iterations computed
};

// Links that the heads of an exchange over a mesh take, of all its transfers, beyond which sampled mode counts what the
// busiest of them carries in place of scheduling it: seconds of scheduling.
inline constexpr std::int64_t kCountedBeyond = 1 << 22;

// `counts`, where it is not null, gets what the simulated supersteps do; all of them in full mode.
SimReport simulate(const lower::bsp::Program& p, const arch::ArchSpec& chip, const SimOptions& options,
                   Counts* counts = nullptr, std::int64_t counted_beyond = kCountedBeyond);

}  // namespace tilescope::sim::bsp
