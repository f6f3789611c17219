// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel does, for its energy: instructions, operations and bytes, from what its stages cost.

#include "energy/counts.h"
#include "model/simt/detail/kernel_time.h"

namespace tilescope::model {

// Of the kernel that elapses so long. The kernel that combines the parts of a split reduction adds its bytes alone.
energy::Counts work_counts(const KernelTime& kernel, double elapsed_us, const Machine& m);

}  // namespace tilescope::model
