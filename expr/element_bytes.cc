// SPDX-License-Identifier: Apache-2.0
#include "expr/element_bytes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/float8.h"
#include "base/half.h"

namespace tilescope::expr {
namespace {

static_assert(std::endian::native == std::endian::little, "memory of the chips and of this machine looks alike");

template <class Element>
void put(Element e, void* to) {
  std::memcpy(to, &e, sizeof(Element));
}

template <class Element>
Element got(const void* from) {
  Element e{};
  std::memcpy(&e, from, sizeof(Element));
  return e;
}

}  // namespace

void put_element(base::Dtype dtype, double value, void* to) {
  switch (dtype) {
    case base::Dtype::kF32:
      return put(static_cast<float>(value), to);
    case base::Dtype::kTf32:
      return put(static_cast<float>(round_to(dtype, value)), to);
    case base::Dtype::kF16:
      return put(base::f16_bits(round_to(dtype, value)), to);
    case base::Dtype::kBf16: {
      const auto rounded = static_cast<float>(round_to(dtype, value));
      return put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16), to);
    }
    case base::Dtype::kI8:
      return put(static_cast<std::int8_t>(round_to(dtype, value)), to);
    case base::Dtype::kU8:
      return put(static_cast<std::uint8_t>(round_to(dtype, value)), to);
    case base::Dtype::kI32:
      return put(static_cast<std::int32_t>(round_to(dtype, value)), to);
    case base::Dtype::kF64:
      return put(value, to);
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz: {
      const base::Float8 f = base::float8_of(dtype);
      return put(base::float8_bits(f, f.has_infinity() && std::isinf(value) ? value : round_to(dtype, value)), to);
    }
  }
  base::check(false, "every dtype has bytes");
}

double element_at(base::Dtype dtype, const void* from) {
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return double{got<float>(from)};
    case base::Dtype::kF16:
      return base::f16_value(got<std::uint16_t>(from));
    case base::Dtype::kBf16:
      return double{std::bit_cast<float>(static_cast<std::uint32_t>(got<std::uint16_t>(from)) << 16)};
    case base::Dtype::kI8:
      return got<std::int8_t>(from);
    case base::Dtype::kU8:
      return got<std::uint8_t>(from);
    case base::Dtype::kI32:
      return got<std::int32_t>(from);
    case base::Dtype::kF64:
      return got<double>(from);
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return base::float8_value(base::float8_of(dtype), got<std::uint8_t>(from));
  }
  base::check(false, "every dtype has bytes");
  return 0;
}

std::string to_bytes(base::Dtype dtype, const Values& values) {
  const auto size = static_cast<std::size_t>(base::size_of(dtype).n);
  std::string out(values.size() * size, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) put_element(dtype, values[i], out.data() + i * size);
  return out;
}

Values from_bytes(base::Dtype dtype, std::string_view bytes) {
  const auto size = static_cast<std::size_t>(base::size_of(dtype).n);
  Values out(bytes.size() / size);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = element_at(dtype, bytes.data() + i * size);
  return out;
}

}  // namespace tilescope::expr
