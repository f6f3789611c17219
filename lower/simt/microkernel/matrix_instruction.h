// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip's matrix instruction as kernels name it.

#include <cstdint>

#include "arch/spec.h"
#include "lower/simt/microkernel/statements.h"

namespace tilescope::lower {

// The instruction, executed by so many lanes together; operands that stay in the scratchpad have no maps. The fragments
// of `c` are known.
MatrixInstruction matrix_instruction(const arch::ComputeSpec& c, std::int64_t lanes);

}  // namespace tilescope::lower
