// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts a Workload to expressions with all ranges and shapes; for api/ and experiments/ only.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/compile.h"
#include "base/diagnostics.h"
#include "expr/expression.h"
#include "expr/suites.h"

namespace tilescope::api {

struct NamedExpression {
  std::string id;
  std::string kind;
  expr::Expression expression;
  std::int64_t count = 1;                     // how often it occurs
  std::vector<expr::GivenInput> inputs = {};  // those that are tensors of earlier operators
};

// One operator as texts, each with the place where it begins.
struct OperatorText {
  struct Part {
    std::string text;
    base::Position at;
  };
  Part op, sizes, shapes, dtypes;  // all but the first may be empty
};

// Parses an operator to an expression with all ranges and shapes, scaled down if `small` (expr/scale.h). Returns
// nullopt after errors.
std::optional<expr::Expression> expression_of(const OperatorText& op, bool small, base::Diagnostics& diags);

// The operators of a suite, or nullopt after errors in its file.
std::optional<std::vector<NamedExpression>> expressions_of(const expr::Suite& suite, bool small,
                                                           base::Diagnostics& diags);

// The suite of a workload that has one, with its variables' values; nullopt after errors in its file or at `--size`.
std::optional<expr::Suite> read_suite_of(const Workload& workload, base::Diagnostics& diags);

// The operators of a workload, or nullopt after errors in a suite's file, at `--suite`, `--op`, `--size` and `--shape`.
std::optional<std::vector<NamedExpression>> expressions_of(const Workload& workload, base::Diagnostics& diags);

}  // namespace tilescope::api
