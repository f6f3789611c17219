// SPDX-License-Identifier: Apache-2.0
// The values of objectives and constraints at a point.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "experiments/objectives/objectives.h"

namespace tilescope::experiments {

// A formula with where its names' values are.
struct Objectives::Placed {
  Formula formula;
  std::vector<std::optional<std::size_t>> inputs;   // by name: which input
  std::vector<std::vector<std::size_t>> operators;  // by name: the workloads of its reduction
};

struct Objectives::PlacedBound {
  std::string text;
  Placed left, right;
  bool at_most = true;
};

// What is known of one point.
struct Objectives::Known {
  const std::vector<std::optional<double>>& inputs;
  const std::vector<std::optional<OperatorResult>>& operators;
  QuantityValues totals = {};
};

namespace {

std::optional<double> result_of(const std::optional<OperatorResult>& op, Quantity q) {
  return op ? op->values[static_cast<std::size_t>(q)] : std::nullopt;
}

// The totals of a point that follow from its operators.
QuantityValues totals_of(const std::vector<std::optional<OperatorResult>>& operators,
                         const std::vector<StoredWorkload>& workloads) {
  QuantityValues out;
  const auto at = [&](Quantity q) -> std::optional<double>& { return out[static_cast<std::size_t>(q)]; };
  for (const Quantity q : {Quantity::kTime, Quantity::kEnergy, Quantity::kTimeAtLimit, Quantity::kEnergyAtLimit}) {
    double sum = 0;
    bool known = operators.size() == workloads.size();
    for (std::size_t w = 0; known && w < workloads.size(); ++w) {
      const auto value = result_of(operators[w], q);
      known = value.has_value();
      sum += workloads[w].weight * value.value_or(0);
    }
    if (known) at(q) = sum;
  }
  // pJ a us are uW.
  if (at(Quantity::kEnergy)) at(Quantity::kPower) = 1e-6 * *at(Quantity::kEnergy) / *at(Quantity::kTime);
  if (at(Quantity::kEnergy)) at(Quantity::kEdp) = *at(Quantity::kEnergy) * *at(Quantity::kTime);
  if (!at(Quantity::kTimeAtLimit)) return out;
  for (const auto& op : operators) {
    const auto clock = result_of(op, Quantity::kLimitClock);
    auto& least = at(Quantity::kLimitClock);
    if (clock && (!least || *clock < *least)) least = clock;
  }
  return out;
}

// Of pairs of a value and its weight: the least value up to which that share of the weight lies.
double quantile(std::vector<std::pair<double, double>> values, double share) {
  std::sort(values.begin(), values.end());
  double all = 0, sum = 0;
  for (const auto& [value, weight] : values) all += weight;
  constexpr double kRounding = 1e-12;
  for (const auto& [value, weight] : values)
    if ((sum += weight) >= share * all * (1 - kRounding)) return value;
  return values.back().first;
}

}  // namespace

OperatorResult with_time_times(OperatorResult result, double ratio) {
  const auto at = [&](Quantity q) -> std::optional<double>& { return result.values[static_cast<std::size_t>(q)]; };
  for (const Quantity q : {Quantity::kTime, Quantity::kTimeAtLimit})
    if (at(q)) *at(q) *= ratio;
  auto& energy = at(Quantity::kEnergy);
  if (!energy || !(*energy > 0)) return result;
  const double grows = 1 + (ratio - 1) * result.resting_energy / *energy;
  result.resting_energy *= ratio;
  *energy *= grows;
  if (at(Quantity::kEnergyAtLimit)) *at(Quantity::kEnergyAtLimit) *= grows;
  if (at(Quantity::kPower)) *at(Quantity::kPower) *= grows / ratio;
  return result;
}

std::optional<double> Judgement::violation() const {
  double sum = 0;
  bool known = true;
  for (const auto& v : violations) {
    sum += v.value_or(0);
    known = known && v.has_value();
  }
  return known || sum > 0 ? std::optional(sum) : std::nullopt;
}

Objectives::~Objectives() = default;

Objectives::Objectives(const StoredObjectives& asked, const std::vector<StoredWorkload>& workloads)
    : objectives_(asked.objectives), inputs_(asked.inputs), workloads_(workloads) {
  base::Diagnostics diags;
  const base::Position at{diags.add_source("objectives"), 1, 1};
  const std::vector<std::string_view> names = result_names(inputs_);
  for (const StoredObjective& o : objectives_)
    if (auto formula = Formula::parse(o.formula, at, names, diags, operator_quantity_names()))
      formulas_.push_back(placed(std::move(*formula)));
  for (const std::string& text : asked.constraints)
    if (auto bound = parse_bound(text, at, names, diags))
      bounds_.push_back({text, placed(std::move(bound->left)), placed(std::move(bound->right)), bound->at_most});
  if (!diags.ok())
    throw DamagedError(fmt::format("the objectives of the sweep are damaged ({}); sweep into another store",
                                   diags.sentences().front()));
}

Objectives::Placed Objectives::placed(Formula formula) const {
  Placed out{std::move(formula), {}, {}};
  for (std::size_t p = 0; p < out.formula.paths().size(); ++p) {
    const auto input = std::find(inputs_.begin(), inputs_.end(), out.formula.paths()[p]);
    out.inputs.push_back(input == inputs_.end() ? std::nullopt : std::optional(input - inputs_.begin()));
    std::vector<std::size_t>& operators = out.operators.emplace_back();
    const auto& reduction = out.formula.reductions()[p];
    for (std::size_t w = 0; reduction && w < workloads_.size(); ++w)
      if (matches(reduction->pattern, workloads_[w].name)) operators.push_back(w);
  }
  return out;
}

std::optional<double> Objectives::reduced(const Reduction& r, const std::vector<std::size_t>& workloads,
                                          const Known& known) const {
  using How = Reduction::How;
  const auto quantity = quantity_of(std::string_view(r.quantity));
  std::vector<std::pair<double, double>> values;
  double sum = 0, weight = 0;
  for (const std::size_t w : workloads) {
    const auto value = w < known.operators.size() ? result_of(known.operators[w], *quantity) : std::nullopt;
    if (!value) return std::nullopt;
    values.emplace_back(*value, workloads_[w].weight);
    sum += *value * workloads_[w].weight;
    weight += workloads_[w].weight;
  }
  if (values.empty()) return std::nullopt;
  switch (r.how) {
    case How::kMax:
      return std::max_element(values.begin(), values.end())->first;
    case How::kMin:
      return std::min_element(values.begin(), values.end())->first;
    case How::kSum:
      return sum;
    case How::kMean:
      return sum / weight;
    case How::kQuantile:
      return quantile(std::move(values), r.share);
  }
  return std::nullopt;
}

std::optional<double> Objectives::value(const Placed& f, const Known& known) const {
  std::vector<double> values;
  for (std::size_t p = 0; p < f.formula.paths().size(); ++p) {
    std::optional<double> v;
    if (const auto& reduction = f.formula.reductions()[p])
      v = reduced(*reduction, f.operators[p], known);
    else if (f.inputs[p])
      v = *f.inputs[p] < known.inputs.size() ? known.inputs[*f.inputs[p]] : std::nullopt;
    else if (const auto quantity = quantity_of(std::string_view(f.formula.paths()[p])))
      v = known.totals[static_cast<std::size_t>(*quantity)];
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  const double result = f.formula.of(values);
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

Judgement Objectives::judge(const std::vector<std::optional<double>>& inputs,
                            const std::vector<std::optional<OperatorResult>>& operators) const {
  const Known known{inputs, operators, totals_of(operators, workloads_)};
  Judgement out;
  for (const Placed& f : formulas_) out.values.push_back(value(f, known));
  for (const PlacedBound& b : bounds_) {
    const auto left = value(b.left, known), right = value(b.right, known);
    out.bounded.push_back(left);
    out.violations.push_back(left && right ? std::optional(violation_of(*left, *right, b.at_most)) : std::nullopt);
  }
  const auto all_known = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
  };
  if (all_known(out.values) && all_known(out.violations)) return out;
  for (const auto& op : operators)
    if (op && out.lacks.empty()) out.lacks = op->lacks;
  const bool complete = operators.size() == workloads_.size() && all_known(operators);
  for (std::size_t o = 0; complete && out.lacks.empty() && o < out.values.size(); ++o)
    if (!out.values[o]) out.lacks = fmt::format("'{}' is no number there", objectives_[o].formula);
  for (std::size_t c = 0; complete && out.lacks.empty() && c < out.violations.size(); ++c)
    if (!out.violations[c]) out.lacks = fmt::format("'{}' has no number there", bounds_[c].text);
  return out;
}

Merit Objectives::merit_of(const Judgement& judgement) const {
  const auto violation = judgement.violation();
  if (!violation) return no_merit();
  if (*violation > 0) return {{}, *violation};
  auto objectives = to_minimise(judgement);
  return objectives ? Merit{std::move(*objectives), 0} : no_merit();
}

std::optional<std::vector<double>> Objectives::to_minimise(const Judgement& judgement) const {
  std::vector<double> out;
  for (std::size_t o = 0; o < objectives_.size(); ++o) {
    if (!judgement.values[o]) return std::nullopt;
    out.push_back(objectives_[o].most ? -*judgement.values[o] : *judgement.values[o]);
  }
  return out;
}

std::string Objectives::worst_of(const Judgement& judgement) const {
  std::size_t worst = bounds_.size();
  for (std::size_t c = 0; c < bounds_.size(); ++c) {
    const double violation = judgement.violations[c].value_or(0);
    if (violation > 0 && (worst == bounds_.size() || violation > *judgement.violations[worst])) worst = c;
  }
  if (worst == bounds_.size()) return {};
  const Placed& left = bounds_[worst].left;
  const auto quantity = quantity_of(left.formula);
  const double factor = quantity ? row_of(*quantity).shown : 1;
  return fmt::format("{}: {:.6g}{}{}", bounds_[worst].text, *judgement.bounded[worst] * factor, quantity ? " " : "",
                     quantity ? row_of(*quantity).unit : "");
}

}  // namespace tilescope::experiments
