// SPDX-License-Identifier: Apache-2.0
#pragma once
// PTX's words for what lanes do together with matrices, each as the statement of a function of the text.

#include <cstdint>
#include <string>

#include "lower/kernel.h"

namespace tilescope::cuda {

// Rows that lanes load together: lower::LoadMatrix.
struct RowLoad {
  std::int64_t rows = 0, columns = 0;  // columns: elements of a row
  base::Dtype dtype{};
  arch::FragmentMap map;
  bool transposed = false;

  bool operator==(const RowLoad&) const = default;
};

// From `from`, where a lane's row begins, into the words `to`; empty where ldmatrix does not load such rows so.
std::string ldmatrix_of(const RowLoad& load);

// d += a * b of registers, by the instruction's own name; empty where it has none or its sums have no registers.
std::string mma_of(const lower::MatrixInstruction& i);

// d += a * b of the descriptors a and b, so many columns of it; likewise. The rows of a factor run along k or m, n.
// `held`: a is what a lane holds of the first factor; empty where that fills no words.
std::string wgmma_of(const lower::MatrixInstruction& i, std::int64_t columns, bool along_m, bool along_n,
                     bool held = false);

// d += a * b of the descriptors a and b into `columns` columns of the tensor memory at d, as one thread issues it;
// empty where the instruction has no name, or PTX no word for its elements or sums.
std::string tcgen05_of(const lower::MatrixInstruction& i, std::int64_t columns, bool along_m, bool along_n);

// Loads of `columns` neighbouring columns of each lane's own from the tensor memory at `at` into d.
std::string tcgen05_load_of(std::int64_t columns, base::Dtype sums);

}  // namespace tilescope::cuda
