// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that are a whole text: no blanks, no sign but a minus, nothing behind them.

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tilescope::base {

// Nothing where the text is no whole number, or none that fits.
template <class Integer>
std::optional<Integer> parse_integer(std::string_view text, int radix = 10) {
  Integer n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, radix);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// Nothing where the text is no number; infinities and what is not a number are none.
inline std::optional<double> parse_real(std::string_view text) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(n)) return std::nullopt;
  return n;
}

}  // namespace tilescope::base
