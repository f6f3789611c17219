#include "experiments/workload.h"

#include "expr/infer.h"
#include "expr/parse_args.h"
#include "expr/scale.h"
#include "expr/suites.h"

namespace tilescope::experiments {
namespace {

base::Position begin_of(const std::string& option, base::Diagnostics& diags) {
  return {diags.add_source(option), 1, 1};
}

// Points of a stage that plain loops run through in some milliseconds.
constexpr std::int64_t kSmallPoints = 1 << 17;

std::optional<NamedExpression> expression_of(const std::string& id, const std::string& kind, bool small,
                                             const expr::Problem& problem, base::Diagnostics& diags) {
  const auto scaled = small ? expr::scaled_down(problem, kSmallPoints, diags) : problem;
  auto e = scaled ? expr::build(*scaled, diags) : std::nullopt;
  if (!e) return std::nullopt;
  for (const std::string& note : e->notes) diags.note(problem.at, note);
  return NamedExpression{id, kind, std::move(*e)};
}

std::optional<NamedExpression> single(const Workload& w, base::Diagnostics& diags) {
  expr::Problem problem;
  problem.text = w.op;
  problem.at = begin_of("--op", diags);
  problem.dtype = w.dtype;
  // An option that was not given is no mistake.
  std::optional<std::vector<expr::GivenSize>> sizes(std::in_place);
  std::optional<std::vector<expr::GivenShape>> shapes(std::in_place);
  if (!w.sizes.empty()) sizes = expr::parse_sizes(w.sizes, begin_of("--size", diags), diags);
  if (!w.shapes.empty()) shapes = expr::parse_shapes(w.shapes, begin_of("--shape", diags), diags);
  if (!sizes || !shapes) {
    // The expression's own mistakes are worth knowing as well; what follows from missing sizes is not.
    expr::parse(problem.text, problem.at, diags);
    return std::nullopt;
  }
  problem.sizes = std::move(*sizes);
  problem.shapes = std::move(*shapes);
  return expression_of("op", "op", w.small, problem, diags);
}

}  // namespace

std::optional<std::vector<NamedExpression>> expressions_of(const Workload& workload, base::Diagnostics& diags) {
  std::vector<NamedExpression> out;
  if (!workload.suite) {
    auto one = single(workload, diags);
    if (!one) return std::nullopt;
    out.push_back(std::move(*one));
    return out;
  }
  const auto suite = expr::load_suite(*workload.suite, workload.dtype, diags);
  if (!suite) return std::nullopt;
  for (const expr::SuiteOperator& op : *suite)
    if (auto e = expression_of(op.id, op.kind, workload.small, op.problem, diags)) out.push_back(std::move(*e));
  if (!diags.ok()) return std::nullopt;
  return out;
}

}  // namespace tilescope::experiments
