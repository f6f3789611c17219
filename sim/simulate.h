// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a module's kernels take on a chip of the GPU class, simulated: cycle-approximate, event-driven, from the
// kernels' address streams alone. Deterministic. A process runs one simulation at a time (SystemC's kernel); callers
// run several in several processes.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "lower/counters.h"
#include "lower/kernel.h"
#include "sim/common/report.h"

namespace tilescope::sim {

// Throws SimError where the chip cannot run the module: which limit, by how much.
SimReport simulate(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options);

// Why no part of the chip stands for one of `scale` of it, in a sentence; empty where one does.
std::string scale_refusal(const arch::ArchSpec& chip, std::int64_t scale);

// The accesses of every kernel, exactly and without time: what `full` would count.
std::vector<lower::KernelCounters> count(const lower::Module& module, const arch::ArchSpec& chip);

}  // namespace tilescope::sim
