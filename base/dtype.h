// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of tensors and their sizes.
//
// tf32 is the part of an f32 that matrix instructions multiply (PTX ISA, "Alternate floating point data formats"): its
// exponent, and 10 bits of its fraction. It is stored as an f32 and accumulated in f32.
//
// f8e4m3 and f8e5m2 are the 8-bit floats of the Open Compute Project; f8e4m3fnuz and f8e5m2fnuz are those of AMD's
// CDNA3, which have another bias and neither infinities nor negative zero.
//
// Integers saturate where a value is rounded to them.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tilescope::base {

enum class Dtype : std::uint8_t {
  kF32,
  kTf32,
  kF16,
  kBf16,
  kI8,
  kI32,
  kF64,
  kF8E4M3,
  kF8E5M2,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kU8,
};

struct DtypeName {
  Dtype dtype;
  std::string_view name;
  std::int64_t bytes;
};

inline constexpr std::array<DtypeName, 12> kDtypes = {{
    {Dtype::kF32, "f32", 4},
    {Dtype::kTf32, "tf32", 4},
    {Dtype::kF16, "f16", 2},
    {Dtype::kBf16, "bf16", 2},
    {Dtype::kI8, "i8", 1},
    {Dtype::kI32, "i32", 4},
    {Dtype::kF64, "f64", 8},
    {Dtype::kF8E4M3, "f8e4m3", 1},
    {Dtype::kF8E5M2, "f8e5m2", 1},
    {Dtype::kF8E4M3Fnuz, "f8e4m3fnuz", 1},
    {Dtype::kF8E5M2Fnuz, "f8e5m2fnuz", 1},
    {Dtype::kU8, "u8", 1},
}};

// Names of all dtypes, in the order of Dtype.
inline std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (const DtypeName& d : kDtypes) names.push_back(d.name);
  return names;
}

constexpr std::string_view name_of(Dtype d) { return kDtypes[static_cast<std::size_t>(d)].name; }

// Size of one element.
constexpr Bytes size_of(Dtype d) { return {kDtypes[static_cast<std::size_t>(d)].bytes}; }

constexpr bool is_integer(Dtype d) { return d == Dtype::kI8 || d == Dtype::kU8 || d == Dtype::kI32; }

// Floats of 8 bits.
constexpr bool is_float8(Dtype d) { return d >= Dtype::kF8E4M3 && d <= Dtype::kF8E5M2Fnuz; }

// The dtype of accumulators for products of `d` unless the user says otherwise: i32 for integers, f64 for f64, f32 for
// the other floats.
constexpr Dtype default_accumulator(Dtype d) {
  if (is_integer(d)) return Dtype::kI32;
  return d == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
}

// The finite values of a dtype: signed where `negative`, of so many significant bits, multiples of two to the power
// `least`, below two to the power `most`.
struct DtypeRange {
  bool negative = true;
  int bits = 0, least = 0, most = 0;
};
constexpr DtypeRange range_of(Dtype d) {
  switch (d) {
    case Dtype::kF32:
      return {true, 24, -149, 128};
    case Dtype::kTf32:
      return {true, 11, -136, 128};
    case Dtype::kF16:
      return {true, 11, -24, 16};
    case Dtype::kBf16:
      return {true, 8, -133, 128};
    case Dtype::kI8:
      return {true, 7, 0, 8};
    case Dtype::kI32:
      return {true, 31, 0, 32};
    case Dtype::kF64:
      return {true, 53, -1074, 1024};
    case Dtype::kF8E4M3:
      return {true, 4, -9, 9};
    case Dtype::kF8E5M2:
      return {true, 3, -16, 16};
    case Dtype::kF8E4M3Fnuz:
      return {true, 4, -10, 8};
    case Dtype::kF8E5M2Fnuz:
      return {true, 3, -17, 16};
    case Dtype::kU8:
      return {false, 8, 0, 8};
  }
  return {};
}

// Whether every finite value of the other dtype is one of this one, so that a conversion changes nothing.
constexpr bool holds(Dtype d, Dtype other) {
  if (d == other) return true;
  if (d == Dtype::kI8 || d == Dtype::kU8) return false;
  const DtypeRange own = range_of(d), of_other = range_of(other);
  return (!is_integer(d) || is_integer(other)) && own.bits >= of_other.bits && own.least <= of_other.least &&
         own.most >= of_other.most;
}

// The dtype of that name, or nullopt.
constexpr std::optional<Dtype> dtype_of(std::string_view name) {
  for (const DtypeName& d : kDtypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

}  // namespace tilescope::base
