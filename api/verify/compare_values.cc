// SPDX-License-Identifier: Apache-2.0
#include "api/verify/compare_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "expr/parse.h"

namespace tilescope::api {
namespace {

bool sums(const expr::Stage& s) { return s.reducer == expr::Reducer::kSum || s.reducer == expr::Reducer::kMean; }

// A sum of what is not whole, in integers: every step rounds.
bool rounds_every_step(const tile::TileSpace& s) {
  const expr::Expression& e = s.expression;
  const expr::Stage& stage = s.stage();
  return sums(stage) && base::is_integer(e.accumulate) && expr::numbers_of(e, stage) == expr::Numbers::kReal;
}

// Sums and products of the drawn inputs are exact in any order; quotients and functions are not.
bool exact(const tile::TileSpace& s) {
  const bool real = expr::numbers_of(s.expression, s.stage()) == expr::Numbers::kReal;
  const auto rounds = [real](const expr::Node& n) {
    // Sums of multiples of a sixty-fourth are exact in f32, as those of the drawn quarters are.
    if (n.kind == expr::NodeKind::kNumber)
      return real && std::isfinite(n.number) &&
             (std::trunc(n.number * 64) != n.number * 64 || std::abs(n.number) > 1024);
    return n.kind == expr::NodeKind::kDivide || (n.kind == expr::NodeKind::kCall && expr::is_approximated(n.function));
  };
  const expr::Stage& stage = s.stage();
  const base::Dtype sum = s.expression.accumulate;
  const bool wide = base::is_integer(sum) || sum == base::Dtype::kF32 || sum == base::Dtype::kF64;
  const bool narrow = !wide;  // long sums of quarters round
  return !narrow && !rounds_every_step(s) && stage.reducer != expr::Reducer::kMean &&
         stage.reducer != expr::Reducer::kProduct && std::none_of(stage.body.begin(), stage.body.end(), rounds);
}

constexpr double kOperationsAround = 32;
// Of sums that are carried on from step to step: at most every step also multiplies by a rounded factor.
constexpr double kCarriedOperations = 3;

// Half a unit in the last place of the floats of a dtype, at most, of a value of one.
double half_unit(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kTf32:
    case base::Dtype::kF16:
      return 0x1p-11;
    case base::Dtype::kBf16:
      return 0x1p-8;
    case base::Dtype::kF8E4M3:
    case base::Dtype::kF8E4M3Fnuz:
      return 0x1p-4;
    case base::Dtype::kF8E5M2:
    case base::Dtype::kF8E5M2Fnuz:
      return 0x1p-3;
    case base::Dtype::kF64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

// Half a unit in the last place for every step of the reduction and for a few operations around it (Higham 2002,
// section 4.2).
double allowed_ratio(const tile::TileSpace& s) {
  const expr::Expression& e = s.expression;
  const double operations = static_cast<double>(s.reduced) + kOperationsAround;
  // As many half units of 8-bit floats would allow everything; their sums are wider.
  const base::Dtype steps = base::is_float8(e.dtype) ? e.accumulate : e.dtype;
  return operations * half_unit(steps);
}

// A sum of 8-bit floats that is off may be stored as the other one of the two values that it is between, and so may
// what a later stage makes of it.
double allowed_neighbours(const tile::RProgram& p) {
  double ratio = 0;
  for (std::size_t i = 0; i < p.stages(); ++i)
    if (const base::Dtype dtype = p.space(i).expression.dtype; base::is_float8(dtype))
      ratio = std::max(ratio, 2 * half_unit(dtype));
  return p.stages() > 1 ? 2 * ratio : ratio;
}

// A real that is rounded to a whole number becomes another one where it is off by the least. A sum that is rounded at
// every step is off by half a unit at each; a mean divides that by their number again.
double own_units(const tile::TileSpace& s) {
  if (exact(s)) return 0;
  if (!rounds_every_step(s)) return 1;
  return 1 + (s.stage().reducer == expr::Reducer::kMean ? 0.5 : 0.5 * static_cast<double>(s.reduced));
}

// Units of a stage's result for one unit of what it reads from the stage before, times the greatest input that is
// drawn.
double gain(const tile::TileSpace& s) {
  constexpr double kGreatestInput = 4;
  return s.stage().reducer == expr::Reducer::kSum ? kGreatestInput * static_cast<double>(s.reduced) : kGreatestInput;
}

// The greatest of the values that are finite.
double scale_of(const expr::Values& values) {
  double scale = 0;
  for (const double v : values)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  return scale;
}

// What errors of an output are counted in.
double unit_of(base::Dtype dtype, double scale) {
  if (base::is_integer(dtype)) return std::max(scale * kOperationsAround * 0x1p-24, 1.0);
  return std::max(scale, std::numeric_limits<double>::min());
}

// Whether the stage multiplies floats. A product of quarters is of sixteenths, and sums of those are exact; a product
// of such sums has more digits than a float.
bool multiplies(const tile::TileSpace& s) {
  const std::vector<expr::Node>& body = s.stage().body;
  return !base::is_integer(s.expression.dtype) &&
         std::any_of(body.begin(), body.end(), [](const expr::Node& n) { return n.kind == expr::NodeKind::kMultiply; });
}

}  // namespace

ValueErrors allowed_errors(const tile::RProgram& p) {
  bool all_exact = true;
  int products = 0;
  for (std::size_t i = 0; i < p.stages(); ++i) {
    products += multiplies(p.space(i)) ? 1 : 0;
    all_exact = all_exact && exact(p.space(i)) && products < 2;
  }
  if (all_exact) return {};
  ValueErrors out{allowed_neighbours(p), 0};
  const bool carried =
      std::any_of(p.edges.begin(), p.edges.end(), [](const tile::Edge& e) { return !e.carried.empty(); });
  for (std::size_t i = 0; i < p.stages(); ++i) {
    const tile::TileSpace& s = p.space(i);
    if (base::is_integer(s.expression.dtype))
      out.units = own_units(s) + gain(s) * out.units;
    else
      out.ratio += allowed_ratio(s) * (carried ? kCarriedOperations : 1);
  }
  return out;
}

double tolerance_of(base::Dtype dtype, const ValueErrors& allowed, const expr::Values& expected) {
  return (base::is_integer(dtype) ? allowed.units : allowed.ratio) * unit_of(dtype, scale_of(expected));
}

ValueErrors errors_of(base::Dtype dtype, const expr::Values& values, const expr::Values& expected) {
  double worst = values.size() == expected.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(values.size(), expected.size()); ++i) {
    if (values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]))) continue;
    const bool finite = std::isfinite(values[i]) && std::isfinite(expected[i]);
    worst = std::max(worst, finite ? std::abs(values[i] - expected[i]) : HUGE_VAL);
  }
  if (worst == 0) return {};
  const double errors = worst / unit_of(dtype, scale_of(expected));
  return base::is_integer(dtype) ? ValueErrors{0, errors} : ValueErrors{errors, 0};
}

