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

constexpr bool is_unsigned(Dtype d) { return d == Dtype::kU8; }

// Floats of 8 bits.
constexpr bool is_float8(Dtype d) { return d >= Dtype::kF8E4M3 && d <= Dtype::kF8E5M2Fnuz; }

// The dtype of accumulators for products of `d` unless the user says otherwise: i32 for integers, f64 for f64, f32 for
// the other floats.
constexpr Dtype default_accumulator(Dtype d) {
  if (is_integer(d)) return Dtype::kI32;
  return d == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
}

// The dtype of that name, or nullopt.
constexpr std::optional<Dtype> dtype_of(std::string_view name) {
  for (const DtypeName& d : kDtypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

}  // namespace tilescope::base
