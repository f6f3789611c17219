// SPDX-License-Identifier: Apache-2.0
// Each rule on an expression that it is for, and on one for each part of its condition that is not met.

#include "expr/rewrite.h"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expr/detail/print.h"
#include "tests/unit/expr/build_expression.h"
#include "tests/unit/expr/rewritten.h"

namespace tilescope::expr {
namespace {

using base::Dtype;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

using Rule = std::optional<Expression> (*)(const Expression&, std::size_t, std::string&);

Expression built(std::string_view op, std::string_view size, std::string_view shape = {}, Dtype dtype = Dtype::kF32,
                 std::optional<Dtype> accumulate = {}) {
  const tests::Built b = tests::build(op, size, shape, dtype, accumulate);
  EXPECT_THAT(b.errors, IsEmpty()) << op;
  return b.expression.value_or(Expression{});
}

// The text after the rule, or why it was refused. What comes out is an expression, and of the same values.
std::string outcome(Rule rule, const Expression& e, std::size_t stage = 0) {
  std::string refusal = "left from before";
  const auto after = rule(e, stage, refusal);
  EXPECT_EQ(after.has_value(), refusal.empty()) << refusal;
  if (!after) return refusal;
  if (after->notes.empty()) {
    EXPECT_EQ(tests::dump(*after), tests::dump_of_text(*after));
    EXPECT_LT(tests::difference(tests::values_of(e), tests::values_of(*after)), 1e-5);
  }
  return to_text(*after);
}

// ---- Inlining

TEST(Inlined, ABodyTakesThePlaceOfTheReads) {
  EXPECT_EQ(outcome(inlined, built("R[k,n] = relu(B[k,n] + b[n]); C[m,n] +=! A[m,k] * R[k,n]", "m=3,n=4,k=5")),
            "C[m,n] +=! A[m,k] * relu(B[k,n] + b[n])");
  EXPECT_EQ(
      outcome(inlined, built("D[i,j] = I[i,j] - U[i]; V[i] mean=! D[i,j] * D[i,j]; O[i,j] = D[i,j] / V[i]", "i=4,j=6")),
      "V[i] mean=! (I[i,j] - U[i]) * (I[i,j] - U[i]); O[i,j] = (I[i,j] - U[i]) / V[i]");
}

TEST(Inlined, CoordinatesCompose) {
  const auto composed = [](std::string_view producer, std::string_view read, std::string_view shape = {}) {
    return outcome(inlined, built(fmt::format("T[y] = I[{}]; O[x,r] = T[{}]", producer, read), "y=40,x=12,r=3", shape));
  };
  EXPECT_EQ(composed("y*2-1", "x*3+r"), "O[x,r] = I[x*6+r*2-1]");
  EXPECT_EQ(composed("39-y", "x+2"), "O[x,r] = I[-x+37]");
  EXPECT_EQ(composed("(y+1)/2", "x*2+r"), "O[x,r] = I[(x*2+r+1)/2]");
  EXPECT_EQ(composed("y%7", "x+1"), "O[x,r] = I[(x+1)%7]");
  EXPECT_EQ(composed("y", "(x+r)%5"), "O[x,r] = I[(x+r)%5]");
  EXPECT_EQ(composed("y+1", "(x+r)/2"), "O[x,r] = I[(x+r+2)/2]");
  EXPECT_EQ(composed("(y+1)/3", "x/2"), "O[x,r] = I[(x+2)/6]");
  EXPECT_EQ(composed("(y*3+1)%6", "x%4"), "O[x,r] = I[(x*3+1)%6]") << "12 is a multiple of 6";
}

TEST(Inlined, RangesResolveDivisionsAndRemainders) {
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i/16,i%16]; O[y,x] = T[y*16+x]", "i=64,y=4,x=16")), "O[y,x] = I[y,x]");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[(i+40)/16,(i+40)%16]; O[y,x] = T[y*16+x]", "i=64,y=4,x=8")),
            "O[y,x] = I[y+2,x+8]")
      << "x+8 stays below 16";
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i/16,i%16]; O[y,x] = T[y*16+x]", "i=70,y=4,x=17")),
            "O[y,x] = I[(y*16+x)/16,(y*16+x)%16]")
      << "x reaches 16";
  EXPECT_EQ(outcome(inlined, built("T[y] = I[y*2]; O[x] = T[x/20]", "y=2,x=12")), "O[x] = I[0]");
}

