// SPDX-License-Identifier: Apache-2.0
#include "api/workload.h"

#include <utility>

#include "api/operator_kind.h"
#include "base/option.h"
#include "expr/infer.h"
#include "expr/parse_args.h"
#include "expr/scale.h"
#include "expr/suites.h"

namespace tilescope::api {
namespace {

base::Position begin_of(const std::string& name, base::Diagnostics& diags) { return {diags.add_source(name), 1, 1}; }

// Points of a stage that plain loops run through in some milliseconds.
constexpr std::int64_t kSmallPoints = 1 << 17;

std::optional<expr::Expression> expression_of(const expr::Problem& problem, bool small, base::Diagnostics& diags) {
  const auto scaled = small ? expr::scaled_down(problem, kSmallPoints, diags) : problem;
  auto e = scaled ? expr::build(*scaled, diags) : std::nullopt;
  if (!e) return std::nullopt;
  for (const std::string& note : e->notes) diags.note(problem.at, note);
  return e;
}

std::optional<expr::Expression> single(const Workload& w, base::Diagnostics& diags) {
  const auto part = [&](const std::string& text, const char* option) {
    return OperatorText::Part{text, text.empty() ? base::Position{} : begin_of(base::option(option), diags)};
  };
  const OperatorText op{{w.op, begin_of(base::option("op"), diags)},
                        part(w.sizes, "size"),
                        part(w.shapes, "shape"),
                        part(w.dtype, "dtype")};
  return expression_of(op, w.small, diags);
}

}  // namespace

std::optional<expr::Expression> expression_of(const OperatorText& op, bool small, base::Diagnostics& diags) {
  expr::Problem problem;
  problem.text = op.op.text;
  problem.at = op.op.at;
  // What was not given is no mistake.
  std::optional<std::vector<expr::GivenSize>> sizes(std::in_place);
  std::optional<std::vector<expr::GivenShape>> shapes(std::in_place);
  if (!op.sizes.text.empty()) sizes = expr::parse_sizes(op.sizes.text, op.sizes.at, diags);
  if (!op.shapes.text.empty()) shapes = expr::parse_shapes(op.shapes.text, op.shapes.at, diags);
  std::optional<expr::GivenDtypes> dtypes(std::in_place);
  if (!op.dtypes.text.empty()) dtypes = expr::parse_dtypes(op.dtypes.text, op.dtypes.at, diags);
  if (!sizes || !shapes || !dtypes) {
    // The expression's own mistakes are worth knowing as well; what follows from missing sizes is not.
    expr::parse(problem.text, problem.at, diags);
    return std::nullopt;
  }
  problem.sizes = std::move(*sizes);
  problem.shapes = std::move(*shapes);
  problem.dtypes = std::move(*dtypes);
  return expression_of(problem, small, diags);
}

std::optional<std::vector<NamedExpression>> expressions_of(const expr::Suite& suite, bool small,
                                                           base::Diagnostics& diags) {
  std::vector<NamedExpression> out;
  for (const expr::SuiteOperator& op : suite.operators) {
    auto e = expression_of(op.problem, small, diags);
    if (!e) continue;
    std::string kind = op.kind.empty() ? kind_of_whole(*e) : op.kind;
    out.push_back({op.id, std::move(kind), std::move(*e), op.count, op.inputs});
  }
  if (out.size() < suite.operators.size()) return std::nullopt;
  return out;
}

namespace {

// Operators of a suite have tensors of their own names: one dtype is for all of them.
std::optional<expr::GivenDtypes> dtype_of_suite(const Workload& workload, base::Diagnostics& diags) {
  if (workload.dtype.empty()) return expr::GivenDtypes{};
  const base::Position at = begin_of(base::option("dtype"), diags);
  auto dtypes = expr::parse_dtypes(workload.dtype, at, diags);
  if (!dtypes || (dtypes->tensors.empty() && !dtypes->accumulate)) return dtypes;
  diags.error(at, "expected one dtype for all operators of a suite, whose file gives those of tensors");
  return std::nullopt;
}

}  // namespace

std::optional<expr::Suite> read_suite_of(const Workload& workload, base::Diagnostics& diags) {
  std::optional<std::vector<expr::GivenSize>> variables(std::in_place);
  if (!workload.sizes.empty())
    variables = expr::parse_sizes(workload.sizes, begin_of(base::option("size"), diags), diags);
  const auto dtype = dtype_of_suite(workload, diags);
  if (!variables || !dtype) return std::nullopt;
  return expr::read_suite(*workload.suite, dtype->arithmetic, *variables, diags);
}

std::optional<std::vector<NamedExpression>> expressions_of(const Workload& workload, base::Diagnostics& diags) {
  std::vector<NamedExpression> out;
  if (!workload.suite) {
    auto one = single(workload, diags);
    if (!one) return std::nullopt;
    out.push_back({"op", "op", std::move(*one), 1});
    return out;
  }
  const auto suite = read_suite_of(workload, diags);
  return suite ? expressions_of(*suite, workload.small, diags) : std::nullopt;
}

}  // namespace tilescope::api
