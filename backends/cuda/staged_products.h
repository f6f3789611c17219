#pragma once
// The instructions behind multiply_staged of backends/cuda/staged.cuh: PTX's wgmma, of which a text has those that its
// kernels use.

#include <string>

#include "lower/kernel.h"

namespace tilescope::cuda {

// The text that defines them, for NVIDIA's compilers alone; empty where no kernel multiplies factors in the scratchpad.
std::string staged_products(const lower::Module& module);

}  // namespace tilescope::cuda