TEST(Inlined, TensorsScalarsAndNotesAreNumberedAnew) {
  std::string refusal;
  const auto e = inlined(built("T[i] = I[i/2] * a; S[j] +=! b * J[i,j] * T[i]", "i=4,j=3"), 0, refusal);
  ASSERT_TRUE(e) << refusal;
  EXPECT_THAT(e->scalars, ElementsAre("b", "a"));
  ASSERT_EQ(e->tensors.size(), 3U);
  EXPECT_EQ(e->tensors[0].name, "J");
  EXPECT_EQ(e->tensors[2].producer, 0);
  EXPECT_THAT(e->tensors[1].shape, ElementsAre(2));
  EXPECT_EQ(e->stages[0].text, "S[j] +=! b * J[i,j] * (I[i/2] * a)");
  EXPECT_THAT(e->notes, ElementsAre("the read I[i/2] is not affine; a tile takes its full extent"));
}

TEST(Inlined, ReadsOfOneElementBecomeOne) {
  EXPECT_EQ(outcome(inlined, built("T[i,j] = I[i+j]; O[a,b] = I[a+b] * T[b,a]", "i=4,j=4,a=4,b=4")),
            "O[a,b] = I[a+b] * I[a+b]");
}

TEST(Inlined, ShapesAreThoseOfBefore) {
  std::string refusal;
  const auto e = inlined(built("T[i] = I[i]; O[j] = T[j]", "i=9,j=4"), 0, refusal);
  ASSERT_TRUE(e) << refusal;
  EXPECT_THAT(tests::shape_of(*e, "I"), ElementsAre(9));
}

TEST(Inlined, AnAxisKeepsTheRangeThatItHasInItsStage) {
  std::string refusal;
  const Expression e = built("T[i] = I[i] + 1; O[j] +=! T[j*2+k] * W[k]; P[k] = O[k]", "j=4", "W=3");
  const auto after = inlined(e, 0, refusal);
  ASSERT_TRUE(after) << refusal;
  EXPECT_EQ(to_text(*after), "O[j] +=! (I[j*2+k] + 1) * W[k]; P[k] = O[k]");
  EXPECT_EQ(tests::size_of_axis(after->stages[0], "k"), 3);
  EXPECT_EQ(tests::size_of_axis(after->stages[1], "k"), 4);
  EXPECT_LT(tests::difference(tests::values_of(e), tests::values_of(*after)), 1e-6);
}

TEST(Inlined, RefusesWhatItsConditionExcludes) {
  EXPECT_EQ(outcome(inlined, built("S[i] +=! I[i,j]; O[i] = S[i]", "i=4,j=3")), "'S' is reduced, not elementwise");
  EXPECT_EQ(outcome(inlined, built("S[i] +=! I[i]; O[i] = S[i]", "i=4")), "'S' is reduced, not elementwise");
  EXPECT_EQ(outcome(inlined, built("O[i] = I[i]; P[i] = I[i]", "i=4")), "no later stage reads 'O': it is a result");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] + 1; O[y] = T[y-1]", "i=4,y=4")), "T[y-1] lies outside 'T' at an edge");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] + 1; O[y] = T[y+1]", "i=4,y=4")), "T[y+1] lies outside 'T' at an edge");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i*2]; O[y] = T[y/2]", "i=4,y=8")),
            "a coordinate of 'T' at T[y/2] has no notation");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i/2]; O[y] = T[y%4]", "i=4,y=8")),
            "a coordinate of 'T' at T[y%4] has no notation");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i%3]; O[y] = T[y/2]", "i=4,y=8")),
            "a coordinate of 'T' at T[y/2] has no notation");
  EXPECT_EQ(outcome(inlined, built("T[i,j] = I[i]; S[i] +=! T[i,j]", "i=4,j=3")),
            "'S[i] +=! I[i]' would read nothing along its reduced axis 'j'");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i-3] + K[i]; O[y] = T[y] + K[y]", "i=5,y=2", "I=2")),
            "every read of 'I' would lie outside it");
}

TEST(Inlined, RefusesWhatIsTooLong) {
  std::string sum = "T[i] = A[i]";
  for (int n = 1; n < 9; ++n) sum += fmt::format(" + A[i+{}]", n);
  EXPECT_EQ(outcome(inlined, built(sum + "; O[y] = T[y] + T[y+9]", "i=24,y=8")),
            "a stage has at most 16 different reads");
  std::string powers = "T[i] = I[i]";
  for (int n = 0; n < 200; ++n) powers += "*I[i]";
  powers += "; O[i] = T[i]";
  for (int n = 0; n < 200; ++n) powers += "*T[i]";
  EXPECT_EQ(outcome(inlined, built(powers, "i=4")), "the text would be longer than 16384 bytes");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i*100000]; O[y] = T[y*1000000000]", "i=1000000001,y=2")),
            "a number in a coordinate of 'I' is beyond 2^40");
}

