#include "backends/cuda/boxes.h"

#include <algorithm>
#include <variant>

#include "base/check.h"

namespace tilescope::cuda {
namespace {

constexpr std::size_t kMostDims = 5;  // PTX ISA, "Tensor Dimension, size and format"

void collect(const lower::Kernel& k, const std::vector<lower::Statement>& body, std::vector<TensorMap>& out) {
  for (const lower::Statement& s : body) {
    lower::for_inner_bodies(s, [&](const std::vector<lower::Statement>& inner) { collect(k, inner, out); });
    const auto* copy = std::get_if<lower::BulkCopy>(&s.what);
    if (copy == nullptr) continue;
    if (TensorMap map = map_of(k, *copy); std::find(out.begin(), out.end(), map) == out.end())
      out.push_back(std::move(map));
  }
}

}  // namespace

TensorMap map_of(const lower::Kernel& k, const lower::BulkCopy& copy) {
  base::check(!copy.dims.empty() && copy.dims.size() <= kMostDims, "a tensor of boxes has up to five dimensions");
  const lower::Buffer& from = k.buffers[static_cast<std::size_t>(copy.from)];
  TensorMap out{from.global, from.dtype, {}, k.buffers[static_cast<std::size_t>(copy.to.buffer)].swizzled_row};
  for (const lower::BoxDim& d : copy.dims) out.dims.push_back({d.extent, d.stride, d.box});
  return out;
}

std::vector<TensorMap> maps_of(const lower::Kernel& k) {
  std::vector<TensorMap> out;
  collect(k, k.body, out);
  return out;
}

}  // namespace tilescope::cuda
