// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates how long a module's kernels take on a chip of the GPU class: cycle-approximate, event-driven, from the
// kernels' address streams alone. Deterministic. A process runs one simulation at a time (SystemC's kernel); callers
// run several in several processes.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "lower/counters.h"
#include "lower/kernel.h"
#include "sim/common/report.h"

namespace tilescope::sim {

// Simulates all kernels. Throws SimError where the chip cannot run the module; its message names the limit and the
// excess.
SimReport simulate(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options);

// The reason why no part of the chip can represent 1/`scale` of it, as a sentence; empty where a part can.
std::string scale_refusal(const arch::ArchSpec& chip, std::int64_t scale);

// The exact access counts of every kernel, without timing; equal to those of mode `full`.
std::vector<lower::KernelCounters> count(const lower::Module& module, const arch::ArchSpec& chip);

}  // namespace tilescope::sim
