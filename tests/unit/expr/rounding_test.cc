// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "expr/reference.h"
#include "tests/support/float8_codes.h"

namespace tilescope::expr {
namespace {

using base::Dtype;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Format {
  Dtype dtype;
  int exponent_bits, fraction_bits;
  bool as_ptx = false;  // what the nearest f32 becomes, ties away from zero; else what the double does, ties to even
};
constexpr Format kF16 = {Dtype::kF16, 5, 10};
constexpr Format kBf16 = {Dtype::kBf16, 8, 7};
constexpr Format kTf32 = {Dtype::kTf32, 8, 10, true};

// The value of a bit pattern, decoded digit by digit: independent of how round_to works.
double decode(std::uint32_t bits, const Format& f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint32_t fraction = bits & ((1U << f.fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
  const double sign = (bits >> (f.exponent_bits + f.fraction_bits)) != 0 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) return sign * kInfinite;
  const double hidden = exponent == 0 ? 0 : 1;
  return sign * std::ldexp(hidden + std::ldexp(double(fraction), -f.fraction_bits), std::max(exponent, 1) - bias);
}

// The number beside v, towards another one, that the format is converted from.
double beside(double v, double towards, const Format& f) {
  if (!f.as_ptx) return std::nextafter(v, towards);
  return double{std::nextafter(static_cast<float>(v), static_cast<float>(towards))};
}

// Every finite value is kept; the middle of two neighbours goes to the even or greater one, and a hair beside it to the
// nearer.
void check_every_value(const Format& f) {
  const std::uint32_t infinity = ((1U << f.exponent_bits) - 1) << f.fraction_bits;
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const double v = decode(bits, f);
    ASSERT_EQ(round_to(f.dtype, v), v) << bits;
    ASSERT_EQ(round_to(f.dtype, -v), -v) << bits;
    // Beyond the greatest value, the neighbour would be the next power of two.
    const double next = bits + 1 == infinity ? std::ldexp(1.0, 1 << (f.exponent_bits - 1)) : decode(bits + 1, f);
    const double above = bits + 1 == infinity ? kInfinite : next;
    const double middle = (v + next) / 2;
    const double tie = f.as_ptx || bits % 2 == 1 ? above : v;
    ASSERT_EQ(round_to(f.dtype, middle), tie) << bits;
    ASSERT_EQ(round_to(f.dtype, -middle), -tie) << bits;
    ASSERT_EQ(round_to(f.dtype, beside(middle, 0.0, f)), v) << bits;
    ASSERT_EQ(round_to(f.dtype, beside(middle, kInfinite, f)), above) << bits;
  }
}

TEST(Rounding, EveryF16Value) { check_every_value(kF16); }
TEST(Rounding, EveryBf16Value) { check_every_value(kBf16); }
TEST(Rounding, EveryTf32Value) { check_every_value(kTf32); }

// Just below the middle of two, where the nearest f32 is the middle, and where it is not.
TEST(Rounding, Tf32IsOfTheNearestF32) {
  const double middle = 1 + 0x1p-11;
  EXPECT_EQ(round_to(Dtype::kTf32, middle - 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(Dtype::kTf32, middle - 0x1p-23), 1);
  EXPECT_EQ(round_to(Dtype::kTf32, -1e300), -kInfinite);
  EXPECT_TRUE(std::signbit(round_to(Dtype::kTf32, -0x1p-140)));
  EXPECT_TRUE(std::isnan(round_to(Dtype::kTf32, std::nan(""))));
}

TEST(Rounding, EdgesOfF16) {
  EXPECT_EQ(round_to(Dtype::kF16, 65504), 65504);
  EXPECT_EQ(round_to(Dtype::kF16, 65519.9), 65504);
  EXPECT_EQ(round_to(Dtype::kF16, 65520), kInfinite);
  EXPECT_EQ(round_to(Dtype::kF16, -1e300), -kInfinite);
  EXPECT_EQ(round_to(Dtype::kF16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(round_to(Dtype::kF16, 0x1p-25), 0);
  EXPECT_EQ(round_to(Dtype::kF16, 0x1.8p-25), 0x1p-24);
  EXPECT_TRUE(std::signbit(round_to(Dtype::kF16, -0x1p-30)));
  EXPECT_TRUE(std::isnan(round_to(Dtype::kF16, std::nan(""))));
}

// All numbers of 16 bits, in either format, and random ones of 64 of every size.
std::vector<double> many_numbers() {
  std::vector<double> out = {kInfinite, -kInfinite, std::nan(""), 0.0, -0.0};
  for (const Format& f : {kF16, kBf16})
    for (std::uint32_t bits = 0; bits < 1U << 16; ++bits) out.push_back(decode(bits, f));
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i)
    out.push_back(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -85 + static_cast<int>(random() % 40)));
  return out;
}

TEST(Rounding, EightBitFloatsAreTheNearestOfTheirTable) {
  const std::vector<double> numbers = many_numbers();
  for (const tests::Float8Format& f : tests::kFloat8Formats) {
    const tests::Float8Table table(f);
    EXPECT_EQ(table.value(f.numbers - 1), f.greatest);
    EXPECT_EQ(table.value(1), f.least);
    const auto check = [&](double v) {
      const double expected = table.value(table.nearest(v)), got = round_to(f.dtype, v);
      if (std::isnan(expected)) return std::isnan(got);
      return got == expected && std::signbit(got) == std::signbit(expected);
    };
    for (const double v : numbers) ASSERT_TRUE(check(v)) << base::name_of(f.dtype) << " of " << v;
    for (int code = 0; code + 1 < f.numbers; ++code) {
      const double value = table.value(code), middle = (value + table.value(code + 1)) / 2;
      for (const double v : {value, middle, std::nextafter(middle, 0), std::nextafter(middle, kInfinite)})
        ASSERT_TRUE(check(v) && check(-v)) << base::name_of(f.dtype) << " of " << v;
    }
  }
}

TEST(Rounding, F64IsKept) {
  for (const double v : {0x1.fffffffffffffp1023, 0x1p-1074, -0.1, kInfinite}) EXPECT_EQ(round_to(Dtype::kF64, v), v);
}

TEST(Rounding, IntegersSaturate) {
  EXPECT_EQ(round_to(Dtype::kI8, 200), 127);
  EXPECT_EQ(round_to(Dtype::kI8, -200), -128);
  EXPECT_EQ(round_to(Dtype::kI8, 2.5), 2);
  EXPECT_EQ(round_to(Dtype::kI8, 3.5), 4);
  EXPECT_EQ(round_to(Dtype::kI32, 1e12), 2147483647);
  EXPECT_EQ(round_to(Dtype::kI32, -kInfinite), -2147483648.0);
  EXPECT_EQ(round_to(Dtype::kI32, std::nan("")), 0);
}

RC_GTEST_PROP(RoundingProperty, F32IsTheMachineFloat, (double v)) {
  RC_ASSERT(round_to(Dtype::kF32, v) == static_cast<double>(static_cast<float>(v)));
}

}  // namespace
}  // namespace tilescope::expr
