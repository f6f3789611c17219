// SPDX-License-Identifier: Apache-2.0
// Products with scales: a step's sums begin at zero and are added, scaled, to the results; kernels without either are
// found wrong.

#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"

namespace tilescope::lower {
namespace {

using testing::HasSubstr;

const arch::ArchSpec& h200() {
  static const arch::ArchSpec chip = tests::chip("h200");
  return chip;
}

// Two warp groups of 64 rows and 64 columns each, three steps of 128 along k.
tile::RProgram scaled(const std::string& more = "") {
  return tests::program(
      R"({"arch":"h200","nodes":[{"expr":"C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]","sizes":{"m":200,
"n":192,"k":384},"dtype":"f8e4m3","dtypes":{"C":"f32","S":"f32","T":"f32"},"accumulate":"f32","tiles":{"smem":{"m":128,
"n":64,"k":128}},"mapping":{"m":{"threads":2,"per_thread":64},"n":{"per_thread":64}},"mma":{"name":"wgmma.f8e4m3",
"m":"m","n":"n","k":"k"})" +
          more + R"(}],"edges":[]})",
      h200());
}

std::vector<Wgmma*> products_of(Module& m) {
  std::vector<Wgmma*> out;
  tests::each_body(m.kernels[0].body, [&](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* one = std::get_if<Wgmma>(&s.what)) out.push_back(one);
  });
  return out;
}

TEST(Scales, GiveTheReferencesValues) {
  for (const char* more : {"", R"(,"num_stages":3)", R"(,"unroll":64)", R"(,"split":{"k":3})"}) {
    const tile::RProgram p = scaled(more);
    EXPECT_EQ(tests::wrong_outputs(p, tests::lowered(p, h200())), "") << more;
  }
}

TEST(Scales, PromoteAStepsSums) {
  const std::string text = print(tests::lowered(scaled(), h200()));
  EXPECT_THAT(text, HasSubstr("C_step"));
  EXPECT_THAT(text, HasSubstr("from 0 unless"));
  EXPECT_THAT(text, HasSubstr("promote the step's sums"));
}

// Sums that go on from the step before are counted twice.
TEST(Scales, SumsThatDoNotBeginAtZeroAreFound) {
  const tile::RProgram p = scaled();
  Module m = tests::lowered(p, h200());
  const std::vector<Wgmma*> products = products_of(m);
  ASSERT_EQ(products.size(), 1U);
  ASSERT_FALSE(products[0]->adds.empty());
  products[0]->adds[0].value.constant += 1;  // now no chunk begins anew
  EXPECT_THROW(tests::wrong_outputs(p, m), KernelError);
}

// Without the wait the sums of products in flight are read.
TEST(Scales, SumsThatAreNotAwaitedAreFound) {
  const tile::RProgram p = scaled();
  Module m = tests::lowered(p, h200());
  ASSERT_TRUE(tests::remove<WgmmaCommitWait>(m.kernels[0], 0));
  EXPECT_THROW(tests::wrong_outputs(p, m), KernelError);
}

}  // namespace
}  // namespace tilescope::lower
