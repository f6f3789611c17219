// SPDX-License-Identifier: Apache-2.0
// What is said of explained operators: their strongest elasticities, means over them, and the document.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "api/explain.h"

namespace tilescope::api {
namespace {

using base::List;
using base::Map;
using base::Value;

// Magnitudes of the elasticities of time and energy; 0 below kMinElasticity.
using Effects = std::pair<double, double>;
double effect_of(double elasticity) { return std::abs(elasticity) < kMinElasticity ? 0 : std::abs(elasticity); }
Effects effects_of(const Elasticity& e) { return {effect_of(e.elasticity), effect_of(e.energy.value_or(0))}; }
Effects effects_of(const MeanElasticity& e) { return {effect_of(e.elasticity), 0}; }

// Without effect left out; the rest strongest first, and as they were where equally strong.
template <class Rows>
void keep_strongest(Rows& rows) {
  std::erase_if(rows, [](const auto& e) { return effects_of(e) == Effects(); });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return effects_of(a) > effects_of(b); });
}

// A mean under way.
struct Sums {
  Change change;
  double us = 0, weighted = 0, fixed_us = 0, fixed_weighted = 0;
};

// The sums of that change.
Sums& sums_of(std::vector<Sums>& all, const Change& change) {
  const std::string changed = base::to_json(change.changed);
  for (Sums& s : all)
    if (s.change.path == change.path && base::to_json(s.change.changed) == changed) return s;
  all.push_back({change});
  return all.back();
}

void add(std::vector<Sums>& all, const Elasticity& e, double us) {
  Sums& s = sums_of(all, e.change);
  s.us += us;
  s.weighted += us * e.elasticity;
  if (!e.elasticity_fixed) return;
  s.fixed_us += us;
  s.fixed_weighted += us * *e.elasticity_fixed;
}

Value terms_of(const Prediction& p) {
  for (base::Entry& e : to_entries(p))
    if (e.key == "terms") return std::move(e.value);
  return Map{};
}

Value row_of(const ExplainedOperator& op) {
  Map row = {{"id", op.id}, {"kind", op.kind}, {"count", op.count}, {"operations", op.operations}};
  if (op.prediction) {
    row.push_back({"predicted_us", op.prediction->predicted_us});
    row.push_back({"bottleneck", op.prediction->bottleneck});
    row.push_back({"next", op.next});
    row.push_back({"terms", terms_of(*op.prediction)});
    row.push_back({"elasticities", base::to_list(op.elasticities)});
    row.push_back({"refused", base::to_list(op.refused)});
  }
  if (!op.error.empty()) row.push_back({"error", op.error});
  return row;
}

}  // namespace

bool is_luck(const Elasticity& e, const ExplainedOperator& op) {
  return e.here_us && op.prediction && *e.here_us < op.prediction->predicted_us * (1 - kMinElasticity);
}

TimedOperator timed(const ExplainedOperator& op) {
  TimedOperator out{op.count, {}, op.operations, {}};
  if (!op.prediction) return out;
  out.us = op.prediction->predicted_us;
  out.bound_by = op.prediction->bottleneck;
  return out;
}

std::vector<Elasticity> strongest(const ExplainedOperator& op) {
  std::vector<Elasticity> out = op.elasticities;
  keep_strongest(out);
  return out;
}

std::vector<MeanElasticity> strongest_means(const std::vector<ExplainedOperator>& operators) {
  std::vector<Sums> sums;
  for (const ExplainedOperator& op : operators)
    if (op.prediction)
      for (const Elasticity& e : op.elasticities)
        add(sums, e, static_cast<double>(op.count) * op.prediction->predicted_us);
  std::vector<MeanElasticity> out;
  for (const Sums& s : sums)
    out.push_back(
        {s.change, s.weighted / s.us, s.fixed_us > 0 ? std::optional(s.fixed_weighted / s.fixed_us) : std::nullopt});
  keep_strongest(out);
  return out;
}

base::Value to_document(const std::vector<ExplainedOperator>& operators) {
  List rows;
  for (const ExplainedOperator& op : operators) rows.push_back(row_of(op));
  return Map{{"operators", std::move(rows)}, {"total", to_entries(totals_of(timed_operators(operators)))}};
}

}  // namespace tilescope::api
