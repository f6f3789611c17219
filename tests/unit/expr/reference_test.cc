// SPDX-License-Identifier: Apache-2.0
// The reference against loops written by hand, operator by operator.

#include "expr/reference.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

using base::Dtype;

// A tensor of whole numbers in -8..8, exact in every dtype.
Values filled(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Values out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(double(random() % 17) - 8);
  return out;
}

struct Outcome {
  Expression e;
  std::vector<Values> tensors;

  const Values& operator[](std::string_view name) const {
    for (std::size_t t = 0; t < e.tensors.size(); ++t)
      if (e.tensors[t].name == name) return tensors[t];
    throw std::out_of_range(std::string(name));
  }
};

Outcome run(std::string_view op, std::string_view size, std::string_view shape = {}, Dtype dtype = Dtype::kF32,
            const std::vector<double>& scalars = {}, std::optional<Dtype> accumulate = {}) {
  const tests::Built built = tests::build(op, size, shape, dtype, accumulate);
  EXPECT_TRUE(built.errors.empty()) << built.errors.front();
  Outcome r{*built.expression, {}};
  for (std::size_t t = 0; t < r.e.tensors.size(); ++t) {
    const Tensor& tensor = r.e.tensors[t];
    r.tensors.push_back(tensor.producer == kInput ? filled(std::size_t(tensor.elements()), unsigned(t) + 1) : Values{});
  }
  evaluate(r.e, scalars, r.tensors);
  return r;
}

TEST(Reference, Matmul) {
  const Outcome r = run("C[m,n] +=! A[m,k] * B[k,n]", "m=5,n=7,k=9");
  for (std::size_t m = 0; m < 5; ++m)
    for (std::size_t n = 0; n < 7; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < 9; ++k) sum += r["A"][m * 9 + k] * r["B"][k * 7 + n];
      EXPECT_EQ(r["C"][m * 7 + n], sum);
    }
}

TEST(Reference, SgemmWithScalars) {
  const Outcome r = run("T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = alpha * T[m,n] + beta * C[m,n]", "m=3,n=4,k=5", {},
                        Dtype::kF32, {2, -3});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(r["O"][i], 2 * r["T"][i] - 3 * r["C"][i]);
}

TEST(Reference, ConvolutionWithPaddingAndStride) {
  const Outcome r =
      run("O[n,f,y,x] +=! I[n,c,y*2+r-1,x*2+s-1] * W[f,c,r,s]", "n=2,f=3,y=4,x=3,c=2,r=3,s=3", "I=2,2,7,6");
  for (int n = 0; n < 2; ++n)
    for (int f = 0; f < 3; ++f)
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 3; ++x) {
          double sum = 0;
          for (int c = 0; c < 2; ++c)
            for (int kr = 0; kr < 3; ++kr)
              for (int ks = 0; ks < 3; ++ks) {
                const int iy = 2 * y + kr - 1, ix = 2 * x + ks - 1;
                if (iy < 0 || iy >= 7 || ix < 0 || ix >= 6) continue;
                sum += r["I"][std::size_t(((n * 2 + c) * 7 + iy) * 6 + ix)] *
                       r["W"][std::size_t(((f * 2 + c) * 3 + kr) * 3 + ks)];
              }
          EXPECT_EQ(r["O"][std::size_t(((n * 3 + f) * 4 + y) * 3 + x)], sum);
        }
}

TEST(Reference, MaxpoolCountsPaddingAsZero) {
  const Outcome r = run("O[y] max=! I[y*2+r-1]", "y=4,r=3", "I=7");
  for (int y = 0; y < 4; ++y) {
    double most = -1e9;
    for (int kr = 0; kr < 3; ++kr) {
      const int iy = 2 * y + kr - 1;
      most = std::max(most, iy < 0 || iy >= 7 ? 0 : r["I"][std::size_t(iy)]);
    }
    EXPECT_EQ(r["O"][std::size_t(y)], most);
  }
  const Outcome inner = run("O[i] max=! I[i,j]-100; P[i] min=! I[i,j]+100", "i=6,j=5");
  for (std::size_t i = 0; i < 6; ++i) {
    const auto row = inner["I"].begin() + std::ptrdiff_t(i * 5);
    EXPECT_EQ(inner["O"][i], *std::max_element(row, row + 5) - 100) << "the first value counts, not zero";
    EXPECT_EQ(inner["P"][i], *std::min_element(row, row + 5) + 100);
  }
}

TEST(Reference, MeanDividesByTheWholeWindow) {
  const Outcome r = run("O[y] mean=! I[y+r-1]", "y=5,r=3", "I=5");
  EXPECT_EQ(r["O"][0], double(float((r["I"][0] + r["I"][1]) / 3)));
  EXPECT_EQ(r["O"][2], double(float((r["I"][1] + r["I"][2] + r["I"][3]) / 3)));
}

TEST(Reference, Softmax) {
  const Outcome r =
      run("M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=4,j=6");
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 6; ++j) sum += std::exp(r["I"][i * 6 + j]);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(r["O"][i * 6 + j], std::exp(r["I"][i * 6 + j]) / sum, 1e-7);
  }
}

