// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/boxes.h"

#include <algorithm>

#include "base/check.h"
#include "lower/counters.h"

namespace tilescope::cuda {
namespace {

constexpr std::size_t kMaxDims = 5;  // PTX ISA, "Tensor Dimension, size and format"

}  // namespace

TensorMap map_of(const lower::Kernel& k, const lower::TmaBox& copy) {
  base::check(!copy.dims.empty() && copy.dims.size() <= kMaxDims, "a tensor of boxes has up to five dimensions");
  const lower::Buffer& from = k.buffers[static_cast<std::size_t>(copy.memory)];
  TensorMap out{from.global, from.dtype, {}, k.buffers[static_cast<std::size_t>(copy.shared.buffer)].swizzled_row};
  for (const lower::BoxDim& d : copy.dims) out.dims.push_back({d.extent, d.stride, d.box});
  return out;
}

std::vector<TensorMap> maps_of(const lower::Kernel& k) {
  std::vector<TensorMap> out;
  for (const lower::TmaBox* copy : lower::tma_boxes_of(k))
    if (TensorMap map = map_of(k, *copy); std::find(out.begin(), out.end(), map) == out.end())
      out.push_back(std::move(map));
  return out;
}

}  // namespace tilescope::cuda