ValueErrors errors_of_outputs(const tile::RProgram& p, const lower::NamedValues& outputs,
                              const lower::NamedValues& expected) {
  ValueErrors out;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    const expr::Tensor& t = e.tensors[static_cast<std::size_t>(e.stages.front().output)];
    if (const auto found = outputs.find(t.name); found != outputs.end())
      out = worse(out, errors_of(t.dtype, found->second, expected.at(t.name)));
  }
  return out;
}

ValueErrors errors_of_elements(const tile::RProgram& p, const lower::NamedValues& outputs,
                               const lower::NamedValues& inputs, const targets::Elements& elements) {
  ValueErrors out;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    const expr::Tensor& output = e.tensors[static_cast<std::size_t>(e.stages.front().output)];
    std::vector<const expr::Values*> tensors;
    for (const expr::Tensor& t : e.tensors) {
      const auto computed = outputs.find(t.name);
      tensors.push_back(computed != outputs.end() ? &computed->second : &inputs.at(t.name));
    }
    const std::function<double(int, std::int64_t)> value_of = [&](int tensor, std::int64_t element) {
      return (*tensors[static_cast<std::size_t>(tensor)])[static_cast<std::size_t>(element)];
    };
    const std::vector<double> scalars(e.scalars.size(), lower::kScalar);
    expr::Values values, expected;
    for (const std::int64_t element : elements.at(output.name)) {
      values.push_back(outputs.at(output.name)[static_cast<std::size_t>(element)]);
      expected.push_back(expr::evaluate_element(e, 0, element, scalars, value_of));
    }
    out = worse(out, errors_of(output.dtype, values, expected));
  }
  return out;
}

}  // namespace tilescope::api
