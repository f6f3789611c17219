// SPDX-License-Identifier: Apache-2.0
// Comparisons, choices, indices as values and values outside tensors, against loops written by hand.

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "expr/detail/print.h"
#include "expr/reference.h"
#include "tests/unit/expr/build_expression.h"

namespace tilescope::expr {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The only result of an operator whose inputs hold these values, tensor by tensor in the order of their first use.
Values result(std::string_view op, std::string_view size, std::vector<Values> inputs, std::string_view shape = {},
              base::Dtype dtype = base::Dtype::kF32) {
  const tests::Built built = tests::build(op, size, shape, dtype);
  if (!built.expression) {
    ADD_FAILURE() << built.errors.front();
    return {};
  }
  const Expression& e = *built.expression;
  std::vector<Values> tensors;
  std::size_t next = 0;
  for (const Tensor& t : e.tensors) tensors.push_back(t.producer == kInput ? inputs.at(next++) : Values{});
  evaluate(e, std::vector<double>(e.scalars.size(), 0.5), tensors);
  return tensors[static_cast<std::size_t>(e.stages.back().output)];
}

double of_one(std::string_view body, double x, double y = 0, base::Dtype dtype = base::Dtype::kF64) {
  return result("O[i] = " + std::string(body) + " + 0 * Y[i]", "i=1", {{x}, {y}}, {}, dtype).front();
}

TEST(Notation, FunctionsAreThoseOfC) {
  for (const double x : {-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 7.25}) {
    EXPECT_EQ(of_one("sin(X[i])", x), std::sin(x));
    EXPECT_EQ(of_one("cos(X[i])", x), std::cos(x));
    EXPECT_EQ(of_one("floor(X[i])", x), std::floor(x));
    EXPECT_EQ(of_one("ceil(X[i])", x), std::ceil(x));
    EXPECT_EQ(of_one("round(X[i])", x), std::nearbyint(x));
    EXPECT_EQ(of_one("sign(X[i])", x), (x > 0) - (x < 0));
    for (const double y : {-2.0, 0.5, 3.0}) {
      EXPECT_EQ(of_one("pow(abs(X[i]), Y[i])", x, y), std::pow(std::fabs(x), y));
      EXPECT_EQ(of_one("X[i] % Y[i]", x, y), x - std::floor(x / y) * y);
      EXPECT_EQ(of_one("(X[i] < Y[i])", x, y), x < y);
      EXPECT_EQ(of_one("(X[i] >= Y[i] || X[i] == -0.5)", x, y), x >= y || x == -0.5);
      EXPECT_EQ(of_one("select(X[i] != Y[i] && !(X[i] > 1), X[i], 9)", x, y), x != y && !(x > 1) ? x : 9);
    }
  }
  for (const double x : {-7.0, 7.0})
    for (const double y : {-3.0, 3.0})
      EXPECT_EQ(of_one("X[i] % Y[i]", x, y, base::Dtype::kI32), x - std::floor(x / y) * y);
}

TEST(Notation, OperatorsBindAsInC) {
  const auto printed = [](std::string_view body) {
    const tests::Built b = tests::build("O[i] = " + std::string(body), "i=4");
    return b.expression ? to_text(*b.expression).substr(7) : b.errors.front();
  };
  EXPECT_EQ(printed("A[i]<B[i]||A[i]>2&&!B[i]==0"), "A[i] < B[i] || A[i] > 2 && !B[i] == 0");
  EXPECT_EQ(printed("(A[i]<B[i]||A[i]>2)&&(B[i]==0)"), "(A[i] < B[i] || A[i] > 2) && B[i] == 0");
  EXPECT_EQ(printed("(A[i]<B[i])+A[i]*(B[i]!=3)"), "(A[i] < B[i]) + A[i] * (B[i] != 3)");
  EXPECT_EQ(printed("select(A[i]+1>=-inf,A[i]%4,-(B[i]%2))"), "select(A[i] + 1 >= -inf, A[i] % 4, -(B[i] % 2))");
  EXPECT_EQ(printed("A[i]+i*2-3"), "A[i] + i*2 - 3");
  EXPECT_EQ(printed("A[i]+(2*i-3)"), "A[i] + (i*2-3)");
  EXPECT_EQ(printed("i<=A[i]"), "i <= A[i]");
  EXPECT_EQ(printed("select(4-i>2*i,A[i],i%3)"), "select(-i*3+4 > 0, A[i], i%3)");
  EXPECT_EQ(printed("floor((i+1)/2)*A[i]"), "floor((i+1)/2) * A[i]");
}

// What is printed is read back to what computes the same, whatever the body.
TEST(Notation, RandomBodiesAreReadBack) {
  std::mt19937 random(20261128);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto spellings = function_spellings();
  for (int body = 0; body < 400; ++body) {
    std::string text = below(2) == 0 ? "A[i,j]" : "i";
    const auto leaf = [&]() -> std::string {
      switch (below(7)) {
        case 0:
          return "i";
        case 1:
          return "j";
        case 2:
          return std::to_string(below(5));
        case 3:
          return "alpha";
        case 4:
          return "A[i+1,j-1] else -1.5";
        default:
          return below(2) == 0 ? "A[i,j]" : "0.25";
      }
    };
    for (int n = 0; n < 7; ++n) {
      const auto f = static_cast<Function>(below(static_cast<int>(spellings.size())));
      const std::string name(spelling(f));
      const bool word = name.front() >= 'a' && name.front() <= 'z';
      if (below(3) == 0) {
        const char* const signs[] = {"+", "-", "*", "/"};
        text = below(2) == 0 ? "(" + text + ") " + signs[below(4)] + " " + leaf()
                             : leaf() + " " + signs[below(4)] + " (" + text + ")";
      } else if (arity(f) == 1) {
        text = name + "(" + text + ")";
      } else if (!word) {
        text = below(2) == 0 ? "(" + text + ") " + name + " " + leaf() : leaf() + " " + name + " (" + text + ")";
      } else {
        text = name + "(" + text + ", " + leaf() + (arity(f) == 3 ? ", " + leaf() : "") + ")";
      }
    }
    // Both tensors are read, so that axes have an extent.
    const std::string op = "O[i,j] = A[i,j] * B[i,j] + (" + text + ")";
    const tests::Built first = tests::build(op, "i=3,j=4", "A=3,4");
    ASSERT_TRUE(first.expression) << op << ": " << first.errors.front();
    const std::string printed = to_text(*first.expression);
    const Values a = {0, 1, -2, 3, 0.5, -0.25, 4, -7, 2.5, 1, 0, -1}, b(12, 0.0);
    const auto values = [&](const std::string& of) {
      return result(of, "i=3,j=4", {a, b}, "A=3,4", base::Dtype::kF64);
    };
    const Values before = values(op), after = values(printed);
    for (std::size_t e = 0; e < before.size(); ++e)
      ASSERT_TRUE(before[e] == after[e] || (std::isnan(before[e]) && std::isnan(after[e])))
          << op << "\n"
          << printed << ": " << before[e] << ", " << after[e];
  }
}

TEST(Notation, IndicesAreExactWhereFloatsAreNot) {
  // 2^24 and its neighbour are one number in f32.
  const tests::Built b = tests::build("O[i] = select(i + 16777216 == 16777217, X[i], 0)", "i=3");
  ASSERT_TRUE(b.expression);
  EXPECT_EQ(b.expression->stages[0].indices.size(), 1);
  EXPECT_EQ(result("O[i] = select(i + 16777216 == 16777217, X[i], 0)", "i=3", {{5, 6, 7}}), (Values{0, 6, 0}));
}

TEST(Notation, CausalMask) {
  const Values s = result("S[i,j] = select(j <= i, Q[i,j], -inf)", "i=3,j=4", {Values(12, 2.0)});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(s[static_cast<std::size_t>(i * 4 + j)], j <= i ? 2 : -kInf);
}

TEST(Notation, AMaximumOfNegativeValuesIsPaddedByLess) {
  const Values x = {-5, -3, -4, -8};
  const Values o = result("O[y] max=! X[y+r-1] else -inf", "y=4,r=3", {x}, "X=4");
  EXPECT_EQ(o, (Values{-3, -3, -3, -4}));
  EXPECT_EQ(result("O[y] max=! X[y+r-1]", "y=4,r=3", {x}, "X=4"), (Values{0, -3, -3, 0}));
  // The same tensor read with two values outside.
  EXPECT_EQ(result("O[y] = (X[y-1] else 7) - (X[y-1] else 2)", "y=2", {{1, 1}}, "X=2"), (Values{5, 0}));
}

TEST(Notation, ATransposedConvolutionReadsWhereTheStrideDivides) {
  const Values x = {1, 2, 3}, w = {1, 10, 100};
  const Values o = result("O[y] +=! select((y+1-r) % 2 == 0, X[(y+1-r)/2], 0) * W[r]", "y=5,r=3", {x, w}, "X=3");
  Values expected(5, 0.0);  // every input scattered, stride 2, padding 1
  for (int i = 0; i < 3; ++i)
    for (int r = 0; r < 3; ++r)
      if (const int y = 2 * i + r - 1; y >= 0 && y < 5)
        expected[static_cast<std::size_t>(y)] += x[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(r)];
  EXPECT_EQ(o, expected);
}

TEST(Notation, AnAxisNeedNotIndexATensor) {
  EXPECT_EQ(result("O[i] +=! select(j <= i, 1, 0)", "i=3,j=2", {}), (Values{1, 2, 2}));
  EXPECT_EQ(result("O[i] = i * 2 + (i < 1)", "i=3", {}), (Values{1, 2, 4}));
}

TEST(Notation, AProductReduces) {
  EXPECT_EQ(result("O[i] *=! X[i,j]", "i=2,j=3", {{1, 2, 3, -4, 5, 6}}), (Values{6, -120}));
  EXPECT_EQ(result("O[i] *=! X[i,j]", "i=1,j=2", {{65536, 65537}}, {}, base::Dtype::kI32), (Values{65536}));  // wraps
}

TEST(Notation, InliningMovesIndices) {
  const Values o = result("T[i,j] = X[i,j] + (j >= 2); O[y,x] = T[y,3-x]", "y=1,x=4", {{0, 0, 0, 0}});
  EXPECT_EQ(o, (Values{1, 1, 0, 0}));
}

}  // namespace
}  // namespace tilescope::expr
