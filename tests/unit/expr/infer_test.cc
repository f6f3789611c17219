// SPDX-License-Identifier: Apache-2.0
#include "expr/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

using testing::ElementsAre;
using tests::build;
using tests::shape_of;
using tests::size_of_axis;

std::vector<std::string> errors_of(std::string_view op, std::string_view size, std::string_view shape = {}) {
  const tests::Built built = build(op, size, shape);
  EXPECT_EQ(built.expression.has_value(), built.errors.empty());
  return built.errors;
}

TEST(Infer, MatmulFromSizes) {
  const auto e = build("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=2048,k=1024").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "A"), ElementsAre(4096, 1024));
  EXPECT_THAT(shape_of(*e, "B"), ElementsAre(1024, 2048));
  EXPECT_THAT(shape_of(*e, "C"), ElementsAre(4096, 2048));
  const Stage& s = e->stages[0];
  EXPECT_EQ(s.spatial_count(), 2U);
  EXPECT_TRUE(s.axes[2].reduction);
  EXPECT_EQ(e->tensors[static_cast<std::size_t>(s.output)].producer, 0);
  EXPECT_EQ(e->accumulate, base::Dtype::kF32);
}

TEST(Infer, MatmulFromShapes) {
  const auto e = build("C[m,n] +=! A[m,k] * B[k,n]", "", "A=64,32;B=32,16").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "C"), ElementsAre(64, 16));
  EXPECT_EQ(size_of_axis(e->stages[0], "k"), 32);
}

TEST(Infer, MatmulFromTheOutputShape) {
  const auto e = build("C[m,n] +=! A[m,k] * B[k,n]", "k=8", "C=64,16").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "A"), ElementsAre(64, 8));
  EXPECT_THAT(errors_of("C[m,n] +=! A[m,k] * B[k,n]", "k=8,m=32", "C=64,16"),
              ElementsAre("--shape:1:1: 'C' is given with 64 along axis 'm', whose size is given as 32"));
}

TEST(Infer, ConvolutionKeepsTheGivenInput) {
  const auto e =
      build("O[n,f,y,x] +=! I[n,c,y*2+r-1,x*2+s-1] * W[f,c,r,s]", "n=2,f=4,y=28,x=28,c=8,r=3,s=3", "I=2,8,57,56")
          .expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "I"), ElementsAre(2, 8, 57, 56));
  EXPECT_THAT(shape_of(*e, "W"), ElementsAre(4, 8, 3, 3));
  const auto inferred = build("O[y] +=! I[y*2+r-1] * W[r]", "y=28,r=3").expression;
  ASSERT_TRUE(inferred);
  EXPECT_THAT(shape_of(*inferred, "I"), ElementsAre(56));
}

TEST(Infer, ConvolutionTakesWhatShapesSay) {
  const auto e = build("O[n,f,y] +=! I[n,c,y+r] * W[f,c,r]", "y=26", "I=2,8,28;W=4,8,3").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "O"), ElementsAre(2, 4, 26));
}

TEST(Infer, BlurFindsTheIntermediateRange) {
  const auto e = build("B[p,x] = I[p,x]+I[p,x+1]+I[p,x+2]; O[y,x] = B[y,x]+B[y+1,x]+B[y+2,x]", "y=30,x=20").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "B"), ElementsAre(32, 20));
  EXPECT_THAT(shape_of(*e, "I"), ElementsAre(32, 22));
  EXPECT_EQ(e->tensors[static_cast<std::size_t>(e->stages[1].reads[0].tensor)].producer, 0);
}

TEST(Infer, ChainsGoForwardAndBackward) {
  const auto forward = build("T[a,b] = I[a,b]; U[c] +=! T[c,d]; O[e] = U[e]", "", "I=5,7").expression;
  ASSERT_TRUE(forward);
  EXPECT_THAT(shape_of(*forward, "O"), ElementsAre(5));
  EXPECT_EQ(size_of_axis(forward->stages[1], "d"), 7);
  const auto backward = build("T[p] = I[p]; U[q] = T[q+1]; O[y] = U[y*2]", "y=10").expression;
  ASSERT_TRUE(backward);
  EXPECT_THAT(shape_of(*backward, "U"), ElementsAre(19));
  EXPECT_THAT(shape_of(*backward, "T"), ElementsAre(20));
}

TEST(Infer, OneNameMayHaveARangePerStage) {
  const auto e = build("T[x] = I[x]; O[y,x] = T[y] * J[x]", "y=4", "I=4;J=9").expression;
  ASSERT_TRUE(e);
  EXPECT_EQ(size_of_axis(e->stages[0], "x"), 4);
  EXPECT_EQ(size_of_axis(e->stages[1], "x"), 9);
}

TEST(Infer, LayernormAndScalars) {
  const auto e = build(
                     "U[i] mean=! I[i,j]; V[i] mean=! (I[i,j]-U[i])*(I[i,j]-U[i]);"
                     "O[i,j] = (I[i,j]-U[i]) * rsqrt(V[i]+eps) * G[j]*gain + eps",
                     "i=8,j=16")
                     .expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(e->scalars, ElementsAre("eps", "gain"));
  EXPECT_THAT(shape_of(*e, "G"), ElementsAre(16));
  EXPECT_EQ(e->stages[1].reads.size(), 2U);
}

