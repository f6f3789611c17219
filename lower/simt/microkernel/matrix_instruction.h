// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip's matrix instruction as kernels name it.

#include <cstdint>

#include "arch/spec.h"
#include "lower/simt/microkernel/statements.h"

namespace tilescope::lower {

// The instruction as `lanes` lanes execute it together. `c` must have fragments; operands that are read from the
// scratchpad get no maps.
MatrixInstruction matrix_instruction(const arch::ComputeSpec& c, std::int64_t lanes);

}  // namespace tilescope::lower
