// SPDX-License-Identifier: Apache-2.0
// Which terms of a stage count, as half-spaces of its axes.

#include "expr/live_terms.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "expr/infer.h"
#include "expr/reference.h"
#include "expr/stages.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

// By stage "tensor: half-space = value, ..", stages of which nothing is known left out.
std::string live(std::string_view op, std::string_view sizes, base::Dtype dtype = base::Dtype::kF32) {
  const tests::Built b = tests::build(op, sizes, {}, dtype);
  for (const std::string& e : b.errors) ADD_FAILURE() << e;
  const Expression e = b.expression.value_or(Expression{});
  std::vector<Expression> alone;
  for (std::size_t s = 0; s < e.stages.size(); ++s) alone.push_back(single_stage(e, s));
  std::vector<const Expression*> stages;
  for (const Expression& one : alone) stages.push_back(&one);
  const auto all = live_terms(stages);
  std::vector<std::string> out;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const Stage& stage = alone[s].stages.front();
    std::vector<std::string> of_stage;
    for (const LiveTerms& l : all[s]) {
      std::string sum = fmt::format("{}", l.inside.offset);
      for (const Term& t : l.inside.terms)
        sum += fmt::format("{:+}{}", t.coefficient, stage.axes[static_cast<std::size_t>(t.axis)].name);
      of_stage.push_back(fmt::format("{} = {}", sum, l.value));
    }
    if (!of_stage.empty())
      out.push_back(fmt::format("{}: {}", alone[s].tensors[static_cast<std::size_t>(stage.output)].name,
                                fmt::join(of_stage, ", ")));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

constexpr const char* kAttention =
    "S[i,j] +=! Q[i,d] * K[j,d]; T[i,j] = select(j <= i, S[i,j] * 0.5, -inf); M[i] max=! T[i,j]; "
    "E[i,j] = exp(T[i,j] - M[i]); L[i] +=! E[i,j]; U[i,v] +=! E[i,j] * V[j,v]; O[i,v] = U[i,v] / L[i]";

TEST(LiveTerms, FollowThroughASoftmax) {
  EXPECT_EQ(live(kAttention, "i=8,j=8,d=4,v=4"),
            "T: 0+1i-1j = -inf; M: 0+1i-1j = -inf; E: 0+1i-1j = 0; L: 0+1i-1j = 0; U: 0+1i-1j = 0");
}

TEST(LiveTerms, OfConditionsOfAllKinds) {
  const auto sum = [](const std::string& body) { return live("O[i] +=! " + body, "i=8,j=8"); };
  EXPECT_EQ(sum("select(j <= i + 3, X[i,j], 0)"), "O: 3+1i-1j = 0");
  EXPECT_EQ(sum("select(j < i, X[i,j], 0)"), "O: -1+1i-1j = 0");
  EXPECT_EQ(sum("select(j > i, 0, X[i,j])"), "O: 0+1i-1j = 0");
  EXPECT_EQ(sum("select(!(j > i), X[i,j], 0)"), "O: 0+1i-1j = 0");
  EXPECT_EQ(sum("X[i,j] * (2 * j <= i)"), "O: 0+1i-2j = 0");
  EXPECT_EQ(sum("select(j <= i && i - j < 3, X[i,j], 0)"), "O: 0+1i-1j = 0, 2-1i+1j = 0");
  EXPECT_EQ(sum("select(j <= i && X[i,j] > 0, X[i,j], 0)"), "O: 0+1i-1j = 0");
  EXPECT_EQ(sum("select(j > i || i - j > 2, 0, X[i,j])"), "O: 0+1i-1j = 0, 2-1i+1j = 0");
  EXPECT_EQ(sum("select(j < 5, X[i,j], 0) / Y[i]"), "O: 4-1j = 0");
  EXPECT_EQ(sum("select(j <= i, X[i,j], 0) + select(j <= i + 2, Y[i,j], 0)"), "O: 2+1i-1j = 0");
}

TEST(LiveTerms, NothingIsSaidOfWhatIsNotSure) {
  const auto sum = [](const std::string& body) { return live("O[i] +=! " + body, "i=8,j=8"); };
  EXPECT_EQ(sum("select(j <= i || X[i,j] > 0, X[i,j], 0)"), "") << "the other condition may hold";
  EXPECT_EQ(sum("select(j <= i, X[i,j], 1)"), "") << "1 is a term";
  EXPECT_EQ(sum("select(j == i, X[i,j], 0)"), "") << "no half-space";
  EXPECT_EQ(sum("select((i - j) % 2 <= 0, X[i,j], 0)"), "") << "not affine";
  EXPECT_EQ(sum("select(j <= i, X[i,j], 0) + Y[j]"), "") << "another term stays";
  EXPECT_EQ(live("O[i] max=! select(j <= i, X[i,j], 0)", "i=8,j=8"), "") << "0 may be the greatest";
  EXPECT_EQ(live("O[i] max=! select(j <= i, X[i,j], -inf) * Y[j]", "i=8,j=8"), "") << "Y may be negative";
  EXPECT_EQ(live("T[i,j] = select(j <= i, X[i,j], -1); O[i] max=! T[i,j]", "i=8,j=8"), "T: 0+1i-1j = -1");
}

TEST(LiveTerms, ReadsOutsideAMaskedTensorAreZero) {
  EXPECT_EQ(live("T[i,j] = select(j <= i, X[i,j], -inf); O[i] max=! T[i,j+1]", "i=8,j=7", base::Dtype::kF32).find('O'),
            std::string::npos)
      << "the tensor has seven columns";
  EXPECT_EQ(live("T[i,j] = select(j <= i, X[i,j], 0); O[i] +=! T[i+1,k+2]", "i=7,j=8,k=6").find('O'),
            std::string::npos);
}

TEST(LiveTerms, ATensorThatDoesNotHoldTheValueSaysNothing) {
  EXPECT_EQ(live("T[i,j] = select(j <= i, X[i,j], -inf); O[i] max=! T[i,j]", "i=8,j=8", base::Dtype::kF8E4M3),
            "T: 0+1i-1j = -inf")
      << "-inf becomes -448";
}

// The share of a tensor's elements that change the last result, found by changing each.
double share_that_counts(const Expression& e, std::size_t writer) {
  const Expression after = stages_of(e, writer + 1, e.stages.size() - 1);
  const std::string& name = e.tensors[static_cast<std::size_t>(e.stages[writer].output)].name;
  std::vector<Values> inputs;
  std::size_t changed = 0;
  for (std::size_t t = 0; t < after.tensors.size(); ++t) {
    if (after.tensors[t].name == name) changed = t;
    inputs.emplace_back(static_cast<std::size_t>(after.tensors[t].elements()));
    for (std::size_t i = 0; i < inputs[t].size(); ++i) inputs[t][i] = 0.25 * static_cast<double>((7 * i + 3 * t) % 11);
  }
  const auto result_of = [&](std::vector<Values> tensors) {
    evaluate(after, {}, tensors);
    return tensors[static_cast<std::size_t>(after.stages.back().output)];
  };
  const Values before = result_of(inputs);
  double counting = 0;
  for (double& value : inputs[changed]) {
    value += 1;
    counting += result_of(inputs) != before ? 1 : 0;
    value -= 1;
  }
  return counting / static_cast<double>(inputs[changed].size());
}

TEST(NeededTerms, AreThoseThatChangeAResult) {
  for (const auto& [mask, share] : {std::pair("j <= i", 36 / 64.0), std::pair("j <= i && i - j < 3", 21 / 64.0)}) {
    const tests::Built b =
        tests::build(fmt::format("S[i,j] +=! Q[i,d] * K[j,d]; T[i,j] = select({}, S[i,j], -inf); E[i,j] = exp(T[i,j]); "
                                 "U[i,v] +=! E[i,j] * V[j,v]; O[i,v] = 2 * U[i,v]",
                                 mask),
                     "i=8,j=8,d=4,v=4", {}, base::Dtype::kF32);
    ASSERT_TRUE(b.expression);
    const auto needed = needed_terms(*b.expression);
    EXPECT_EQ(share_that_counts(*b.expression, 0), share);
    EXPECT_DOUBLE_EQ(least_share(needed[0], b.expression->stages[0]), share) << "the scores";
    EXPECT_DOUBLE_EQ(least_share(needed[3], b.expression->stages[3]), share) << "the product with V";
    EXPECT_TRUE(needed[4].empty()) << "the last stage";
  }
}

TEST(NeededTerms, FollowThroughASoftmax) {
  const tests::Built b = tests::build(kAttention, "i=8,j=8,d=4,v=4", {}, base::Dtype::kF32);
  ASSERT_TRUE(b.expression);
  const auto needed = needed_terms(*b.expression);
  for (std::size_t s = 0; s < 6; ++s) EXPECT_DOUBLE_EQ(least_share(needed[s], b.expression->stages[s]), 36 / 64.0) << s;
  EXPECT_TRUE(needed[6].empty());
}

TEST(NeededTerms, AreAllWhereOneReaderNeedsThem) {
  const tests::Built b =
      tests::build("S[i,j] +=! Q[i,d] * K[j,d]; T[i,j] = select(j <= i, S[i,j], 0); O[i] +=! T[i,j] + S[i,j]",
                   "i=8,j=8,d=4", {}, base::Dtype::kF32);
  ASSERT_TRUE(b.expression);
  EXPECT_EQ(share_that_counts(*b.expression, 0), 1);
  EXPECT_TRUE(needed_terms(*b.expression)[0].empty());
}

}  // namespace
}  // namespace tilescope::expr
