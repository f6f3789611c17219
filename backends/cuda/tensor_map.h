// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor map that a launch passes to a kernel for its TMA copies: the array, its extents and strides, and the size
// of a box (CUDA driver API, cuTensorMapEncodeTiled).

#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tilescope::cuda {

struct TensorMap {
  struct Dim {
    std::int64_t extent = 1, stride = 1, box = 1;  // elements

    bool operator==(const Dim&) const = default;
  };
  int global = 0;  // position in Module::globals
  base::Dtype dtype{};
  std::vector<Dim> dims;          // outermost first; the last one's stride is 1
  std::int64_t swizzled_row = 0;  // bytes: 32, 64 or 128, as long as a box's row; 0: no swizzling

  bool operator==(const TensorMap&) const = default;
};

}  // namespace tilescope::cuda
