// SPDX-License-Identifier: Apache-2.0
#include "experiments/objectives/stored.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::experiments {

namespace {

bool simulated_time_counts(const StoredRow& row) { return row.simulation && !row.multi_fidelity; }

// The parts of an energy that grow with the time (energy/energy.h).
constexpr std::array<std::string_view, 3> kResting = {"rest", "leakage", "clock tree"};

// Why the row has no energy in the time that counts, as far as its chip's file says.
std::string lacking_energy(const StoredRow& row) {
  const auto& simulated = row.simulation;
  const auto& predicted = row.prediction;
  const std::optional<std::string> why = simulated_time_counts(row) ? simulated->no_energy
                                         : predicted                ? predicted->no_energy
                                                                    : std::nullopt;
  return fmt::format("no energy: the chip's file states no {}", why.value_or("power and energy for it"));
}

}  // namespace

const api::EnergyRow* energy_of(const StoredRow& row) {
  if (simulated_time_counts(row)) return row.simulation->energy ? &*row.simulation->energy : nullptr;
  return row.prediction && row.prediction->energy ? &*row.prediction->energy : nullptr;
}

OperatorResult result_of(const StoredRow& row) {
  OperatorResult out;
  const auto put = [&](Quantity q, std::optional<double> value) { out.values[static_cast<std::size_t>(q)] = value; };
  put(Quantity::kTime, row.time_us());
  if (!row.time_us()) {
    out.lacks = row.error.empty() ? "an operator has no time" : row.error;
    return out;
  }
  const api::EnergyRow* energy = energy_of(row);
  if (energy == nullptr) {
    out.lacks = lacking_energy(row);
    return out;
  }
  constexpr double kPicojoules = 1e6, kHertz = 1e6;  // of a uJ, of a MHz
  const api::EnergyRow& e = *energy;
  put(Quantity::kEnergy, kPicojoules * e.energy_uj);
  for (const api::NamedNumber& part : e.parts)
    if (std::find(kResting.begin(), kResting.end(), part.name) != kResting.end())
      out.resting_energy += kPicojoules * part.number;
  put(Quantity::kPower, e.power_w);
  put(Quantity::kTimeAtLimit, e.time_at_limit_us);
  if (e.energy_at_limit_uj) put(Quantity::kEnergyAtLimit, kPicojoules * *e.energy_at_limit_uj);
  if (e.limit_clock_mhz) put(Quantity::kLimitClock, kHertz * *e.limit_clock_mhz);
  if (!e.time_at_limit_us) out.lacks = "no clock at which the board keeps to its limit, or none was searched";
  return out;
}

namespace {

using OperatorResults = std::vector<std::optional<OperatorResult>>;

// Calls `use` with every point of the sweep in its order, and the results of its operators.
template <class Use>
void each_point(const Store& store, const StoredSweep& sweep, const Use& use) {
  base::check(sweep.objectives.has_value(), "a sweep that is judged has objectives");
  const std::vector<StoredPoint> points = store.points(sweep);
  OperatorResults operators;
  std::size_t at = 0;
  store.each_row(sweep, [&](const StoredPoint&, const StoredWorkload&, const StoredRow* r) {
    operators.push_back(r == nullptr ? std::nullopt : std::optional(result_of(*r)));
    if (operators.size() < sweep.workloads.size()) return;
    use(points[at++], operators);
    operators.clear();
  });
  base::check(at == points.size(), "every point has every operator");
}

}  // namespace

std::vector<std::optional<ObjectiveRange>> objective_ranges(const Store& store, const StoredSweep& sweep,
                                                            const std::vector<TimeRatios>& ratios) {
  const Objectives objectives(*sweep.objectives, sweep.workloads);
  std::vector<std::optional<ObjectiveRange>> out;
  each_point(store, sweep, [&](const StoredPoint& p, const OperatorResults& operators) {
    std::optional<ObjectiveRange>& range = out.emplace_back();
    const TimeRatios& of = ratios.at(out.size() - 1);
    if (!of) return;
    for (const double ratio : {1.0, of->first, of->second}) {
      OperatorResults off = operators;
      for (auto& o : off)
        if (o) o = with_time_times(std::move(*o), ratio);
      const auto values = objectives.to_minimise(objectives.judge(p.inputs, off));
      if (!values) return range.reset();
      if (!range) range = ObjectiveRange{*values, *values};
      for (std::size_t v = 0; v < values->size(); ++v) {
        range->low[v] = std::min(range->low[v], (*values)[v]);
        range->high[v] = std::max(range->high[v], (*values)[v]);
      }
    }
  });
  return out;
}

std::vector<Judgement> judgements_of(const Store& store, const StoredSweep& sweep) {
  std::vector<Judgement> out;
  std::vector<Merit> merits;
  const Objectives objectives(*sweep.objectives, sweep.workloads);
  each_point(store, sweep, [&](const StoredPoint& p, const OperatorResults& operators) {
    Judgement& j = out.emplace_back(objectives.judge(p.inputs, operators));
    if (!p.refused.empty()) j.lacks = p.refused;
    if (!p.pruned.empty() && !j.violation()) j.lacks = p.pruned;
    merits.push_back(p.is_base || !p.has_rows() ? no_merit() : objectives.merit_of(j));
  });
  for (const std::size_t i : front_of(merits)) out[i].on_front = true;
  return out;
}

}  // namespace tilescope::experiments
