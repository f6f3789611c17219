// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/parameters.h"

#include <vector>

namespace tilescope::cuda::device {
namespace {

// Numbers of the driver's interface, which never change.
enum Element : int { kUint8 = 0, kInt32 = 3, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9 };
enum Swizzle : int { kNone = 0, kOf32, kOf64, kOf128 };
constexpr int kNoInterleave = 0, kZeros = 0;
// A request for a part of 128 bytes loads all of them into the device's cache: that is its line, and as long as a box's
// row may be. 256 would load another row with every row, which the box does not have.
constexpr int kPromotion128 = 2;

// Elements arrive as they are: the driver's own type of tf32 may shorten them on the way.
Element element_of(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return kFloat32;
    case base::Dtype::kF16:
      return kFloat16;
    case base::Dtype::kBf16:
      return kBfloat16;
    case base::Dtype::kI8:
    case base::Dtype::kU8:
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return kUint8;
    case base::Dtype::kI32:
      return kInt32;
    case base::Dtype::kF64:
      return kFloat64;
  }
  return kUint8;
}

Swizzle swizzle_of(std::int64_t row) { return row == 32 ? kOf32 : row == 64 ? kOf64 : row == 128 ? kOf128 : kNone; }

}  // namespace

void encode(const Driver& driver, const TensorMap& map, Address address, Parameter& to) {
  const auto encode_tiled = driver.functions().encode_tiled;
  if (encode_tiled == nullptr)
    throw DeviceError(
        "the driver has no cuTensorMapEncodeTiled, which kernels that bring boxes need: CUDA 12.0 has it");
  const auto rank = static_cast<unsigned>(map.dims.size());
  const auto size = static_cast<std::uint64_t>(base::size_of(map.dtype).n);
  std::vector<std::uint64_t> extents, strides;  // bytes; of all dimensions but the innermost, and one more
  std::vector<std::uint32_t> box;
  const std::vector<std::uint32_t> every(rank, 1);
  for (auto d = map.dims.rbegin(); d != map.dims.rend(); ++d) {
    extents.push_back(static_cast<std::uint64_t>(d->extent));
    strides.push_back(static_cast<std::uint64_t>(d->stride) * size);
    box.push_back(static_cast<std::uint32_t>(d->box));
  }
  driver.check(encode_tiled(to.words.data(), element_of(map.dtype), rank, reinterpret_cast<void*>(address),
                            extents.data(), strides.data() + 1, box.data(), every.data(), kNoInterleave,
                            swizzle_of(map.swizzled_row), kPromotion128, kZeros),
               "cuTensorMapEncodeTiled");
}

}  // namespace tilescope::cuda::device