TEST(Inlined, SaysThatANarrowIntermediateIsNoLongerRounded) {
  const std::string_view op = "T[i] = I[i] / 3; U[i] = T[i] / 3; O[i] = U[i] - 1";
  std::string refusal;
  const auto once = inlined(built(op, "i=4", {}, Dtype::kF16), 0, refusal);
  ASSERT_TRUE(once) << refusal;
  EXPECT_THAT(once->notes, ElementsAre("'T' is inlined: its values are not rounded to f16"));
  EXPECT_THAT(inlined(*once, 0, refusal)->notes, ElementsAre("'T' is inlined: its values are not rounded to f16",
                                                             "'U' is inlined: its values are not rounded to f16"));
  EXPECT_THAT(inlined(built(op, "i=4", {}, Dtype::kF32), 0, refusal)->notes, IsEmpty());
  EXPECT_THAT(inlined(built(op, "i=4", {}, Dtype::kF64), 0, refusal)->notes, IsEmpty());
}

TEST(Inlined, IntegersStayWhereTheyWrapAlike) {
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] * 3; S[j] +=! T[i] * J[i,j]", "i=4,j=2", {}, Dtype::kI32)),
            "S[j] +=! I[i] * 3 * J[i,j]");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] / 2; O[i] = T[i] * 2", "i=4", {}, Dtype::kI32)),
            "'T' rounds its values to i32 and saturates, its body does not");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] * 2; O[i] = T[i] * 2", "i=4", {}, Dtype::kI8)),
            "'T' rounds its values to i8 and saturates, its body does not");
  EXPECT_EQ(outcome(inlined, built("T[i] = I[i] * 3; O[i] = T[i] / 2", "i=4", {}, Dtype::kI32)),
            "'T' wraps at 32 bits, its reader 'O' does not");
}

// ---- Factors

TEST(FactorOut, AFactorLeavesItsSum) {
  EXPECT_EQ(outcome(factor_out, built("O[b,m,v] +=! E[b,m,n] / L[b,m] * V[b,n,v]", "b=2,m=3,n=4,v=5")),
            "O_sum[b,m,v] +=! E[b,m,n] * V[b,n,v]; O[b,m,v] = O_sum[b,m,v] / L[b,m]");
  EXPECT_EQ(outcome(factor_out, built("O[m] mean=! alpha * A[m,k] * exp(B[m]) / 2", "m=3,k=4")),
            "O_sum[m] mean=! A[m,k]; O[m] = O_sum[m] * alpha * exp(B[m]) / 2");
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! L[m] / (A[m,k]*A[m,k] + 2)", "m=3,k=4")),
            "O_sum[m] +=! 1 / (A[m,k] * A[m,k] + 2); O[m] = O_sum[m] * L[m]");
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] / (B[k] / (L[m] + 3))", "m=3,k=4", "B=4")),
            "O_sum[m] +=! A[m,k] / B[k]; O[m] = O_sum[m] * (L[m] + 3)");
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] * L[m]; P[m] = O[m] + 1", "m=3,k=4")),
            "O_sum[m] +=! A[m,k]; O[m] = O_sum[m] * L[m]; P[m] = O[m] + 1");
}

TEST(FactorOut, TheNewTensorHasANameOfItsOwn) {
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! O_sum[m,k] * O_sum2", "m=3,k=4")),
            "O_sum3[m] +=! O_sum[m,k]; O[m] = O_sum3[m] * O_sum2");
}

TEST(FactorOut, RefusesWhatItsConditionExcludes) {
  EXPECT_EQ(outcome(factor_out, built("O[m] max=! A[m,k] * L[m]", "m=3,k=4")), "'O' is no sum or mean");
  EXPECT_EQ(outcome(factor_out, built("O[m] = A[m] * L[m]", "m=3")), "'O' is no sum or mean");
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m] * L[m]", "m=3")), "'O' is summed over no axis");
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] * L[m]", "m=3,k=4", {}, Dtype::kI8)),
            "'O' is a sum of integers, which wrap");
  const char* const none = "no factor of 'O' is the same for all steps of its sum";
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] * B[k]", "m=3,k=4")), none);
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] * B[k] + L[m]", "m=3,k=4")), none);
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! A[m,k] * (B[k] + L[m])", "m=3,k=4")), none);
  EXPECT_EQ(outcome(factor_out, built("O[m] +=! 1 / (A[m,k] + 3)", "m=3,k=4")), none);
  std::string stages = "O[m] +=! A[m,k] * L[m]";
  for (int n = 1; n < 32; ++n) stages += fmt::format("; O{0}[m] = A[m,0] + {0}", n);
  EXPECT_EQ(outcome(factor_out, built(stages, "m=3,k=4")), "an expression has at most 32 stages");
}