TEST(Reference, Layernorm) {
  const Outcome r =
      run("U[i] mean=! I[i,j]; V[i] mean=! (I[i,j]-U[i])*(I[i,j]-U[i]);"
          "O[i,j] = (I[i,j]-U[i]) * rsqrt(V[i] + 1e-5) * G[j] + B[j]",
          "i=4,j=10");
  for (std::size_t i = 0; i < 4; ++i) {
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < 10; ++j) mean += r["I"][i * 10 + j] / 10;
    for (std::size_t j = 0; j < 10; ++j) variance += std::pow(r["I"][i * 10 + j] - mean, 2) / 10;
    for (std::size_t j = 0; j < 10; ++j)
      EXPECT_NEAR(r["O"][i * 10 + j], (r["I"][i * 10 + j] - mean) / std::sqrt(variance + 1e-5) * r["G"][j] + r["B"][j],
                  1e-4);
  }
}

TEST(Reference, TransposeAndReadsThatAreNotAffine) {
  const Outcome t = run("O[j,i] = I[i,j]", "i=3,j=4");
  EXPECT_EQ(t["O"][2 * 3 + 1], t["I"][1 * 4 + 2]);
  const Outcome up = run("O[y] = I[y/2] + J[(y+1)%3]", "y=8");
  for (std::size_t y = 0; y < 8; ++y) EXPECT_EQ(up["O"][y], up["I"][y / 2] + up["J"][(y + 1) % 3]);
}

TEST(Reference, EveryFunction) {
  const Outcome r =
      run("O[i] = sigmoid(I[i]) + tanh(I[i]) * erf(I[i]/4) - sqrt(abs(I[i])) + relu(I[i]) + max(I[i],a) - min(I[i],2)"
          " + log(exp(I[i])) / rsqrt(9) - -I[i]",
          "i=9", {}, Dtype::kF32, {1.5});
  for (std::size_t i = 0; i < 9; ++i) {
    const double v = r["I"][i];
    const double expected = 1 / (1 + std::exp(-v)) + std::tanh(v) * std::erf(v / 4) - std::sqrt(std::fabs(v)) +
                            std::max(v, 0.0) + std::max(v, 1.5) - std::min(v, 2.0) + 3 * v + v;
    EXPECT_NEAR(r["O"][i], expected, 1e-5);
  }
}

TEST(Reference, IntegersAccumulateExactlyAndWrap) {
  const Outcome r = run("C[m] +=! A[m,k] * B[k]; D[m] = C[m] * 100000000", "m=4,k=300", {}, Dtype::kI8);
  for (std::size_t m = 0; m < 4; ++m) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < 300; ++k) sum += int(r["A"][m * 300 + k]) * int(r["B"][k]);
    EXPECT_EQ(r["C"][m], sum);
    EXPECT_EQ(r["D"][m], static_cast<std::int32_t>(static_cast<std::uint32_t>(sum * 100000000LL)));
  }
}

// What leaves the integers comes back to the greatest or least one.
TEST(Reference, IntegersWrapAndFloatsSaturate) {
  const auto first = [](std::string_view op, Dtype dtype, const std::vector<double>& scalars = {}) {
    return run(op, op.find('j') == std::string_view::npos ? "i=1" : "i=1,j=3", {}, dtype, scalars)["S"][0];
  };
  EXPECT_EQ(first("S[i] +=! A[i,j]*0 + 2000000000", Dtype::kI32), 6000000000 - (std::int64_t{1} << 32));
  EXPECT_EQ(first("S[i] +=! A[i,j]*0 + 2000000000", Dtype::kI8), 6000000000 - (std::int64_t{1} << 32));
  EXPECT_EQ(first("S[i] max=! A[i,j]*0 + 2147483647 + 1", Dtype::kI32), -2147483648.0);
  EXPECT_EQ(first("S[i] = abs(A[i]*0 - 2147483647 - 1)", Dtype::kI32), -2147483648.0);
  EXPECT_EQ(first("S[i] = -(A[i]*0 - 2147483647 - 1)", Dtype::kI32), -2147483648.0);
  // 2147483647 squared is one more than a multiple of 2^32, which a double does not hold.
  EXPECT_EQ(first("S[i] = (A[i]*0 + 2147483647) * 2147483647", Dtype::kI32), 1);
  EXPECT_EQ(first("S[i] = (A[i]*0 + 2000000000) * 2 / 1", Dtype::kI32), 2147483647);
  EXPECT_EQ(first("S[i] = (A[i]*0 + 2000000000) * a", Dtype::kI32, {-2}), -2147483648.0);
}

// 2048 + 1 is no f16 number, so a sum of ones in f16 stops there; in f32 it does not.
TEST(Reference, EveryStepRoundsToTheAccumulator) {
  EXPECT_EQ(run("S[i] +=! A[i,j]*0 + 1", "i=1,j=4000", {}, Dtype::kF16, {}, Dtype::kF16)["S"][0], 2048);
  EXPECT_EQ(run("S[i] +=! A[i,j]*0 + 1", "i=1,j=4000", {}, Dtype::kF16)["S"][0], 4000);
  EXPECT_EQ(run("S[i] +=! A[i,j]*0 + 1", "i=1,j=4001", {}, Dtype::kF16)["S"][0], 4000) << "the store rounds";
  EXPECT_EQ(run("S[i] +=! A[i,j]*0 + 1", "i=1,j=400", {}, Dtype::kBf16, {}, Dtype::kBf16)["S"][0], 256);
}

}  // namespace
}  // namespace tilescope::expr
