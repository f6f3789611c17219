// SPDX-License-Identifier: Apache-2.0
// Which reductions can be carried on, by what they are rescaled, and a refusal for each part of the condition.

#include "expr/online_reduction.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/infer.h"
#include "expr/reference.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

using testing::IsEmpty;

// All stages that have the axis n in one loop, and by what each is rescaled: the extremum, where, the coefficient; or
// why they cannot be carried on.
std::string carried(std::string_view op, base::Dtype dtype = base::Dtype::kF32) {
  std::vector<std::string> sizes;
  for (const auto& [axis, size] : {std::pair('m', 4), {'n', 6}, {'v', 3}, {'d', 2}})
    for (const char before : {'[', ',', '*'})
      if (op.find(std::string{before, axis}) != std::string_view::npos) {
        sizes.push_back(fmt::format("{}={}", axis, size));
        break;
      }
  const tests::Built b = tests::build(op, fmt::format("{}", fmt::join(sizes, ",")), {}, dtype);
  EXPECT_THAT(b.errors, IsEmpty()) << op;
  const Expression e = b.expression.value_or(Expression{});
  std::vector<Expression> alone;
  for (std::size_t s = 0; s < e.stages.size(); ++s) alone.push_back(single_stage(e, s));
  std::vector<LoopStage> loop;
  for (const Expression& one : alone)
    for (std::size_t a = 0; a < one.stages[0].axes.size(); ++a)
      if (one.stages[0].axes[a].name == "n") loop.push_back({&one, static_cast<int>(a)});
  const auto name = [](const LoopStage& s) {
    return s.expression->tensors[static_cast<std::size_t>(s.stage().output)].name;
  };
  std::string refusal;
  const auto rescalings = carried_on(loop, refusal);
  EXPECT_EQ(rescalings.has_value(), refusal.empty());
  if (!rescalings) return refusal;
  std::vector<std::string> out;
  for (std::size_t s = 0; s < loop.size(); ++s) {
    if (const auto& r = (*rescalings)[s]) {
      std::vector<std::string> at;
      for (const Coordinate& c : r->at) {
        std::string text;
        for (const Term& t : c.terms)
          text += fmt::format("{}{}", t.coefficient == 1 ? "" : fmt::format("{}*", t.coefficient),
                              loop[s].stage().axes[static_cast<std::size_t>(t.axis)].name);
        at.push_back(c.offset == 0 ? text : fmt::format("{}{:+}", text, c.offset));
      }
      out.push_back(
          fmt::format("{} by {}[{}] * {}", name(loop[s]), name(loop[r->extremum]), fmt::join(at, ","), r->coefficient));
    }
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

// The stages of a softmax, with `e` as its exponentials and `sums` behind them.
std::string softmax(std::string_view e, std::string_view sums = "L[m] +=! E[m,n]") {
  return carried(fmt::format("S[m,n] +=! Q[m,d] * K[n,d]; M[m] max=! S[m,n]; E[m,n] = {}; {}", e, sums));
}

TEST(CarriedOn, SumsAreRescaledByTheRunningMaximum) {
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])"), "L by M[m] * -1");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n]; O[m,v] +=! E[m,n] * V[n,v]"),
            "L by M[m] * -1; O by M[m] * -1");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n] / 3; A[m] mean=! V[n,0] * relu(E[m,n]) + abs(E[m,n])"),
            "L by M[m] * -1; A by M[m] * -1");
  EXPECT_EQ(softmax("exp(-0.5 * M[m] + S[m,n] / 2) * S[m,n]"), "L by M[m] * -0.5");
  EXPECT_EQ(softmax("1 / exp((M[m] - S[m,n]) * 0.25)"), "L by M[m] * -0.25");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m] - M[m])"), "L by M[m] * -2");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) * exp(S[m,n] - M[m])"), "L by M[m] * -2");
  EXPECT_EQ(softmax("S[m,n] - M[m]", "F[m,n] = exp(E[m,n]); L[m] +=! F[m,n]"), "L by M[m] * -1");
}

TEST(CarriedOn, AMinimumRunsTheOtherWay) {
  EXPECT_EQ(carried("M[m] min=! S[m,n]; E[m,n] = exp(M[m] - S[m,n]); L[m] +=! E[m,n]"), "L by M[m] * 1");
  EXPECT_EQ(carried("M[m] min=! S[m,n]; E[m,n] = exp(S[m,n] - M[m]); L[m] +=! E[m,n]"),
            "'L' would be multiplied by more than one as 'M' runs");
  EXPECT_EQ(softmax("exp(S[m,n] + M[m])"), "'L' would be multiplied by more than one as 'M' runs");
}

