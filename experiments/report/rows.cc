// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/rows.h"

#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "api/common/errors.h"
#include "experiments/accuracy/accuracy.h"
#include "experiments/objectives/stored.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

constexpr const char* kAll = "all";
constexpr std::size_t kMinRanked = 2;  // chips of an operator

std::string occupancy_text(const api::Prediction& p) {
  return fmt::format("{:.0f} %, {}", 100 * p.occupancy_ratio, p.occupancy_limit);
}

std::optional<double> over(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

void add_energy(const api::EnergyRow& row, double weight, std::map<std::string, double>& to) {
  constexpr double kJoules = 1e-6;  // of a uJ
  for (const auto& [part, uj] : row.parts) to[part] += kJoules * weight * uj;
}

struct Source {
  std::string_view name;
  const Times& times;
};

// One kind of operator: `in_band` counts the truths that lie within the band of their prediction.
struct KindTimes {
  std::vector<PredictedTime> times;
  std::size_t banded = 0, in_band = 0;
};

Map entries_of(const std::string& kind, const KindTimes& k) {
  const Accuracy f = accuracy_of(k.times, kMinRanked);
  const bool ranked = f.by_row.groups > 0;
  const auto if_ranked = [&](double x) { return ranked ? figure(x) : Value(); };
  return {{"kind", kind},
          {"compared", f.errors.compared},
          {"mape_ratio", figure(f.errors.mape_ratio)},
          {"median_error_ratio", figure(f.errors.median_error_ratio)},
          {"bias_ratio", figure(f.errors.bias_ratio)},
          {"spearman", if_ranked(f.by_row.spearman)},
          {"kendall", if_ranked(f.by_row.kendall)},
          {"within_band_ratio",
           k.banded == 0 ? Value() : figure(static_cast<double>(k.in_band) / static_cast<double>(k.banded))}};
}

void cost_model(KindTimes& k, const SweepRows& rows, std::size_t row, const Source& ours, const Source& truth) {
  const std::size_t operators = rows.workloads.size();
  const double t = *truth.times[row];
  k.times.push_back({rows.workloads[row % operators].name, std::to_string(row / operators), ours.times[row], t});
  if (ours.name != "predicted" || !rows.low_ratio[row]) return;
  const double p = *ours.times[row];
  ++k.banded;
  if (t >= p * *rows.low_ratio[row] && t <= p * *rows.high_ratio[row]) ++k.in_band;
}

// Empty where no row has both times.
List kinds_of(const SweepRows& rows, const Source& ours, const Source& truth) {
  std::map<std::string, KindTimes> kinds;
  KindTimes all;
  std::set<std::tuple<std::string, std::string, std::size_t>> seen;  // the grid may hold the base as well
  for (std::size_t row = 0; row < ours.times.size(); ++row) {
    const std::size_t workload = row % rows.workloads.size();
    if (!ours.times[row] || !truth.times[row]) continue;
    if (!seen.emplace(rows.points[row / rows.workloads.size()].chip, rows.program[row], workload).second) continue;
    cost_model(kinds[rows.workloads[workload].kind], rows, row, ours, truth);
    cost_model(all, rows, row, ours, truth);
  }
  List out;
  for (const auto& [kind, k] : kinds) out.emplace_back(entries_of(kind, k));
  if (!kinds.empty()) out.emplace_back(entries_of(kAll, all));
  return out;
}

}  // namespace

SweepRows::SweepRows(const Store& store, const StoredSweep& sweep)
    : points(store.points(sweep)), workloads(sweep.workloads) {
  std::map<std::string, std::size_t> bases;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].is_base) bases.try_emplace(points[i].base, i);
  for (const StoredPoint& p : points) {
    const auto base = bases.find(p.base);
    base_of.push_back(base == bases.end() ? std::nullopt : std::optional(base->second));
  }
  energy.resize(points.size());
  std::vector<bool> lacks(points.size());
  std::size_t rows = 0;
  store.each_row(sweep, [&](const StoredPoint&, const StoredWorkload& workload, const StoredRow* row) {
    const std::size_t point = rows++ / workloads.size();
    add(row);
    const api::EnergyRow* of_row = row == nullptr || !row->error.empty() ? nullptr : energy_of(*row);
    if (of_row != nullptr)
      add_energy(*of_row, workload.weight, energy[point]);
    else
      lacks[point] = true;
  });
  for (std::size_t p = 0; p < points.size(); ++p)
    if (lacks[p]) energy[p].clear();
}

