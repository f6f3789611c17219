// SPDX-License-Identifier: Apache-2.0
#include "import/suite_file.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/workload.h"
#include "expr/suites.h"
#include "import/chip_file.h"

namespace tilescope::importers {
namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// The names of an operator's axes in the file: in small letters, and none that a tensor has too.
std::map<std::string, std::string> axes_of(const SuiteOperator& op) {
  std::map<std::string, int> lower;
  for (const Loop& l : op.loops) ++lower[lowered(l.axis)];
  std::set<std::string> tensors{op.result.name};
  for (const Tensor& t : op.operands) tensors.insert(t.name);
  std::map<std::string, std::string> out;
  for (const Loop& l : op.loops) {
    std::string name = lower[lowered(l.axis)] == 1 ? lowered(l.axis) : l.axis;
    while (tensors.contains(name)) name += '_';
    out[l.axis] = std::move(name);
  }
  return out;
}

std::string text_of(const Coordinate& c, const std::map<std::string, std::string>& axes) {
  std::string out;
  for (const Term& t : c.terms) {
    const auto axis = axes.find(t.axis);
    const std::string& name = axis == axes.end() ? t.axis : axis->second;
    out += out.empty() ? "" : "+";
    out += t.factor == 1 ? name : fmt::format("{}*{}", name, t.factor);
  }
  if (out.empty()) return fmt::format("{}", c.constant);
  return c.constant == 0 ? out : fmt::format("{}{:+}", out, c.constant);
}

std::string text_of(const Tensor& t, const std::map<std::string, std::string>& axes) {
  std::vector<std::string> coordinates;
  for (const Coordinate& c : t.coordinates) coordinates.push_back(text_of(c, axes));
  return t.coordinates.empty() ? t.name : fmt::format("{}[{}]", t.name, fmt::join(coordinates, ","));
}

bool is_reduced(const SuiteOperator& op) {
  for (const Loop& l : op.loops) {
    const bool in_result =
        std::any_of(op.result.coordinates.begin(), op.result.coordinates.end(), [&](const Coordinate& c) {
          return std::any_of(c.terms.begin(), c.terms.end(), [&](const Term& t) { return t.axis == l.axis; });
        });
    if (!in_result) return true;
  }
  return false;
}

std::string text_of(const SuiteOperator& op, const std::string& id) {
  const auto axes = axes_of(op);
  std::vector<std::string> operands, sizes, shapes;
  for (const Tensor& t : op.operands) {
    operands.push_back(text_of(t, axes));
    if (!t.shape.empty()) shapes.push_back(fmt::format("{}: [{}]", t.name, fmt::join(t.shape, ", ")));
  }
  for (const Loop& l : op.loops) sizes.push_back(fmt::format("{}: {}", axes.at(l.axis), l.size));
  std::string out = fmt::format("  - id: {}", id);
  if (!op.comment.empty()) out += "  # " + op.comment;
  out += fmt::format("\n    op: '{} {} {}'\n", text_of(op.result, axes), op.sums && is_reduced(op) ? "+=!" : "=",
                     fmt::join(operands, op.sums ? " * " : " + "));
  out += fmt::format("    sizes: {{{}}}\n", fmt::join(sizes, ", "));
  if (!shapes.empty()) out += fmt::format("    shapes: {{{}}}\n", fmt::join(shapes, ", "));
  if (op.count != 1) out += fmt::format("    count: {}\n", op.count);
  if (!op.dtype.empty()) out += fmt::format("    dtype: '{}'\n", op.dtype);
  return out;
}

// What an id may have.
std::string id_of(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-.+").find(c) != std::string::npos
               ? c
               : '_';
  return out.empty() ? "layer" : out;
}

}  // namespace

std::string text_of(const SuiteFile& file) {
  std::string out;
  for (const std::string& line : file.head) out += "# " + line + '\n';
  if (!file.dtype.empty()) out += fmt::format("dtype: {}  # {}\n", file.dtype, file.dtype_comment);
  out += "operators:\n";
  std::set<std::string> ids;
  for (const SuiteOperator& op : file.operators) {
    const std::string first = id_of(op.id);
    std::string id = first;
    for (int n = 2; !ids.insert(id).second; ++n) id = fmt::format("{}_{}", first, n);
    out += text_of(op, id);
  }
  return out;
}

bool check(const std::string& text, const SuiteFile& file, base::SourceId input, base::Diagnostics& diags) {
  base::Diagnostics own;
  const auto suite = expr::read_suite_text(text, "the suite", std::nullopt, {}, own);
  if (suite && own.ok()) api::expressions_of(*suite, false, own);
  for (const base::Diagnostic& d : own.errors()) {
    // The operator whose lines the mistake is in: the last one that begins before it.
    std::string_view rest = text;
    std::size_t index = 0;
    for (std::uint32_t line = 1; line <= d.at.line && !rest.empty(); ++line) {
      if (rest.starts_with("  - id: ")) ++index;
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    }
    const base::Position at =
        index > 0 && index <= file.operators.size() ? file.operators[index - 1].at : base::Position{input, 0, 0};
    diags.error(at, d.text);
  }
  return own.ok();
}

}  // namespace tilescope::importers
