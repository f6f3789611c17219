// SPDX-License-Identifier: Apache-2.0
#include "api/suites.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/operator_kind.h"
#include "api/workload.h"
#include "base/dtype.h"
#include "expr/infer.h"
#include "expr/suites.h"
#include "expr/work.h"

namespace tilescope::api {
namespace {

// An axis of several stages is named once, where it first stands.
std::string sizes_of(const expr::Expression& e) {
  std::vector<std::string> out;
  for (const expr::Stage& s : e.stages)
    for (const expr::Axis& a : s.axes) {
      std::string size = fmt::format("{}={}", a.name, a.size);
      if (std::find(out.begin(), out.end(), size) == out.end()) out.push_back(std::move(size));
    }
  return fmt::format("{}", fmt::join(out, " "));
}

}  // namespace

std::optional<SuiteSummary> summary_of_suite(const Workload& workload, base::Diagnostics& diags) {
  const auto suite = read_suite_of(workload, diags);
  if (!suite) return std::nullopt;
  const std::size_t errors = diags.errors().size();
  const auto operators = expressions_of(*suite, workload.small, diags);
  expr::check_inputs(suite->operators, diags);
  if (!operators || diags.errors().size() > errors) return std::nullopt;
  SuiteSummary out;
  for (const expr::SuiteVariable& v : suite->variables) out.variables.push_back({v.name, v.value});
  for (const NamedExpression& op : *operators)
    out.operators.push_back({op.id, op.kind, expr::dtypes_text(op.expression), op.count, sizes_of(op.expression),
                             expr::operations_of(op.expression), expr::text_of(op.expression)});
  return out;
}

std::vector<std::string_view> suite_names() { return expr::suite_names(); }

bool is_suite_file(std::string_view suite) { return expr::is_suite_file(suite); }

std::string suite_schema_path() { return expr::suite_schema_path(); }

}  // namespace tilescope::api
