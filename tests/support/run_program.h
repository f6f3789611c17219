#pragma once
// Values for an operator's tensors, and what its stages make of them by plain loops, to which a lowered program's
// results are compared.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "expr/reference.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::tests {

using NamedValues = std::map<std::string, expr::Values>;

// Small quarters: sums and products of many of them are exact in f32, whatever their order.
inline expr::Values any_values(std::int64_t elements, std::mt19937& random) {
  std::uniform_int_distribution<int> quarter(-4, 4);
  expr::Values out(static_cast<std::size_t>(elements));
  for (double& v : out) v = quarter(random) * 0.25;
  return out;
}

// Runs the stages of a program by plain loops: inputs that `values` lacks are drawn, outputs added.
inline void run_reference(const tile::RProgram& p, std::mt19937& random, NamedValues& values) {
  for (const tile::StageProgram& stage : p.stages) {
    const expr::Expression& e = stage.space->expression;
    std::vector<expr::Values> tensors;
    for (const expr::Tensor& t : e.tensors) {
      if (t.producer == expr::kInput && !values.contains(t.name)) values[t.name] = any_values(t.elements(), random);
      tensors.push_back(values[t.name]);
    }
    expr::evaluate(e, std::vector<double>(e.scalars.size(), 0.5), tensors);
    for (std::size_t t = 0; t < tensors.size(); ++t) values[e.tensors[t].name] = tensors[t];
  }
}

// The module's globals as a reader takes them: inputs filled.
inline std::vector<expr::Values> globals_of(const lower::Module& m, const NamedValues& values) {
  std::vector<expr::Values> out;
  for (const lower::Global& g : m.globals)
    out.push_back(g.role == lower::Role::kInput ? values.at(g.name) : expr::Values{});
  return out;
}

}  // namespace tilescope::tests