TEST(FactorOut, SaysThatANarrowSumIsRoundedBeforeItsFactors) {
  std::string refusal;
  const auto e = factor_out(built("O[m] +=! A[m,k] * L[m]", "m=3,k=4", {}, Dtype::kBf16), 0, refusal);
  ASSERT_TRUE(e) << refusal;
  EXPECT_THAT(e->notes, ElementsAre("'O_sum' is rounded to bf16 before the factors of 'O'"));
}

// Attention: the probabilities go into the product, and their denominator leaves its sum.
TEST(Rewrite, AttentionDividesOnce) {
  const Expression e = built(
      "S[m,n] +=! Q[m,k] * K[n,k]; M[m] max=! S[m,n]; E[m,n] = exp(S[m,n] - M[m]); L[m] +=! E[m,n];"
      "P[m,n] = E[m,n] / L[m]; O[m,v] +=! P[m,n] * V[n,v]",
      "m=5,n=7,k=3,v=4");
  EXPECT_THAT(outcome(inlined, e, 4), EndsWith("; O[m,v] +=! E[m,n] / L[m] * V[n,v]"));
  std::string refusal;
  EXPECT_THAT(outcome(factor_out, *inlined(e, 4, refusal), 4),
              EndsWith("; O_sum[m,v] +=! E[m,n] * V[n,v]; O[m,v] = O_sum[m,v] / L[m]"));
}

// ---- Everything

std::string everything(std::string_view op, std::string_view size) {
  const Expression e = built(op, size);
  const Expression after = with_everything_inlined(e);
  EXPECT_LT(tests::difference(tests::values_of(e), tests::values_of(after)), 1e-5);
  return to_text(after);
}

TEST(EverythingInlined, ChainsBecomeOneStage) {
  EXPECT_EQ(everything("T[m,n] +=! A[m,k] * B[k,n]; U[m,n] = T[m,n] + b[n]; V[m,n] = relu(U[m,n]); O[n,m] = V[m,n]",
                       "m=3,n=4,k=5"),
            "T[m,n] +=! A[m,k] * B[k,n]; O[n,m] = relu(T[m,n] + b[n])");
}

// The values of `U` stay a stage of their own.
TEST(MovesInlined, CopiesAreReadInPlace) {
  const Expression e =
      built("K[d,j] = X[j,d]; S[i,j] +=! Q[i,d] * K[d,j]; U[i,j] = S[i,j] * 2; O[j,i] = U[i,j]", "i=3,j=4,d=5");
  const Expression after = with_moves_inlined(e);
  EXPECT_LT(tests::difference(tests::values_of(e), tests::values_of(after)), 1e-6);
  EXPECT_EQ(to_text(after), "S[i,j] +=! Q[i,d] * X[j,d]; U[i,j] = S[i,j] * 2; O[j,i] = U[i,j]");
}

TEST(EverythingInlined, OncePerReaderIsCheap) {
  EXPECT_EQ(
      everything("M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=4,j=6"),
      "M[i] max=! I[i,j]; S[i] +=! exp(I[i,j] - M[i]); O[i,j] = exp(I[i,j] - M[i]) / S[i]");
  EXPECT_EQ(everything("B[p,x] = I[p,x] + I[p,x+1]; O[y,x] = B[y,x] + B[y+1,x]", "y=4,x=5"),
            "O[y,x] = I[y,x] + I[y,x+1] + (I[y+1,x] + I[y+1,x+1])")
      << "sums alone may be taken again";
}

