// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/objectives.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "experiments/objectives/stored.h"
#include "experiments/report/detail/columns.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;

// The budget that a constraint draws: a result on its left, a number on its right; nullopt for another one.
std::optional<Map> budget_of(const std::string& text, const StoredObjectives& asked) {
  base::Diagnostics diags;
  const auto bound = parse_bound(text, {diags.add_source("constraints"), 1, 1}, result_names(asked.inputs), diags);
  const auto quantity = bound ? quantity_of(bound->left) : std::nullopt;
  if (!quantity || !bound->right.paths().empty()) return std::nullopt;
  const QuantityRow& row = row_of(*quantity);
  return Map{{"text", text},
             {"name", row.name},
             {"unit", row.unit},
             {"bound", exact(row.shown * bound->right.of({}))},
             {"at_most", bound->at_most}};
}

}  // namespace

bool ReportedObjectives::have(std::string_view name) const {
  return std::any_of(objectives.begin(), objectives.end(), [&](const base::Value& o) {
    const auto* text = o.find("name")->get_if<std::string>();
    return text != nullptr && *text == name;
  });
}

ReportedObjectives objectives_of(const Store& store, const StoredSweep& sweep) {
  ReportedObjectives out;
  if (!sweep.objectives) return out;
  const std::vector<Judgement> judgements = judgements_of(store, sweep);
  for (std::size_t o = 0; o < sweep.objectives->objectives.size(); ++o) {
    const StoredObjective& objective = sweep.objectives->objectives[o];
    const ShownObjective s = shown(objective);
    List values;
    for (const Judgement& j : judgements) {
      const auto value = o < j.values.size() ? j.values[o] : std::nullopt;
      values.push_back(figure(value ? std::optional(*value * s.factor) : std::nullopt));
    }
    out.objectives.emplace_back(Map{{"name", s.name},
                                    {"unit", s.unit},
                                    {"values", std::move(values)},
                                    {"better", objective.most ? "more" : "less"}});
  }
  for (const std::string& text : sweep.objectives->constraints)
    if (auto budget = budget_of(text, *sweep.objectives)) out.constraints.emplace_back(std::move(*budget));
  if (!sweep.objectives->constraints.empty())
    for (const Judgement& j : judgements) out.violation.push_back(figure(j.violation()));
  return out;
}

}  // namespace tilescope::experiments