TEST(CarriedOn, WhatHangsOnNoMaximumStaysAsItIs) {
  EXPECT_EQ(carried("H[m,n] +=! X[m,d] * W[n,d]; R[m,n] = relu(H[m,n]); O[m,v] +=! R[m,n] * V[n,v]"), "");
  EXPECT_EQ(carried("S[m,n] = X[m,n] * 2; M[m] max=! S[m,n]; A[m] mean=! S[m,n]; B[m] min=! abs(S[m,n])"), "");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) / exp(S[m,n] - M[m])"), "") << "the maximum leaves the quotient";
  EXPECT_EQ(softmax("S[m,n] + M[m] - M[m]"), "");
}

TEST(CarriedOn, ElementsOfTheMaximumAreThoseOfTheReader) {
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[2*m+1,n]"), "L by M[2*m+1] * -1");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "F[v,n] = E[v+1,n]; L[d,v] +=! F[v,n] * V[n,d]"), "L by M[v+1] * -1");
}

TEST(CarriedOnErrors, OfWhatIsNotLinearInTheExponential) {
  const std::string more = "'E' hangs on 'M', which runs, by more than a factor exp(c*M)";
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) + 1"), more);
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) - S[m,n]"), more);
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) * M[m]"), more);
  EXPECT_EQ(softmax("exp(S[m,n] * M[m])"), more);
  EXPECT_EQ(softmax("exp(S[m,n] / M[m])"), more);
  EXPECT_EQ(softmax("sqrt(exp(S[m,n] - M[m]))"), more);
  EXPECT_EQ(softmax("sigmoid(S[m,n] - M[m])"), more);
  EXPECT_EQ(softmax("exp(S[m,n] - M[m]) + exp(S[m,n] - 2 * M[m])"), more);
  EXPECT_EQ(softmax("max(S[m,n], M[m])"), more);
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n] * E[m,n] + E[m,n]"),
            "'L' hangs on 'M', which runs, by more than a factor exp(c*M)");
}

TEST(CarriedOnErrors, OfReductions) {
  EXPECT_EQ(softmax("S[m,n] - M[m]"), "'L' reduces what 'M' is part of, and not as a factor of a sum");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] max=! E[m,n]"),
            "'L' reduces what 'M' is part of, and not as a factor of a sum");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[v] +=! E[m,n] * V[n,v]"), "'L' sums over several elements of 'M'");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n] * E[m+1,n]"),
            "'L' hangs on 'M', which runs, by more than a factor exp(c*M)");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n]; P[m,n] = E[m,n] / L[m]"),
            "'L' is read before it is whole, and it is no maximum or minimum");
  EXPECT_EQ(softmax("exp(S[m,n] - M[m])", "L[m] +=! E[m,n]; A[m] +=! E[m,n] * E[m,n]"),
            "'M' is multiplied by different numbers in exponents");
}

TEST(CarriedOnErrors, OfEdgesAndIntegers) {
  EXPECT_EQ(softmax("exp(S[m,n] - M[m+1])"), "'M' is read outside at an edge");
  EXPECT_EQ(carried("M[m] max=! S[m,n]; E[m,n] = S[m,n] - M[m]; L[m] +=! E[m,n]", base::Dtype::kI32),
            "'M' is of integers, which have no infinity");
}

TEST(FurthestFinite, IsAValueOfItsDtype) {
  using base::Dtype;
  for (const Dtype d : {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBf16, Dtype::kTf32, Dtype::kF8E4M3,
                        Dtype::kF8E5M2, Dtype::kF8E4M3Fnuz, Dtype::kF8E5M2Fnuz})
    for (const Reducer r : {Reducer::kMax, Reducer::kMin}) {
      const double v = furthest_finite(r, d);
      EXPECT_TRUE(std::isfinite(v));
      EXPECT_EQ(round_to(d, v), v) << base::name_of(d);
      EXPECT_FALSE(std::isfinite(round_to(d, v * 2)) && round_to(d, v * 2) != v) << base::name_of(d);
      EXPECT_EQ(v < 0, r == Reducer::kMax);
    }
}

}  // namespace
}  // namespace tilescope::expr
