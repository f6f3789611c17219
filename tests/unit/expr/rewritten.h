// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of expr/rewrite.h compare: values of two expressions by the names of tensors, and an expression with
// what is made of its text.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "expr/detail/print.h"
#include "expr/infer.h"
#include "expr/reference.h"

namespace tilescope::tests {

using NamedValues = std::map<std::string, expr::Values>;

// All tensors of an expression whose inputs and scalars depend on their names alone; inputs lie in -1..1.
inline NamedValues values_of(const expr::Expression& e) {
  const auto generator = [](const std::string& name) {
    std::uint32_t seed = 1;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    return std::mt19937(seed);
  };
  std::uniform_real_distribution<double> range(-1, 1);
  std::vector<double> scalars;
  for (const std::string& name : e.scalars) {
    auto random = generator(name);
    scalars.push_back(range(random));
  }
  std::vector<expr::Values> tensors(e.tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (e.tensors[t].producer != expr::kInput) continue;
    auto random = generator(e.tensors[t].name);
    for (std::int64_t i = 0; i < e.tensors[t].elements(); ++i)
      tensors[t].push_back(expr::round_to(e.tensors[t].dtype, range(random)));
  }
  expr::evaluate(e, scalars, tensors);
  NamedValues out;
  for (std::size_t t = 0; t < tensors.size(); ++t) out[e.tensors[t].name] = std::move(tensors[t]);
  return out;
}

// The greatest difference of tensors that both have, relative to the tensor's greatest value or 1; infinite where only
// one is not a number.
inline double difference(const NamedValues& a, const NamedValues& b) {
  double out = 0;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end()) continue;
    if (values.size() != other->second.size()) return INFINITY;
    double greatest = 1;
    for (const double v : values) greatest = std::max(greatest, std::fabs(v));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i], y = other->second[i];
      if (std::isnan(x) != std::isnan(y)) return INFINITY;
      if (x != y && !std::isnan(x)) out = std::max(out, std::fabs(x - y) / greatest);
    }
  }
  return out;
}

// What tells two expressions apart, as text: numbers of axes, reads and tensors, ranges, shapes and notes.
inline std::string dump(const expr::Expression& e) {
  std::string out = fmt::format("{} {}", base::name_of(e.dtype), base::name_of(e.accumulate));
  for (const expr::Tensor& t : e.tensors)
    out += fmt::format("\n{} {} {} {}", t.name, fmt::join(t.shape, ","), base::name_of(t.dtype), t.producer);
  out += fmt::format("\nscalars {}", fmt::join(e.scalars, " "));
  for (const expr::Stage& s : e.stages) {
    out += fmt::format("\n{} | {} {}", s.text, s.output, expr::spelling(s.reducer));
    for (const expr::Axis& a : s.axes) out += fmt::format(" {}:{}:{}", a.name, a.size, a.reduction);
    for (const expr::Read& r : s.reads) {
      out += fmt::format("\n  read {}", r.tensor);
      for (const expr::Coordinate& c : r.at) {
        out += fmt::format(" [{} /{} %{}", c.offset, c.divisor, c.modulus);
        for (const expr::Term& t : c.terms) out += fmt::format(" {}*{}", t.coefficient, t.axis);
        out += "]";
      }
    }
    for (const expr::Node& n : s.body)
      out +=
          fmt::format("\n  node {} {} {} {} {} {}", int(n.kind), n.number, n.index, int(n.function), n.left, n.right);
  }
  for (const std::string& n : e.notes) out += "\nnote " + n;
  return out;
}

// What the parser and inference make of an expression's text, given its ranges and shapes. An axis has one range in all
// stages.
inline std::string dump_of_text(const expr::Expression& e) {
  base::Diagnostics diags;
  expr::Problem problem;
  problem.text = expr::to_text(e);
  problem.at = {diags.add_source("text"), 1, 1};
  problem.dtypes.arithmetic = e.dtype;
  problem.dtypes.accumulate = e.accumulate;
  std::map<std::string, std::int64_t> sizes;
  for (const expr::Stage& s : e.stages)
    for (const expr::Axis& a : s.axes) sizes[a.name] = a.size;
  for (const auto& [axis, size] : sizes) problem.sizes.push_back({axis, size, problem.at});
  for (const expr::Tensor& t : e.tensors) problem.shapes.push_back({t.name, t.shape, problem.at});
  const auto again = expr::build(problem, diags);
  return again ? dump(*again) : fmt::format("{}: {}", problem.text, fmt::join(diags.sentences(), "; "));
}

}  // namespace tilescope::tests
