// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements as the numbers that matrices are multiplied in.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tilescope::ipu_sim {

using Offsets = std::vector<std::int64_t>;  // bytes

// T is float, double, or std::uint32_t, which has int32 modulo 2^32.
template <class T>
class Loader {
 public:
  explicit Loader(base::Dtype dtype);

  // Writes the numbers of the elements at `first` + each offset to `to`.
  void load(const std::byte* first, const Offsets& offsets, T* to) const;
  T load(const std::byte* element) const;

 private:
  base::Dtype dtype_;
  const T* by_code_ = nullptr;  // of elements of 8 or 16 bits
};

}  // namespace tilescope::ipu_sim
