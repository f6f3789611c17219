// SPDX-License-Identifier: Apache-2.0
#include "expr/arithmetic.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/option.h"
#include "base/parse_number.h"
#include "graph/detail/expanded.h"

namespace tilescope::graph {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

constexpr std::array kElements = {Element::kI64, Element::kI32, Element::kI16, Element::kI8,  Element::kU64,
                                  Element::kU32, Element::kU16, Element::kU8,  Element::kBool};

constexpr std::array<std::string_view, 62> kKinds = {"Abs",
                                                     "Add",
                                                     "ArgMax",
                                                     "AveragePool",
                                                     "BatchNormalization",
                                                     "Cast",
                                                     "Clip",
                                                     "Concat",
                                                     "Conv",
                                                     "ConvTranspose",
                                                     "Cos",
                                                     "CumSum",
                                                     "DepthToSpace",
                                                     "Div",
                                                     "Einsum",
                                                     "Elu",
                                                     "Equal",
                                                     "Erf",
                                                     "Exp",
                                                     "Expand",
                                                     "Flatten",
                                                     "Floor",
                                                     "Gather",
                                                     "GatherElements",
                                                     "Gemm",
                                                     "Greater",
                                                     "HardSigmoid",
                                                     "HardSwish",
                                                     "InstanceNormalization",
                                                     "LayerNormalization",
                                                     "LeakyRelu",
                                                     "Less",
                                                     "Log",
                                                     "LogSoftmax",
                                                     "MatMul",
                                                     "Max",
                                                     "MaxPool",
                                                     "Min",
                                                     "Mul",
                                                     "Neg",
                                                     "OneHot",
                                                     "PRelu",
                                                     "Pad",
                                                     "Pow",
                                                     "ReduceMax",
                                                     "ReduceMean",
                                                     "ReduceSum",
                                                     "Relu",
                                                     "Reshape",
                                                     "Resize",
                                                     "Sigmoid",
                                                     "Sin",
                                                     "Slice",
                                                     "Softmax",
                                                     "Split",
                                                     "Sqrt",
                                                     "Squeeze",
                                                     "Sub",
                                                     "Tanh",
                                                     "TopK",
                                                     "Transpose",
                                                     "Where"};

}  // namespace

void Arithmetic::fail(base::Position at, std::string text) const {
  diags_.error(at, std::move(text));
  throw Broken{};
}

std::optional<std::int64_t> Arithmetic::find(std::string_view name, const Scope& scope) const {
  if (const auto own = scope.numbers.find(name); own != scope.numbers.end()) return own->second;
  if (const auto v = values_.find(name); v != values_.end()) return v->second;
  return std::nullopt;
}

std::int64_t Arithmetic::number(const Number& n, const Scope& scope) const {
  if (const auto whole = base::parse_integer<std::int64_t>(n.text)) return *whole;
  const auto value = expr::evaluate(
      n.text, n.at,
      [&](const expr::Token& name) -> std::optional<std::int64_t> {
        if (const auto known = find(name.text, scope)) return known;
        diags_.error(name.at, why_none(name.text, scope));
        return std::nullopt;
      },
      diags_);
  if (!value) throw Broken{};
  return *value;
}

std::string Arithmetic::why_none(std::string_view name, const Scope& scope) const {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : scope.numbers) names.push_back(known);
  for (const base::Entry& e : variables_) {
    if (e.key == name)
      return fmt::format("the variable '{0}' has neither value nor default; give it one by {1} {0}=N", name,
                         base::option("size"));
    names.push_back(e.key);
  }
  return fmt::format("no variable is called '{}'{}{}", name,
                     scope.block->name.empty() ? "" : fmt::format(", and no size of '{}'", scope.block->name),
                     base::did_you_mean(name, names));
}

std::vector<std::int64_t> Arithmetic::numbers(const std::vector<Number>& list, const Scope& scope) const {
  std::vector<std::int64_t> out;
  for (const Number& n : list) out.push_back(number(n, scope));
  return out;
}

Shape Arithmetic::shape(const std::vector<Number>& list, const Scope& scope) const {
  Shape out;
  std::int64_t elements = 1;
  for (const Number& n : list) {
    const std::int64_t extent = number(n, scope);
    if (extent < 1 || extent > kMaxExtent)
      fail(n.at, fmt::format("'{}' is {}, expected an extent from 1 to {}", n.text, extent, kMaxExtent));
    if (elements > kMaxElements / extent) fail(n.at, fmt::format("a tensor of more than {} elements", kMaxElements));
    elements *= extent;
    out.push_back(extent);
  }
  return out;
}

std::string Arithmetic::filled(const Stages& s, const Scope& scope) const {
  std::string out;
  for (std::size_t i = 0; i < s.text.size();) {
    const std::size_t open = std::min(s.text.find('{', i), s.text.size());
    out += s.text.substr(i, open - i);
    if (open == s.text.size()) break;
    const std::size_t close = s.text.find('}', open);
    const base::Position at{s.at.source, s.at.line, s.at.column + static_cast<std::uint32_t>(open + 1)};
    if (close == std::string::npos) fail(at, "expected '}' after a number");
    const std::int64_t n = number({s.text.substr(open + 1, close - open - 1), at}, scope);
    std::string digits = n < 0 ? fmt::format("({})", n) : fmt::format("{}", n);
    digits.resize(std::max(digits.size(), close + 1 - open), ' ');
    out += digits;
    i = close + 1;
  }
  return out;
}

std::optional<Element> element_named(std::string_view name) {
  if (name == "float") return Element::kF32;
  for (const Element e : kElements)
    if (name_of(e) == name) return e;
  return std::nullopt;
}

std::string element_names() {
  std::vector<std::string_view> names;
  for (const Element e : kElements) names.push_back(name_of(e));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string_view> kinds_to_suggest() { return {kKinds.begin(), kKinds.end()}; }

}  // namespace tilescope::graph
