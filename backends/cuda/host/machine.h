// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels block by block with one fiber for each thread: blocks in random order, the threads of a block in a new
// random order after every barrier. Asynchronous copies land at random times before their wait ends, bulk copies before
// the mbarrier phase ends that they are for.

#include <random>
#include <vector>

#include "backends/cuda/host/entry.h"
#include "backends/cuda/host/fibers.h"
#include "backends/cuda/host/mbarriers.h"

namespace tilescope::cuda::host {

// Runs a kernel. `globals` and `scalars` are those of the module; `warp` is the number of threads of a warp. Fails
// (host/place.h) where threads disagree about a barrier, or deadlock on mbarriers.
void run_kernel(const KernelEntry& kernel, int warp, const std::vector<void*>& globals,
                const std::vector<double>& scalars, Random& random);

}  // namespace tilescope::cuda::host
