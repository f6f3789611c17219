#pragma once
// From a Workload to expressions with all ranges and shapes; for the .cc files of experiments/ alone.

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/compile.h"
#include "expr/expression.h"

namespace tilescope::experiments {

struct NamedExpression {
  std::string id;
  std::string kind;
  expr::Expression expression;
};

// The operators of a workload, or nothing after errors at `--suite`, `--op`, `--size` and `--shape`.
std::optional<std::vector<NamedExpression>> expressions_of(const Workload& workload, base::Diagnostics& diags);

}  // namespace tilescope::experiments
