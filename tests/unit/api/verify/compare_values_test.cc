// SPDX-License-Identifier: Apache-2.0
// How far values may be from plain loops: by hand, and with outputs that are all zero.

#include "api/verify/compare_values.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "lower/expected_values.h"
#include "tests/support/build.h"

namespace tilescope::api {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

tile::RProgram program(const std::string& op, const std::string& sizes, base::Dtype dtype) {
  const expr::Expression e = tests::expression(op, sizes, {}, dtype);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram stage;
  stage.space = space;
  return tile::program_of("v100", stage);
}

TEST(ValueErrors, AreRelativeOfRealsAndUnitsOfIntegers) {
  const ValueErrors real = api::errors_of(base::Dtype::kF32, {1, 2.5}, {1, 2});
  EXPECT_EQ(real.ratio, 0.25);
  EXPECT_EQ(real.units, 0);
  const ValueErrors whole = api::errors_of(base::Dtype::kI8, {1, 5}, {1, 2});
  EXPECT_EQ(whole.ratio, 0);
  EXPECT_EQ(whole.units, 3);
  EXPECT_EQ(api::errors_of(base::Dtype::kI32, {0x1p21 + 4}, {0x1p21}).units, 1)
      << "a unit is 2^-19 of the greatest value";
}

TEST(ValueErrors, WhatIsNotFiniteEqualsItselfAlone) {
  const std::vector<double> values = {1, kNan, HUGE_VAL, -HUGE_VAL};
  for (const base::Dtype dtype : {base::Dtype::kF32, base::Dtype::kI8})
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < values.size(); ++j) {
        const ValueErrors e = api::errors_of(dtype, {2, values[i]}, {2, values[j]});
        EXPECT_EQ(e.ratio + e.units, i == j ? 0 : HUGE_VAL) << values[i] << " where " << values[j] << " is expected";
      }
  EXPECT_EQ(api::errors_of(base::Dtype::kF32, {1}, {1, 2}).ratio, HUGE_VAL);
}

TEST(ValueErrors, AllowedOfIntegersAreUnits) {
  EXPECT_EQ(allowed_errors(program("O[i] = A[i] * B[i]", "i=64", base::Dtype::kI8)).units, 0);
  EXPECT_EQ(allowed_errors(program("O[i] = A[i] / B[i]", "i=64", base::Dtype::kI8)).units, 1);
  EXPECT_EQ(allowed_errors(program("O[i] +=! A[i,k] * B[k]", "i=40,k=30", base::Dtype::kI32)).units, 0);
  EXPECT_EQ(allowed_errors(program("O[i] +=! A[i,k] * alpha", "i=40,k=30", base::Dtype::kI8)).units, 16);
}

// A kernel that stores nothing but zeros is wrong, whatever rounds.
TEST(ValueErrors, AnOutputOfZerosIsWrong) {
  for (const std::string op : {"O[i] = exp(A[i])", "O[i] = A[i] * B[i] / 2.0", "O[i] +=! A[i,k] * B[k] * alpha"})
    for (const base::Dtype dtype :
         {base::Dtype::kI8, base::Dtype::kI32, base::Dtype::kF16, base::Dtype::kF32, base::Dtype::kF64,
          base::Dtype::kF8E4M3, base::Dtype::kF8E5M2, base::Dtype::kF8E4M3Fnuz, base::Dtype::kF8E5M2Fnuz}) {
      const bool adds = op.find("+=!") != std::string::npos;
      const tile::RProgram p = program(op, adds ? "i=64,k=16" : "i=64", dtype);
      std::mt19937 random(1);
      lower::NamedValues expected;
      lower::add_expected_values(p, random, expected);
      const expr::Values& right = expected.at("O");
      EXPECT_TRUE(api::errors_of(dtype, right, right).within(allowed_errors(p)));
      EXPECT_FALSE(api::errors_of(dtype, expr::Values(right.size()), right).within(allowed_errors(p)))
          << op << " in " << base::name_of(dtype);
    }
}

// Of those elements alone, a later stage's against what the run has of an earlier one.
TEST(ValueErrors, OfSomeElementsAreOfThose) {
  tile::RProgram p = program("T[i] +=! A[i,k] * B[k]", "i=4,k=3", base::Dtype::kF32);
  p.simt().push_back(program("O[i] = T[i] + T[i]", "i=4", base::Dtype::kF32).simt().front());
  const lower::NamedValues inputs = {{"A", {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1}}, {"B", {1, 1, 2}}};
  lower::NamedValues outputs = {{"T", {9, 21, 33, 4}}, {"O", {18, 42, 66, 8}}};
  EXPECT_EQ(errors_of_elements(p, outputs, inputs, {{"T", {0, 1, 2, 3}}, {"O", {0, 1, 2, 3}}}).ratio, 0);
  outputs["T"] = {9, 22, 33, 4};
  EXPECT_EQ(errors_of_elements(p, outputs, inputs, {{"T", {0, 2, 3}}, {"O", {0, 2, 3}}}).ratio, 0);
  EXPECT_EQ(errors_of_elements(p, outputs, inputs, {{"T", {0, 2}}, {"O", {1}}}).ratio, 2.0 / 44);
  EXPECT_EQ(errors_of_elements(p, outputs, inputs, {{"T", {1}}, {"O", {2}}}).ratio, 1.0 / 21);
}

}  // namespace
}  // namespace tilescope::api
