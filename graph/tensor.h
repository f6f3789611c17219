// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a network: their element types, which are more than chips compute in, and their values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::graph {

// Element types of ONNX (its TensorProto.DataType). Strings and complex numbers are known by name alone.
enum class Element : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBf16,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kOther,
};

// `float`, `int64`, as ONNX's documents write them.
std::string_view name_of(Element e);

bool is_float(Element e);

// Bytes of an element; 1 of another type than numbers.
std::int64_t size_of(Element e);

// The nearest value that an element holds. Integers wrap as conversions in C do; a truth value is 0 or 1.
double rounded(Element e, double value);

using Shape = std::vector<std::int64_t>;

// The greatest number of 64 bits where there are more.
std::int64_t elements_of(const Shape& shape);

// Beyond these a tensor is none of a network that anybody runs.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
inline constexpr std::size_t kMaxDimensions = 64;

// Why no tensor has the shape; nothing where one has.
std::optional<std::string> mistake_in(const Shape& shape);

// A tensor with all of its values, row-major. A double holds every value of every type but integers beyond 2^53.
struct Tensor {
  std::string name;
  Element element{};
  Shape shape;
  std::vector<double> values;
};

}  // namespace tilescope::graph