TEST(EverythingInlined, WhatWouldBeComputedAgainStays) {
  const auto stays = [](std::string_view op, std::string_view size) { EXPECT_EQ(everything(op, size), op); };
  stays("R[k,n] = relu(B[k,n]); C[m,n] +=! A[m,k] * R[k,n]", "m=3,n=4,k=5");
  stays("R[i] = rsqrt(V[i] + 1); O[i,j] = X[i,j] * R[i]", "i=3,j=4");
  stays("E[p] = exp(I[p]); O[y] = E[y] + E[y+1]", "p=5,y=4");
  stays("E[p] = I[p] / 9; O[y] = E[y] * E[y]", "p=5,y=5");
  stays("E[p] = tanh(I[p]); O[y] +=! E[y+r] * W[r]", "p=6,y=4,r=3");
  stays("T[i] = I[i] + 1; O[y] = T[y-1]", "i=4,y=4");
}

TEST(EverythingInlined, AnAxisOfOneAndAReadAloneCostNothing) {
  EXPECT_EQ(everything("R[k,n] = relu(B[k,n]); C[m,n] +=! A[m,k] * R[k,n]", "m=1,n=4,k=5"),
            "C[m,n] +=! A[m,k] * relu(B[k,n])");
  EXPECT_EQ(everything("R[k,n] = B[n,k]; C[m,n] +=! A[m,k] * R[k,n]", "m=3,n=4,k=5"), "C[m,n] +=! A[m,k] * B[n,k]");
  EXPECT_EQ(everything("E[p] = exp(I[p]); O[y] = E[y] + E[y+1]", "p=9,y=4"), "O[y] = exp(I[y]) + exp(I[y+1])")
      << "8 of 9 elements";
}

TEST(EverythingInlined, AStageThatWasKeptIsLookedAtAgain) {
  EXPECT_EQ(everything("A[i] = I[i] + 1; B[i,j] = A[i] + J[i,j]; C[i] = B[i,0]", "i=4,j=3"),
            "C[i] = I[i] + 1 + J[i,0]");
}

// ---- Copies in another rank

std::string without_any_copies(std::string_view op, std::string_view size, std::string_view shape = {}) {
  const Expression e = built(op, size, shape);
  const Expression after = without_copies(e);
  EXPECT_EQ(tests::difference(tests::values_of(e), tests::values_of(after)), 0);
  return to_text(after);
}

TEST(WithoutCopies, DimensionsOfOneElementGoWithTheirAxes) {
  EXPECT_EQ(without_any_copies("T[n,g,f] +=! X[n,g,c] * W[g,f,c]; B[n,g,f] = T[n,g,f] + D[g,f]; V[n,f] = B[n,0,f]; "
                               "Y[n,f] = V[n,f] * S[f]",
                               "n=2,g=1,f=4,c=3"),
            "T[n,f] +=! X[n,0,c] * W[0,f,c]; B[n,f] = T[n,f] + D[0,f]; Y[n,f] = B[n,f] * S[f]");
  EXPECT_EQ(without_any_copies("T[n,f] = relu(X[n,f]); V[n,a,f,b] = T[n,f]; Y[n,a,f,b] = V[n,a,f,b] * S[f]; "
                               "Z[n,a,f,b] = Y[n,a,f,b] + 1",
                               "n=2,f=4,a=1,b=1"),
            "T[n,f] = relu(X[n,f]); Y[n,f] = T[n,f] * S[f]; Z[n,f] = Y[n,f] + 1");
  EXPECT_EQ(
      without_any_copies("T[a,n,f] = relu(X[n,f]); V[n,b,f] = T[0,n,f]; Y[n,b,f] = V[n,b,f] * 2", "n=1,f=4,a=1,b=1"),
      "T[a,n,f] = relu(X[n,f]); Y[n,b,f] = T[n,b,f] * 2")
      << "ranks are equal";
}

TEST(WithoutCopies, OtherCopiesAndOtherAxesStay) {
  const auto stays = [](std::string_view op, std::string_view size) { EXPECT_EQ(without_any_copies(op, size), op); };
  stays("T[f,n] = relu(X[n,f]); V[n,f] = T[f,n]; Y[n,f] = V[n,f] * S[f]", "n=2,f=4");
  stays("T[n,f] = relu(X[n,f]); V[n,g,h] = T[n,g*2+h]; Y[n,g,h] = V[n,g,h] * 2", "n=2,f=4,g=2,h=2");
  stays("T[g,f] +=! X[g,c] * W[f,c]; Y[g,f] = T[g,f] * S[f]", "g=1,f=4,c=3");
  stays("T[g,f] = relu(X[g,f]); V[f] = T[0,f]; Y[f] = V[f] * 2; Z[f] +=! T[r-1,f] * Y[f]", "g=1,f=4,r=3");
}

}  // namespace
}  // namespace tilescope::expr
