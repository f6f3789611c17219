// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/element_bytes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "backends/cuda/float8.h"
#include "backends/cuda/half.h"
#include "base/check.h"

namespace tilescope::cuda {
namespace {

static_assert(std::endian::native == std::endian::little, "memory of the chips and of this machine looks alike");

template <class Element, class Encode>
std::string encoded(const expr::Values& values, Encode encode) {
  std::string out(values.size() * sizeof(Element), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Element e = encode(values[i]);
    std::memcpy(out.data() + i * sizeof(Element), &e, sizeof(Element));
  }
  return out;
}

template <class Element, class Decode>
expr::Values decoded(std::string_view bytes, Decode decode) {
  expr::Values out(bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Element e{};
    std::memcpy(&e, bytes.data() + i * sizeof(Element), sizeof(Element));
    out[i] = decode(e);
  }
  return out;
}

}  // namespace

std::string to_bytes(base::Dtype dtype, const expr::Values& values) {
  const auto rounded = [dtype](double v) { return expr::round_to(dtype, v); };
  switch (dtype) {
    case base::Dtype::kF32:
      return encoded<float>(values, [](double v) { return static_cast<float>(v); });
    case base::Dtype::kTf32:
      return encoded<float>(values, [&](double v) { return static_cast<float>(rounded(v)); });
    case base::Dtype::kF16:
      return encoded<std::uint16_t>(values, [&](double v) { return f16_bits(rounded(v)); });
    case base::Dtype::kBf16:
      return encoded<std::uint16_t>(values, [&](double v) {
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(rounded(v))) >> 16);
      });
    case base::Dtype::kI8:
      return encoded<std::int8_t>(values, [&](double v) { return static_cast<std::int8_t>(rounded(v)); });
    case base::Dtype::kI32:
      return encoded<std::int32_t>(values, [&](double v) { return static_cast<std::int32_t>(rounded(v)); });
    case base::Dtype::kF64:
      return encoded<double>(values, [](double v) { return v; });
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      // An infinity stays one where the format has it: it is stored, not converted.
      return encoded<std::uint8_t>(values, [&, f = float8_of(dtype)](double v) {
        return float8_bits(f, f.has_infinity() && std::isinf(v) ? v : rounded(v));
      });
  }
  base::check(false, "every dtype has bytes");
  return {};
}

expr::Values from_bytes(base::Dtype dtype, std::string_view bytes) {
  const auto as_it_is = [](auto e) { return static_cast<double>(e); };
  switch (dtype) {
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return decoded<float>(bytes, as_it_is);
    case base::Dtype::kF16:
      return decoded<std::uint16_t>(bytes, f16_value);
    case base::Dtype::kBf16:
      return decoded<std::uint16_t>(
          bytes, [](std::uint16_t b) { return double{std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16)}; });
    case base::Dtype::kI8:
      return decoded<std::int8_t>(bytes, as_it_is);
    case base::Dtype::kI32:
      return decoded<std::int32_t>(bytes, as_it_is);
    case base::Dtype::kF64:
      return decoded<double>(bytes, as_it_is);
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E4M3Fnuz:
    case base::Dtype::kF8E5M2Fnuz:
      return decoded<std::uint8_t>(bytes, [f = float8_of(dtype)](std::uint8_t b) { return float8_value(f, b); });
  }
  base::check(false, "every dtype has bytes");
  return {};
}

}  // namespace tilescope::cuda