void SweepRows::add(const StoredRow* row) {
  static const StoredRow kNothing;
  const StoredRow& r = row == nullptr ? kNothing : *row;
  const api::Prediction* p = r.prediction && r.error.empty() ? &*r.prediction : nullptr;
  const auto us = p == nullptr ? std::nullopt : std::optional(p->predicted_us);
  const bool banded = p != nullptr && p->band && p->predicted_us > 0;
  predicted.push_back(us);
  simulated.push_back(r.simulation && r.error.empty() ? std::optional(r.simulation->simulated_us) : std::nullopt);
  measured.push_back(r.measured_us);
  low_ratio.push_back(banded ? std::optional(p->band->low_us / p->predicted_us) : std::nullopt);
  high_ratio.push_back(banded ? std::optional(p->band->high_us / p->predicted_us) : std::nullopt);
  waves.push_back(p == nullptr ? std::nullopt : std::optional(p->waves));
  bottleneck.push_back(p == nullptr ? "" : p->bottleneck);
  occupancy.push_back(p == nullptr ? "" : occupancy_text(*p));
  work.add(p);
  program.push_back(r.program);
  error.push_back(r.error.empty() ? r.simulation_error : r.error);
  if (!r.error.empty())
    ++failed;
  else if (r.time_us())
    ++done;
}

Times SweepRows::totals(const Times& times, const std::vector<bool>& of) const {
  Times out;
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::optional<double> sum = workloads.empty() ? std::nullopt : std::optional(0.0);
    for (std::size_t w = 0; w < workloads.size(); ++w) {
      if (!of.empty() && !of[w]) continue;
      const auto us = times[p * workloads.size() + w];
      sum = sum && us ? std::optional(*sum + workloads[w].weight * *us) : std::nullopt;
    }
    out.push_back(sum);
  }
  return out;
}

Times SweepRows::over_base(const Times& times) const {
  Times out;
  for (std::size_t row = 0; row < times.size(); ++row) {
    const auto base = base_of[row / workloads.size()];
    out.push_back(base ? over(times[row], times[*base * workloads.size() + row % workloads.size()]) : std::nullopt);
  }
  return out;
}

Times SweepRows::totals_over_base(const Times& totals) const {
  Times out;
  for (std::size_t p = 0; p < totals.size(); ++p)
    out.push_back(base_of[p] ? over(totals[p], totals[*base_of[p]]) : std::nullopt);
  return out;
}

Value bound_shares(const SweepRows& rows) {
  const std::size_t operators = rows.workloads.size();
  const Times totals = rows.totals(rows.predicted);
  Coder<std::string> names;
  for (std::size_t row = 0; row < rows.bottleneck.size(); ++row)
    if (totals[row / operators]) names.code(rows.bottleneck[row]);
  std::vector<Times> shares(names.contents().size(), Times(rows.points.size()));
  for (std::size_t row = 0; row < rows.bottleneck.size(); ++row) {
    const std::size_t p = row / operators;
    if (!totals[p] || *totals[p] <= 0) continue;
    for (Times& s : shares) s[p] = s[p].value_or(0);
    const double weighted = rows.workloads[row % operators].weight * *rows.predicted[row];
    *shares[static_cast<std::size_t>(names.code(rows.bottleneck[row]))][p] += weighted / *totals[p];
  }
  List texts, columns;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    texts.emplace_back(names.contents()[i]);
    List column;
    for (const auto& s : shares[i]) column.push_back(figure(s));
    columns.emplace_back(std::move(column));
  }
  return Map{{"names", std::move(texts)}, {"shares", std::move(columns)}};
}

List accuracy_of(const SweepRows& rows) {
  const Source predicted{"predicted", rows.predicted}, simulated{"simulated", rows.simulated},
      measured{"measured", rows.measured};
  List out;
  for (const auto& [ours, truth] :
       {std::pair(predicted, measured), std::pair(simulated, measured), std::pair(predicted, simulated)})
    if (List kinds = kinds_of(rows, ours, truth); !kinds.empty())
      out.emplace_back(Map{{"ours", ours.name}, {"truth", truth.name}, {"kinds", std::move(kinds)}});
  return out;
}

}  // namespace tilescope::experiments
