// SPDX-License-Identifier: Apache-2.0
#pragma once
// What constructions found for parts of expressions. A network has one stage, and one run of stages, in many
// expressions, under other names.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "construct/known_runs.h"
#include "expr/expression.h"
#include "targets/constructed_stage.h"

namespace tilescope::api {

// Programs of single stages. Any number of threads may ask and add.
class KnownStages {
 public:
  // What was added for a stage that differs in names alone, with the names of this one and without statistics, for no
  // search was made; nullopt where nothing was.
  std::optional<targets::ConstructedStage> find(const expr::Expression& stage) const;
  // A stage without programs is left out, for the reason has its names.
  void add(const expr::Expression& stage, const targets::ConstructedStage& found);

 private:
  mutable std::mutex changing_;
  std::map<std::string, targets::ConstructedStage> known_;  // by the text of the numbered stage
};

// Of one chip, search and set of restrictions.
struct KnownParts {
  KnownStages stages;
  construct::KnownRuns runs;
};

}  // namespace tilescope::api
