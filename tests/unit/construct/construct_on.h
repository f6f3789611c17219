// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chips, operators of suites and the model as a cost model, for tests of construction.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "construct/cost_model.h"
#include "expr/suites.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tile/program_json.h"

namespace tilescope::tests {

// A program as it is stored.
inline std::string text_of(const tile::StageProgram& p, const arch::ArchSpec& a) {
  return base::to_json(tile::to_document(tile::program_of(a.name, p), a));
}

struct NamedStage {
  std::string id;
  expr::Expression expression;  // of one stage
};

// Every stage of every operator of a suite.
inline std::vector<NamedStage> stages_of_suite(std::string_view suite) {
  base::Diagnostics diags;
  const auto operators = expr::load_suite(suite, base::Dtype::kF32, diags);
  require_no_errors(diags);
  std::vector<NamedStage> out;
  for (const expr::SuiteOperator& o : operators.value()) {
    const auto e = expr::build(o.problem, diags);
    require_no_errors(diags);
    for (std::size_t s = 0; s < e.value().stages.size(); ++s) out.push_back({o.id, expr::single_stage(*e, s)});
  }
  return out;
}

// A chip and the model's opinion of programs on it.
struct ChipWithCostModel {
  explicit ChipWithCostModel(const std::string& name, const std::vector<arch::Override>& changes = {})
      : spec(chip(name, changes)), machine(model::make_machine(spec)) {}
  ChipWithCostModel(const ChipWithCostModel&) = delete;
  ChipWithCostModel& operator=(const ChipWithCostModel&) = delete;

  double time_of(const tile::StageProgram& p) const {
    const auto e = model::estimate_stage(p, machine);
    return e ? e->total_us : std::numeric_limits<double>::infinity();
  }
  construct::CostModel cost_model() const {
    return [this](const tile::RProgram& p) { return base::Microseconds{time_of(p.simt().front())}; };
  }

  arch::ArchSpec spec;
  model::Machine machine;
};

}  // namespace tilescope::tests
