// SPDX-License-Identifier: Apache-2.0
#include "graph/tensor.h"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/integer.h"
#include "expr/reference.h"

namespace tilescope::graph {
namespace {

// By Element.
struct Facts {
  std::string_view name;
  std::int64_t bytes = 1;
};
constexpr std::array<Facts, 14> kFacts = {{{"float", 4},
                                           {"double", 8},
                                           {"float16", 2},
                                           {"bfloat16", 2},
                                           {"int8", 1},
                                           {"uint8", 1},
                                           {"int16", 2},
                                           {"uint16", 2},
                                           {"int32", 4},
                                           {"uint32", 4},
                                           {"int64", 8},
                                           {"uint64", 8},
                                           {"bool", 1},
                                           {"another type", 1}}};

template <class Integer>
double wrapped(double value) {
  if (!std::isfinite(value)) return 0;
  return static_cast<double>(static_cast<Integer>(static_cast<std::int64_t>(std::fmod(value, 0x1p32))));
}

}  // namespace

std::string_view name_of(Element e) { return kFacts.at(static_cast<std::size_t>(e)).name; }

std::int64_t size_of(Element e) { return kFacts.at(static_cast<std::size_t>(e)).bytes; }

bool is_float(Element e) { return e <= Element::kBf16; }

double rounded(Element e, double value) {
  switch (e) {
    case Element::kF32:
      return expr::round_to(base::Dtype::kF32, value);
    case Element::kF16:
      return expr::round_to(base::Dtype::kF16, value);
    case Element::kBf16:
      return expr::round_to(base::Dtype::kBf16, value);
    case Element::kI8:
      return wrapped<std::int8_t>(value);
    case Element::kU8:
      return wrapped<std::uint8_t>(value);
    case Element::kI16:
      return wrapped<std::int16_t>(value);
    case Element::kU16:
      return wrapped<std::uint16_t>(value);
    case Element::kI32:
      return wrapped<std::int32_t>(value);
    case Element::kU32:
      return wrapped<std::uint32_t>(value);
    case Element::kI64:
    case Element::kU64:
      return std::trunc(value);
    case Element::kBool:
      return value != 0 ? 1 : 0;
    case Element::kF64:
    case Element::kOther:
      break;
  }
  return value;
}

std::int64_t elements_of(const Shape& shape) {
  std::optional<std::int64_t> n = 1;
  for (const std::int64_t d : shape) {
    if (d == 0) return 0;
    if (n) n = base::checked_mul(*n, d);
  }
  return n.value_or(std::numeric_limits<std::int64_t>::max());
}

std::optional<std::string> mistake_in(const Shape& shape) {
  if (shape.size() > kMaxDimensions) return fmt::format("{} dimensions", shape.size());
  for (const std::int64_t d : shape)
    if (d < 0) return fmt::format("a dimension of {}", d);
  if (elements_of(shape) > kMaxElements) return fmt::format("a shape of {}, too many elements", fmt::join(shape, "x"));
  return std::nullopt;
}

}  // namespace tilescope::graph
