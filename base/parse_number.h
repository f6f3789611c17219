// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a number from a text that holds nothing else: no blanks, no sign but a minus, nothing after it.

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tilescope::base {

// Nullopt if the text is no integer, or one that does not fit the type.
template <class Integer>
std::optional<Integer> parse_integer(std::string_view text, int radix = 10) {
  Integer n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, radix);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// Nullopt if the text is no number, or an infinity or NaN.
inline std::optional<double> parse_real(std::string_view text) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(n)) return std::nullopt;
  return n;
}

}  // namespace tilescope::base
