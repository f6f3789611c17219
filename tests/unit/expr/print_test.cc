// SPDX-License-Identifier: Apache-2.0
// Index notation printed from expressions: its brackets, signs and numbers.

#include "expr/detail/print.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

std::string printed(std::string_view op, std::string_view size = "i=4") {
  const tests::Built b = tests::build(op, size);
  return b.expression ? to_text(*b.expression) : b.errors.front();
}

TEST(PrintStage, BracketsAreThoseThatTheParserNeeds) {
  EXPECT_EQ(printed("O[i]=A[i]-(B[i]-C[i])-(D[i]+E[i])*2"), "O[i] = A[i] - (B[i] - C[i]) - (D[i] + E[i]) * 2");
  EXPECT_EQ(printed("O[i]=(A[i]*B[i])/(C[i]*D[i])/(E[i]/F[i])"), "O[i] = A[i] * B[i] / (C[i] * D[i]) / (E[i] / F[i])");
  EXPECT_EQ(printed("O[i]=-(A[i]*B[i])--A[i]*-(-2)"), "O[i] = -(A[i] * B[i]) - -A[i] * --2");
  EXPECT_EQ(printed("O[i]=max(A[i]+alpha,(1e-5))*exp(-A[i])"), "O[i] = max(A[i] + alpha, 1e-05) * exp(-A[i])");
  EXPECT_EQ(printed("O[i]=A[(3+i*2)/4]+A[i%3]+0.1"), "O[i] = A[(i*2+3)/4] + A[i%3] + 0.1");
  EXPECT_EQ(printed("S[i] mean=! A[i,j]*A[i,j] ; O[i]=S[i]", "i=2,j=3"), "S[i] mean=! A[i,j] * A[i,j]; O[i] = S[i]");
}

}  // namespace
}  // namespace tilescope::expr
