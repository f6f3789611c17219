#pragma once
// Element types of tensors and their sizes.
//
// tf32 is what matrix instructions multiply of an f32 (PTX ISA, "Alternate floating point data formats"): its exponent,
// and 10 bits of its fraction. It is stored as that f32 and summed up in f32.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tilescope::base {

enum class Dtype : std::uint8_t { kF32, kTf32, kF16, kBf16, kI8, kI32 };

struct DtypeName {
  Dtype dtype;
  std::string_view name;
  std::int64_t bytes;
};

inline constexpr std::array<DtypeName, 6> kDtypes = {{
    {Dtype::kF32, "f32", 4},
    {Dtype::kTf32, "tf32", 4},
    {Dtype::kF16, "f16", 2},
    {Dtype::kBf16, "bf16", 2},
    {Dtype::kI8, "i8", 1},
    {Dtype::kI32, "i32", 4},
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

constexpr bool is_integer(Dtype d) { return d == Dtype::kI8 || d == Dtype::kI32; }

// What sums of products of `d` are kept in unless the user says otherwise: f32 for floats, i32 for integers.
constexpr Dtype default_accumulator(Dtype d) { return is_integer(d) ? Dtype::kI32 : Dtype::kF32; }

// The dtype of that name, or nothing.
constexpr std::optional<Dtype> dtype_of(std::string_view name) {
  for (const DtypeName& d : kDtypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

}  // namespace tilescope::base
