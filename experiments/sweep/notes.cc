// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/notes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/instructions.h"

namespace tilescope::experiments {

void note_escalation(const Store& store, const SweepState& state, const SweepSpec& spec, base::Diagnostics& diags) {
  if (!state.multi_fidelity || state.sweep.multi_fidelity->chosen == StoredMultiFidelity::Stage::kNone) return;
  const std::size_t asked = spec.multi_fidelity->asked.validation_sample,
                    drawn = count_of(*state.multi_fidelity, Chosen::kValidation);
  if (drawn < asked)
    diags.note(
        spec.multi_fidelity->validation_sample_at,
        fmt::format("validation_sample: {} requested, and {} chips lie beyond the front; all of them are simulated",
                    asked, drawn));
  std::map<std::pair<std::size_t, std::string>, std::size_t> failed;
  store.each_row(state.sweep, [&](const StoredPoint&, const StoredWorkload& w, const StoredRow* r) {
    if (r == nullptr || r->simulation_error.empty()) return;
    const auto of_name = [&](const SweepWorkload& s) { return s.name == w.name; };
    const auto found = std::find_if(spec.workloads.begin(), spec.workloads.end(), of_name);
    ++failed[{static_cast<std::size_t>(found - spec.workloads.begin()), r->simulation_error}];
  });
  for (const auto& [what, points] : failed)
    diags.note(spec.workloads[what.first].at, fmt::format("{} is not simulated at {} points: {}",
                                                          spec.workloads[what.first].name, points, what.second));
}

void note_instructions(const SweepSpec& spec, const SweepPlan& plan, base::Diagnostics& diags) {
  std::vector<const expr::Expression*> operators;
  for (const SweepWorkload& w : spec.workloads) operators.push_back(&w.expression);
  for (const auto& chip : plan.chips)
    if (chip != nullptr) api::note_instructions(operators, *chip, chip->name, diags);
}

void note_small_plan(const SweepSpec& spec, const SweepPlan& plan, base::Diagnostics& diags) {
  constexpr std::size_t kWorthPlan = 100'000;  // operators at points: some ten minutes of two cores
  const std::size_t points = plan.points.size() - spec.bases.size(), all = points * spec.workloads.size();
  const bool chosen = spec.choice.by == PointChoice::By::kRefine || spec.choice.by == PointChoice::By::kNsga2;
  if (!chosen || all >= kWorthPlan) return;
  diags.note(spec.choice.at, fmt::format("plan: the grid has {} points of {} operators; a grid of fewer than {} "
                                         "operators at points is judged as a whole in minutes, and misses nothing",
                                         points, spec.workloads.size(), kWorthPlan));
}

}  // namespace tilescope::experiments
