// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/print.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilescope::expr {
namespace {

// The term with its sign, which a first term shows only where it is negative.
std::string to_text(const Stage& stage, const Term& t, bool first) {
  const std::string& axis = stage.axes[static_cast<std::size_t>(t.axis)].name;
  const std::string sign = t.coefficient < 0 ? "-" : first ? "" : "+";
  const std::uint64_t bits = static_cast<std::uint64_t>(t.coefficient);
  const std::uint64_t magnitude = t.coefficient < 0 ? -bits : bits;
  return magnitude == 1 ? sign + axis : fmt::format("{}{}*{}", sign, axis, magnitude);
}

std::string to_text(const Stage& stage, const Coordinate& c) {
  std::string sum;
  for (const Term& t : c.terms) sum += to_text(stage, t, sum.empty());
  if (sum.empty())
    sum = std::to_string(c.offset);
  else if (c.offset != 0)
    sum += fmt::format("{:+}", c.offset);
  if (c.affine()) return sum;
  if (c.terms.size() > 1 || c.offset != 0) sum = fmt::format("({})", sum);
  return sum + (c.modulus != 0 ? fmt::format("%{}", c.modulus) : fmt::format("/{}", c.divisor));
}

}  // namespace

std::string to_text(const Expression& e, const Stage& stage, const Read& read) {
  std::string at;
  for (const Coordinate& c : read.at) {
    if (!at.empty()) at += ',';
    at += to_text(stage, c);
  }
  return fmt::format("{}[{}]", e.tensors[static_cast<std::size_t>(read.tensor)].name, at);
}

std::vector<std::string> notes_of(const Expression& e, const Stage& stage) {
  std::vector<std::string> out;
  for (const Read& r : stage.reads)
    if (std::any_of(r.at.begin(), r.at.end(), [](const Coordinate& c) { return !c.affine(); }))
      out.push_back(fmt::format("the read {} is not affine; a tile takes its full extent", to_text(e, stage, r)));
  return out;
}

}  // namespace tilescope::expr
