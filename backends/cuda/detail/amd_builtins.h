// SPDX-License-Identifier: Apache-2.0
#pragma once
// The builtins of AMD's compiler for matrix instructions.

#include <string>

#include "lower/kernel.h"

namespace tilescope::cuda {

// d += a * b of registers, as the statements of a function of the text; empty where the instruction has no builtin or
// reads its factors from the scratchpad.
std::string mfma_of(const lower::MatrixInstruction& i);

}  // namespace tilescope::cuda
