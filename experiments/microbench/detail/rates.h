// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rates that no memory limits: how fast blocks start, and how fast matrix instructions run. For the .cc files of
// experiments/.

#include <optional>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "experiments/microbench/detail/kernels.h"

namespace tilescope::experiments {

// Empty blocks of `threads` threads.
std::optional<Microbenchmark> dispatch(double threads, const arch::ArchSpec& chip, base::Diagnostics& diags);
std::vector<double> dispatch_points(const arch::ArchSpec& chip);

// `warps` warps on every core that run the chip's f16 instruction on registers, four independent accumulators each.
std::optional<Microbenchmark> mma_rate(double warps, const arch::ArchSpec& chip, base::Diagnostics& diags);
std::vector<double> mma_points(const arch::ArchSpec& chip);

// Two groups of warps on every core that run the chip's f16 instruction on the scratchpad, `columns` wide.
std::optional<Microbenchmark> wgmma_rate(double columns, const arch::ArchSpec& chip, base::Diagnostics& diags);
std::optional<Microbenchmark> wgmma_wait(double columns, const arch::ArchSpec& chip, base::Diagnostics& diags);
std::vector<double> wgmma_points(const arch::ArchSpec& chip);

}  // namespace tilescope::experiments
