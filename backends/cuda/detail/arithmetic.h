// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of a Compute as one C++ statement.

#include <string>

#include "backends/cuda/detail/formula.h"

namespace tilescope::cuda {

// "C_sum[i] = fmaf(A_part[i], B_part[0], C_sum[i]);". In int where the numbers are those of Numbers::kInt32
// (expr/reference.h), else in float; in double where there is an f64, or where 32-bit integers meet what int cannot do,
// as a float does not hold them all.
std::string statement(const lower::Kernel& kernel, const lower::Compute& compute, const Formulas& formulas,
                      const KernelNames& names);

// Whether a kernel's scalars are doubles: it has buffers of f64.
bool has_wide_scalars(const lower::Kernel& kernel);

}  // namespace tilescope::cuda
