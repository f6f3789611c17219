// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/columns.h"

#include <array>
#include <charconv>

namespace tilescope::experiments {

using base::List;
using base::Map;
using base::Value;

Value figure(double x) {
  constexpr int kDigits = 5;
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::scientific, kDigits - 1);
  double rounded = x;
  std::from_chars(text.data(), end.ptr, rounded);
  return exact(rounded);
}

Value TextColumn::take() {
  List dictionary;
  for (const std::string& text : coder_.contents()) dictionary.emplace_back(text);
  return Map{{"dictionary", std::move(dictionary)}, {"codes", coder_.take_codes()}};
}

}  // namespace tilescope::experiments
