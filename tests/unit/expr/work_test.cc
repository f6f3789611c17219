// SPDX-License-Identifier: Apache-2.0
// How much of a tensor is touched.

#include "expr/work.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/build.h"

namespace tilescope::expr {
namespace {

double touched(const Expression& e, const std::string& name) {
  for (std::size_t t = 0; t < e.tensors.size(); ++t)
    if (e.tensors[t].name == name) return touched_elements(e, static_cast<int>(t));
  return -1;
}

TEST(Work, TouchesWhatIsRead) {
  const Expression product = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4,n=5,k=6");
  EXPECT_EQ(touched(product, "A"), 24);
  EXPECT_EQ(touched(product, "B"), 30);
  EXPECT_EQ(touched(product, "C"), 20);
  const Expression window = tests::expression("O[x] +=! I[x+r] * W[r]", "x=10,r=3");
  EXPECT_EQ(touched(window, "I"), 12) << "30 reads of 12 elements";
  const Expression twice = tests::expression("O[i] = I[2*i] + I[2*i+1]", "i=8");
  EXPECT_EQ(touched(twice, "I"), 16);
}

TEST(Work, TouchesThePartOfATensor) {
  const Expression gather = tests::expression("O[i,j] = E[T[i],j] + B[j]", "i=7,j=4", "E=1000,4");
  EXPECT_EQ(touched(gather, "E"), 28);
  EXPECT_EQ(touched(gather, "T"), 7);
  EXPECT_EQ(touched(gather, "B"), 4);
  EXPECT_EQ(touched(tests::expression("O[i,j] = I[i,j+3]", "i=7,j=4", "I=7,12"), "I"), 28);
}

TEST(Work, WhatAMaskHidesIsNotNeeded) {
  const Expression e =
      tests::expression("S[i,j] +=! Q[i,d] * K[j,d]; T[i,j] = select(j <= i, S[i,j], 0)", "i=8,j=8,d=4");
  constexpr double kScores = 8 * 8 * 4 * 2, kPoints = 8 * 8;
  const double mask = operations_of(e) - kScores;
  EXPECT_GE(mask, kPoints);
  EXPECT_DOUBLE_EQ(needed_operations_of(e), 36 / 64.0 * (kScores + mask));
  const Expression all = tests::expression("S[i,j] +=! Q[i,d] * K[j,d]", "i=8,j=8,d=4");
  EXPECT_EQ(needed_operations_of(all), operations_of(all));
}

}  // namespace
}  // namespace tilescope::expr
