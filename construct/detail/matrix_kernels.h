// SPDX-License-Identifier: Apache-2.0
#pragma once
// By which matrix instructions of a chip a stage may be multiplied.

#include <vector>

#include "arch/spec.h"
#include "construct/restrictions.h"
#include "tile/program.h"

namespace tilescope::construct {

// Those that multiply the stage's dtypes and are allowed, along the axes of most iterations, with fragments no longer
// along k than the axis. Empty where the stage is no product of two matrices.
std::vector<tile::MicroKernel> matrix_kernels(const tile::TileSpace& space, const arch::ArchSpec& a,
                                              const Restrictions& given);

using MatrixKernels = std::vector<std::vector<tile::MicroKernel>>;  // by stage

// Of these, those whose lanes hold fragments, or else those that read core matrices.
MatrixKernels kernels_of(const MatrixKernels& all, bool of_fragments);

}  // namespace tilescope::construct
