// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements of arrays as they lie in the chip's memory, and the values of inputs: a hash of seed and index, so that the
// planner of a measurement and the worker that runs it make the same values without a file.

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/dtype.h"
#include "base/float8.h"
#include "base/half.h"

namespace tilescope::cuda::device {

inline constexpr int kInputKinds = 9;  // whole numbers from -4 to 4

// A whole number from -4 to 4 for element `index` of an array with that seed.
inline int whole_input(std::uint64_t seed, std::int64_t index) {
  std::uint64_t x = seed * 0xd1342543de82ef95U + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return static_cast<int>((x >> 32) * kInputKinds >> 32) - kInputKinds / 2;
}

// The input value of a whole number: itself for integers, a quarter of it for floats, so that sums and products of many
// inputs are exact.
inline double input_of(base::Dtype dtype, int whole) {
  if (base::is_unsigned(dtype)) return std::abs(whole);
  return base::is_integer(dtype) ? whole : 0.25 * whole;
}

// Writes one element, whose dtype must represent `value` exactly, to the bytes from `to` on.
inline void write_element(base::Dtype dtype, double value, unsigned char* to) {
  const auto put = [to](auto element) { std::memcpy(to, &element, sizeof(element)); };
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return put(static_cast<float>(value));
    case base::Dtype::kF16:
      return put(base::f16_bits(value));
    case base::Dtype::kBf16:
      return put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
    case base::Dtype::kI8:
      return put(static_cast<std::int8_t>(value));
    case base::Dtype::kU8:
      return put(static_cast<std::uint8_t>(value));
    case base::Dtype::kI32:
      return put(static_cast<std::int32_t>(value));
    case base::Dtype::kF64:
      return put(value);
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return put(base::float8_bits(base::float8_of(dtype), value));
  }
}

inline double read_element(base::Dtype dtype, const unsigned char* from) {
  const auto get = [from]<class Element>(Element element) {
    std::memcpy(&element, from, sizeof(element));
    return element;
  };
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return static_cast<double>(get(float{}));
    case base::Dtype::kF16:
      return base::f16_value(get(std::uint16_t{}));
    case base::Dtype::kBf16:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(get(std::uint16_t{})) << 16));
    case base::Dtype::kI8:
      return get(std::int8_t{});
    case base::Dtype::kU8:
      return get(std::uint8_t{});
    case base::Dtype::kI32:
      return get(std::int32_t{});
    case base::Dtype::kF64:
      return get(double{});
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return base::float8_value(base::float8_of(dtype), get(std::uint8_t{}));
  }
  return 0;
}

}  // namespace tilescope::cuda::device
