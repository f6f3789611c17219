// SPDX-License-Identifier: Apache-2.0
#include "experiments/objectives/objectives.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Position;

Position moved(Position at, std::size_t characters) {
  return {at.source, at.line, at.column + static_cast<std::uint32_t>(characters)};
}

// Where the comparison of a bound begins; nothing where there is none, or another one that is no bound.
std::optional<std::size_t> comparison_in(std::string_view text) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view kOf = " of ";
    if (text.substr(i, kOf.size()) == kOf) i = std::min(text.find(')', i), text.size() - 1);  // a pattern of names
    const std::string_view two = text.substr(i, 2);
    if (two == "<=" || two == ">=") {
      if (out) return std::nullopt;
      out = i++;
    } else if (std::string_view("<>=&|?!").find(text[i]) != std::string_view::npos) {
      return std::nullopt;
    }
  }
  return out;
}

// Whether a bound that is an amount and nothing else is one of the result that it bounds; an error where it is not.
bool check_unit(const Formula& result, std::string_view amount, Position at, Diagnostics& diags) {
  const auto quantity = quantity_of(result);
  if (!quantity || !row_of(*quantity).dimension) return true;
  const QuantityRow& row = row_of(*quantity);
  const bool plain = !amount.empty() && amount.find_first_not_of("0123456789.eE+- ") == std::string_view::npos;
  const auto parsed = parse_amount(amount);
  if (!plain && (!parsed || parsed->dimension == *row.dimension)) return true;
  diags.error(at, fmt::format("{} is bounded by {}, not by '{}'", row.name, base::example_of(*row.dimension), amount));
  return false;
}

}  // namespace

std::vector<std::string_view> result_names(const std::vector<std::string>& inputs) {
  std::vector<std::string_view> out = quantity_names();
  out.insert(out.end(), inputs.begin(), inputs.end());
  return out;
}

std::optional<Quantity> quantity_of(const Formula& formula) {
  if (formula.paths().size() != 1 || trimmed(formula.text()) != formula.paths().front()) return std::nullopt;
  const auto& reduction = formula.reductions().front();
  return quantity_of(reduction ? std::string_view(reduction->quantity) : std::string_view(formula.paths().front()));
}

double violation_of(double value, double bound, bool at_most) {
  const double beyond = at_most ? value - bound : bound - value;
  if (!(beyond > 0)) return 0;
  return bound == 0 ? beyond : beyond / std::abs(bound);
}

std::optional<Bound> parse_bound(std::string_view text, Position at, const std::vector<std::string_view>& names,
                                 Diagnostics& diags) {
  const auto comparison = comparison_in(text);
  if (!comparison) {
    diags.error(at, fmt::format("'{}': a constraint on results is one comparison with <= or >=, such as "
                                "'area <= 600 mm2'; write each as its own",
                                text));
    return std::nullopt;
  }
  const std::string_view left = text.substr(0, *comparison);
  std::string_view right = text.substr(*comparison + 2);
  std::size_t right_from = *comparison + 2;
  while (right.starts_with(' ')) right.remove_prefix(1), ++right_from;
  const std::vector<std::string_view> of_operators = operator_quantity_names();
  auto l = Formula::parse(trimmed(left), at, names, diags, of_operators);
  auto r = Formula::parse(trimmed(right), moved(at, right_from), names, diags, of_operators);
  if (!l || !r) return std::nullopt;
  if (!check_unit(*l, trimmed(right), moved(at, right_from), diags)) return std::nullopt;
  if (!check_unit(*r, trimmed(left), at, diags)) return std::nullopt;
  const bool at_most = text[*comparison] == '<';
  // 600 mm2 >= area bounds the area.
  if (l->paths().empty()) return Bound{std::move(*r), std::move(*l), !at_most};
  return Bound{std::move(*l), std::move(*r), at_most};
}

ShownObjective shown(const StoredObjective& objective) {
  std::string_view name = objective.formula;
  constexpr std::string_view kOf = " of ";
  // max(time of PATTERN) is in the unit of its quantity.
  if (const std::size_t of = name.find(kOf); of != std::string_view::npos && name.ends_with(')')) {
    const std::size_t open = name.find_last_of("(,", of) + 1, bracket = name.find('(');
    const bool alone = bracket < open && name.find(')') == name.size() - 1;
    if (alone && is_reduction(trimmed(name.substr(0, bracket)))) name = trimmed(name.substr(open, of - open));
  }
  const auto quantity = quantity_of(name);
  if (!quantity) return {objective.name, "", "objective." + objective.name, 1};
  const QuantityRow& row = row_of(*quantity);
  return {objective.name, std::string(row.unit), fmt::format("objective.{}{}", objective.name, row.suffix), row.shown};
}

}  // namespace tilescope::experiments