TEST(Infer, ReadsThatAreNotAffineAreNoted) {
  const auto e = build("O[y,x] = I[y/2,(x+1)%16] + J[y,x]", "y=9,x=40").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "I"), ElementsAre(5, 16));
  EXPECT_THAT(e->notes, ElementsAre("the read I[y/2,(x+1)%16] is not affine; a tile takes its full extent"));
}

TEST(Infer, NegativeCoefficients) {
  const auto e = build("O[y] = I[9-y]", "y=10").expression;
  ASSERT_TRUE(e);
  EXPECT_THAT(shape_of(*e, "I"), ElementsAre(10));
}

TEST(Infer, IntegerStagesGiveTheAccumulator) {
  const auto e = build("T[m] +=! A[m,k]*B[k]; O[m] = T[m]", "m=4,k=8", {}, base::Dtype::kI8).expression;
  ASSERT_TRUE(e);
  EXPECT_EQ(e->accumulate, base::Dtype::kI32);
  EXPECT_EQ(e->tensors[0].dtype, base::Dtype::kI8);
  EXPECT_EQ(e->tensors[2].dtype, base::Dtype::kI32);
  const auto half = build("T[m] +=! A[m,k]*B[k]", "m=4,k=8", {}, base::Dtype::kF16).expression;
  ASSERT_TRUE(half);
  EXPECT_EQ(half->tensors[2].dtype, base::Dtype::kF16);
  EXPECT_EQ(half->accumulate, base::Dtype::kF32);
  EXPECT_THAT(build("T[m]=A[m]", "m=4", {}, base::Dtype::kI8, base::Dtype::kF32).errors,
              ElementsAre("--op:1:1: i8 cannot be accumulated in f32"));
}

TEST(Infer, SingleStageReadsItsProducersAsInputs) {
  const auto e = build("T[m,n] +=! A[m,k]*B[k,n]; O[m,n] = alpha*T[m,n] + beta*C[m,n]", "m=4,n=5,k=6").expression;
  ASSERT_TRUE(e);
  const Expression s = single_stage(*e, 1);
  ASSERT_EQ(s.tensors.size(), 3U);
  EXPECT_EQ(s.tensors[0].name, "T");
  EXPECT_EQ(s.tensors[0].producer, kInput);
  EXPECT_EQ(s.tensors[2].name, "O");
  EXPECT_EQ(s.tensors[2].producer, 0);
  EXPECT_THAT(s.scalars, ElementsAre("alpha", "beta"));
  EXPECT_THAT(single_stage(*e, 0).scalars, ElementsAre());
}

TEST(InferErrors, GivenFiguresThatFitNothing) {
  EXPECT_THAT(errors_of("C[m,n] +=! A[m,kk] * B[kk,n]", "m=0,n=-3,k=4", "AA=4;B=1,2,3"),
              ElementsAre("--size:1:1: the size of 'm' must be at least 1, got 0",
                          "--size:1:5: the size of 'n' must be at least 1, got -3",
                          "--size:1:10: no stage has an axis 'k'; did you mean 'kk'?",
                          "--shape:1:1: no stage has a tensor 'AA'; did you mean 'A'?",
                          "--shape:1:6: 'B' has 2 coordinates, but its shape is given with 3"));
}

TEST(InferErrors, MissingSizesOncePerName) {
  EXPECT_THAT(errors_of("C[m,n] +=! A[m,k] * B[k,n]; D[m] +=! C[m,n]*E[k]", "m=4"),
              ElementsAre("--op:1:5: axis 'n' has no size; give --size n=...",
                          "--op:1:16: axis 'k' has no size; give --size k=..."));
}

TEST(InferErrors, ShapesThatDisagreeNeedASize) {
  EXPECT_THAT(
      errors_of("C[m,n] +=! A[m,k] * B[k,n]", "", "A=8,64;B=32,8"),
      ElementsAre("--op:1:16: axis 'k' would be 64 by one read, but 32 by dimension 1 of 'B'; give --size k=..."));
  EXPECT_THAT(errors_of("C[m,n] +=! A[m,k] * B[k,n]", "k=32", "A=8,64;B=32,8"), ElementsAre());
}

TEST(InferErrors, NoReadTouchesTheTensor) {
  EXPECT_THAT(errors_of("O[y] = I[y+10]", "y=4", "I=10"),
              ElementsAre("--shape:1:1: every read of 'I' lies outside its shape 10"));
  EXPECT_THAT(errors_of("O[y] = I[y-10]", "y=4"), ElementsAre("--op:1:8: every read of 'I' lies outside its shape 1"));
}

TEST(InferErrors, ProductsStayWithin64Bits) {
  EXPECT_THAT(errors_of("O[y] +=! I[y,x]", "y=1073741824,x=1073741824"),
              ElementsAre("--op:1:10: the size of 'I' with shape 1073741824,1073741824 does not fit 64 bits"));
  EXPECT_THAT(
      errors_of("O[y] +=! I[y,z]*I[x,z]", "y=4194304,x=2097152,z=2097152"),
      ElementsAre("--op:1:1: the operations of a stage over 4194304*2097152*2097152 iterations do not fit 64 bits"));
  EXPECT_THAT(errors_of("O[y] = I[y*1099511627776]", "y=10000000"),
              ElementsAre("--op:1:8: a coordinate of I[y*1099511627776] does not fit 64 bits"));
}

}  // namespace
}  // namespace tilescope::expr
