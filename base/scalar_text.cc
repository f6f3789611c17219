// SPDX-License-Identifier: Apache-2.0
#include "base/scalar_text.h"

#include <algorithm>
#include <cstddef>

namespace tilescope::base {
namespace {

// What stands behind the first `lines` lines of a text.
std::string_view behind(std::string_view text, std::uint32_t lines) {
  for (; lines > 0 && !text.empty(); --lines) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace

Position text_at(const Value& scalar, std::string_view document) {
  Position at = scalar.at;
  if (at.line == 0 || at.column == 0) return at;
  std::string_view rest = behind(document, at.line - 1);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  const char first = at.column <= line.size() ? line[at.column - 1] : ' ';
  if (first == '\'' || first == '"') ++at.column;
  if (first != '|' && first != '>') return at;
  for (std::uint32_t below = at.line + 1; !(rest = behind(rest, 1)).empty(); ++below) {
    const std::size_t column = rest.substr(0, rest.find('\n')).find_first_not_of(' ');
    if (column != std::string_view::npos) return {at.source, below, static_cast<std::uint32_t>(column + 1)};
  }
  return at;
}

}  // namespace tilescope::base
