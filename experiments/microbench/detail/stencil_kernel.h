// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stencil of 15 x 15 taps on a square image, cached row by row: the kernel whose padding is measured in
// AutoTuningAssociation's benchmark hub (convolution, Kernel Tuner). For the .cc files of experiments/.

#include <cstdint>

#include "arch/spec.h"
#include "lower/kernel.h"

namespace tilescope::experiments {

struct StencilTile {
  std::int64_t block_x = 0, block_y = 0, tile_x = 0, tile_y = 0;  // threads of a block, outputs of a thread
};

// The elements by which padded rows are longer: then the rows of threads of a warp begin where those before them end.
std::int64_t stencil_padding(const StencilTile& t);

// Bytes that a block stages with so much padding.
std::int64_t staged_bytes(const StencilTile& t, std::int64_t padding);

// Some blocks of the image, enough of them to be steady on the chip.
lower::Module stencil(const StencilTile& t, std::int64_t padding, const arch::ArchSpec& chip);

}  // namespace tilescope::experiments
