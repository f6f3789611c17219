// SPDX-License-Identifier: Apache-2.0
// Numbers that would overflow, and shapes at the limits of the notation: an error, never undefined behaviour (the same
// tests run under the sanitizers).

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tile/stage_text.h"
#include "tile/fit.h"
#include "tile/staging.h"

namespace tilescope::tile {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::string matmul(std::string_view mapping_m, std::string_view smem, std::string_view rest = "") {
  return fmt::format(R"({{"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {{"m": 64, "n": 64, "k": 64}},
"tiles": {{"smem": {{{}}}}},
"mapping": {{"m": {{{}}}, "n": {{}}}}{}}})",
                     smem, mapping_m, rest);
}

std::vector<std::string> errors_of_stage(const std::string& stage) {
  return tests::read_stage(stage, tests::chip("v100")).errors;
}

TEST(Hostile, ProductsOfAnAxisAreBounded) {
  EXPECT_THAT(
      errors_of_stage(matmul(R"("vthread": 1099511627776, "threads": 1099511627776, "per_thread": 1099511627776)",
                             R"("m": 1, "n": 1, "k": 1)")),
      Contains("p.json:4:12: mapping.m: vthread x threads x per_thread: expected at most 2147483648, got "
               "1329227995784915872903807060280344576"));
  EXPECT_THAT(errors_of_stage(matmul(R"("threads": 2147483648)", R"("m": 2147483648, "n": 1, "k": 1)")), ElementsAre());
  EXPECT_THAT(
      errors_of_stage(matmul(R"("threads": 2147483649)", R"("m": 2147483649, "n": 1, "k": 1)")),
      ElementsAre("p.json:4:12: mapping.m: vthread x threads x per_thread: expected at most 2147483648, got 2147483649",
                  "p.json:4:12: mapping: the threads of all axes: expected at most 2147483648, got 2147483649"));
}

TEST(Hostile, TilesAreBounded) {
  EXPECT_THAT(errors_of_stage(matmul(R"("per_thread": 2147483648)", R"("m": 2147483648, "n": 1, "k": 1024)")),
              ElementsAre("p.json:3:10: tiles: elements of 'A' in a block's tile: expected at most 1099511627776, got "
                          "2199023255552"));
  EXPECT_THAT(errors_of_stage(matmul("", R"("m": 1, "n": 1, "k": 1099511627776)")), ElementsAre());
  EXPECT_THAT(errors_of_stage(matmul(R"("per_thread": 1048576)", R"("m": 1048576, "n": 1, "k": 1048576)",
                                     ", \"padding\": {\"A\": 1048576}")),
              ElementsAre("p.json:4:64: padding.A: elements of the padded tile: expected at most 1099511627776, got "
                          "2199023255552"));
}

TEST(Hostile, ManyAxesCannotMultiplyPastTheLimit) {
  std::string stage =
      R"({"expr": "O[a,b,c,d] = I[a,b,c,d]", "sizes": {"a": 2, "b": 2, "c": 2, "d": 2}, "tiles": {"smem": {}}, "mapping": {)";
  for (const char axis : {'a', 'b', 'c', 'd'})
    stage += fmt::format(R"({}"{}": {{"threads": 2147483648}})", axis == 'a' ? "" : ", ", axis);
  EXPECT_THAT(errors_of_stage(stage + "}}"),
              Contains(testing::HasSubstr("mapping: the threads of all axes: expected at most 2147483648, got "
                                          "21267647932558653966460912964485513216")));
}

TEST(Hostile, WideStridesAreBounded) {
  const std::string stage = R"({"expr": "O[i,j] = I[i*1099511627776,j]", "sizes": {"i": 1, "j": 2},
"tiles": {"smem": {"i": 1024, "j": 1}}, "mapping": {"i": {"threads": 1024}, "j": {}}})";
  EXPECT_THAT(errors_of_stage(stage),
              Contains(testing::StartsWith("p.json:3:10: tiles: elements of 'I' in a block's tile")));
}

TEST(Hostile, NumbersBeyond64BitsAreNoNumbers) {
  EXPECT_THAT(errors_of_stage(matmul(R"("threads": 99999999999999999999)", R"("m": 1, "n": 1, "k": 1)")),
              Contains(testing::HasSubstr("mapping.m.threads: expected a whole number from 1 to 1099511627776")));
}

TEST(Hostile, WhatIsAcceptedCanBeCounted) {
  const auto read = tests::read_stage(matmul(R"("per_thread": 1048576)", R"("m": 1048576, "n": 1, "k": 1048576)",
                                             R"(, "num_stages": 64, "unroll": 1099511627776, "split": {"k": 64})"),
                                      tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_FALSE(fits(read.program->simt()[0], tests::chip("v100")));
  EXPECT_GT(staging_of(read.program->simt()[0], tests::chip("v100").core).bytes.n, std::int64_t{1} << 40);
}

TEST(Hostile, AGatheredTensorMayUseMoreAxesThanItHasDimensions) {
  const auto read = tests::read_stage(
      R"({"expr": "O[a,b,c,d,e,f,g] +=! I[a+b+c+d+e+f+g+h+i, j+k]", "sizes": {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2,
"f": 2, "g": 2, "h": 2, "i": 2, "j": 2, "k": 2},
"tiles": {"smem": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j.k": 4}},
"mapping": {"a": {}, "b": {}, "c": {}, "d": {}, "e": {}, "f": {}, "g": {}}})",
      tests::chip("v100"));
  ASSERT_THAT(read.errors, ElementsAre());
  EXPECT_EQ(read.program->space(0).inputs[0].dims.size(), 10u);
}

}  // namespace
}  // namespace tilescope::tile
