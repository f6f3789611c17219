// SPDX-License-Identifier: Apache-2.0
#include "api/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/verify/verify_programs.h"
#include "backends/cuda/process.h"
#include "tests/support/build.h"
#include "tests/support/environment.h"
#include "tests/support/silent.h"

namespace tilescope::api {
namespace {

using tests::kSilent;

// O[i] = ... by one block of 32 threads.
GivenProgram element_wise(const std::string& id, const std::string& op) {
  const expr::Expression e = tests::expression(op, "i=32");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  GivenProgram out;
  out.id = out.place = id;
  out.program = tile::program_of("v100", tile::make_stage_program(space, {{1, 32, 1}}, {32}, {16}));
  return out;
}

std::string compiler() {
  const char* chosen = std::getenv("CXX");
  return chosen == nullptr ? "g++" : chosen;
}

// S[i] = a sum over k in three parts.
GivenProgram sums(const std::string& op, base::Dtype dtype) {
  const expr::Expression e = tests::expression(op, "i=40,k=30", {}, dtype);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram stage = tile::make_stage_program(space, {{1, 32, 1}}, {32, 4}, {16});
  stage.split[1] = 3;
  GivenProgram out;
  out.program = tile::program_of("v100", stage);
  return out;
}

TEST(Verify, SumsOfIntegersWrapAndAreEqualUnlessTheyRound) {
  base::Diagnostics diags;
  const auto rows = verify_programs({sums("S[i] +=! A[i,k] * 1000000007 * B[k]", base::Dtype::kI32),
                                     sums("S[i] +=! A[i,k] * alpha", base::Dtype::kI8)},
                                    tests::v100(), 1, kSilent, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  for (const VerifiedRow& r : *rows) {
    EXPECT_THAT(r.errors, testing::IsEmpty());
    EXPECT_TRUE(r.values_ok);
  }
  EXPECT_EQ((*rows)[0].allowed_errors.units, 0);
  EXPECT_GT((*rows)[1].allowed_errors.units, 0)
      << "halves are rounded at every step, in another order than by plain loops";
}

// Few points, and a tensor of 8 GiB that they lie in; beside a program that is verified.
TEST(Verify, RefusesTensorsThatMemoryDoesNotHold) {
  base::Diagnostics diags;
  const auto rows =
      verify_programs({element_wise("far", "O[i] = A[i+2147483647]"), element_wise("near", "O[i] = A[i+2147]")},
                      tests::v100(), 1, kSilent, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  ASSERT_EQ((*rows)[0].errors.size(), 1U);
  EXPECT_THAT((*rows)[0].errors[0], testing::HasSubstr("far: tensors of 2.15e+09 elements are too many"));
  EXPECT_TRUE((*rows)[1].values_ok);
}

TEST(Verify, AKernelThatTheCompilerRefusesLosesItsOwnRow) {
  // A compiler to which the name of one tensor is not a name.
  const tests::EnvironmentVariable cxx("CXX", compiler() + " -DUnspeakable=-");
  const cuda::TemporaryFolder cache;
  const tests::EnvironmentVariable folder("TILESCOPE_CACHE", cache.path());
  const std::vector<GivenProgram> given = {element_wise("plain", "O[i] = A[i]"),
                                           element_wise("refused", "O[i] = Unspeakable[i]"),
                                           element_wise("doubled", "O[i] = A[i] + A[i]")};
  base::Diagnostics diags;
  const auto rows = verify_programs(given, tests::v100(), 1, kSilent, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  ASSERT_EQ(rows->size(), 3U);
  for (const std::size_t good : {0, 2}) {
    EXPECT_THAT((*rows)[good].errors, testing::IsEmpty());
    EXPECT_TRUE((*rows)[good].values_ok && (*rows)[good].counters_ok) << (*rows)[good].id;
  }
  EXPECT_FALSE((*rows)[1].values_ok);
  ASSERT_EQ((*rows)[1].errors.size(), 1U);
  EXPECT_THAT((*rows)[1].errors.front(),
              testing::MatchesRegex("refused: the C\\+\\+ compiler refuses its kernels: [^\n]*error: [^\n]*"));
}

}  // namespace
}  // namespace tilescope::api
