#pragma once
// Named lists of operators: `roller` (the 119 of ROLLER's operator benchmark, OSDI'22, Figure 10) and `examples` (one
// of every kind that the notation can say), `searches` (small ones, for searches that simulate hundreds of programs).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

struct SuiteOperator {
  std::string id;    // C0, D3, matmul
  std::string kind;  // conv, depthwise, elementwise, matmul, pool, reduction, ...
  Problem problem;
};

// Names of all suites.
std::vector<std::string_view> suite_names();

// The operators of a suite, positions in their Problems naming the suite's file, or an error with a suggestion.
std::optional<std::vector<SuiteOperator>> load_suite(std::string_view name, base::Dtype dtype,
                                                     base::Diagnostics& diags);

}  // namespace tilescope::expr
