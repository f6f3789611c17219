// SPDX-License-Identifier: Apache-2.0
#include "api/network/explain.h"

#include "api/network/operators.h"

namespace tilescope::api {

std::optional<std::vector<ExplainedOperator>> explain_network(const NetworkSource& source, const arch::ArchSpec& a,
                                                              const LoadChanged& load, int jobs,
                                                              const Progress& constructing, const Progress& explaining,
                                                              base::Diagnostics& diags) {
  const auto groups = operators_of_network(source, a, base::Fuse::kAll, Repeats::kCounted, jobs, constructing, diags);
  if (!groups) return std::nullopt;
  std::vector<NamedExpression> operators;
  for (const NetworkOperator& g : *groups) operators.push_back(g.named);
  return explain(operators, a, load, jobs, explaining, diags);
}

}  // namespace tilescope::api
