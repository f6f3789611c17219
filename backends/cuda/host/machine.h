// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels block by block on one fiber a thread: blocks in random order, the threads of a block in an order that is
// random again after every barrier, asynchronous copies at random times before their wait, bulk copies before the phase
// ends that they are for.

#include <random>
#include <vector>

#include "backends/cuda/host/entry.h"
#include "backends/cuda/host/fibers.h"
#include "backends/cuda/host/mbarriers.h"

namespace tilescope::cuda::host {

// `globals` and `scalars` are those of the module; so many threads are a warp. Fails (host/place.h) where threads do
// not agree about a barrier, or wait for each other's mbarriers.
void run_kernel(const KernelEntry& kernel, int warp, const std::vector<void*>& globals,
                const std::vector<double>& scalars, Random& random);

}  // namespace tilescope::cuda::host
