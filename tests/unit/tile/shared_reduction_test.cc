// SPDX-License-Identifier: Apache-2.0
// How the results of threads that share a reduction meet.

#include "tile/shared_reduction.h"

#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tile/staging.h"

namespace tilescope::tile {
namespace {

using tests::chip;

// Four rows of 2048, two to a block, each by so many threads.
StageProgram row_sums(std::int64_t sharers, base::Dtype dtype = base::Dtype::kF32) {
  const expr::Expression e = tests::expression("O[i] +=! I[i,k]", "i=4,k=2048", {}, dtype);
  StageProgram p = make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 1, 2}}, {1, sharers}, {16});
  p.reduction_threads[1] = sharers;
  p.operands[0] = {};
  return p;
}

void expect_sharing(std::int64_t sharers, const arch::ArchSpec& a, std::int64_t lanes, std::int64_t groups) {
  const ReductionSharing s = sharing_of(row_sums(sharers), a.core);
  EXPECT_EQ(s.lanes, lanes) << sharers;
  EXPECT_EQ(s.groups, groups) << sharers;
}

TEST(SharedReduction, ByShufflesWithinAWarpAndThroughTheScratchpad) {
  const arch::ArchSpec narrow = chip("v100"), wide = chip("mi210");
  for (const std::int64_t n : {1, 2, 4, 8, 16, 32}) {
    expect_sharing(n, narrow, n, 1);
    expect_sharing(n, wide, n, 1);
  }
  expect_sharing(64, narrow, 32, 2);
  expect_sharing(64, wide, 64, 1);
  expect_sharing(128, narrow, 32, 4);
  expect_sharing(128, wide, 64, 2);
  expect_sharing(1024, narrow, 32, 32);
  expect_sharing(1024, wide, 64, 16);
}

TEST(SharedReduction, LanesArePowersOfTwo) {
  const arch::ArchSpec a = chip("v100");
  expect_sharing(3, a, 1, 3);
  expect_sharing(6, a, 2, 3);
  expect_sharing(48, a, 16, 3);
  expect_sharing(96, a, 32, 3);
}

TEST(SharedReduction, ThroughTheScratchpadAloneWithoutShuffles) {
  arch::ArchSpec a = chip("v100");
  a.core.shuffle.reset();
  for (const std::int64_t n : {1, 2, 8, 32, 64, 1024}) expect_sharing(n, a, 1, n);
}

TEST(SharedReduction, StagesAPartOfEveryGroup) {
  const arch::ArchSpec a = chip("v100");
  EXPECT_EQ(shared_parts_bytes(row_sums(32), a.core).n, 0);
  EXPECT_EQ(shared_parts_bytes(row_sums(128), a.core).n, 2 * 4 * 4) << "two rows, four groups";
  EXPECT_EQ(shared_parts_bytes(row_sums(128, base::Dtype::kF16), a.core).n, 2 * 4 * 4) << "in f32";
  EXPECT_EQ(shared_parts_bytes(row_sums(128, base::Dtype::kF64), a.core).n, 2 * 4 * 8);
  EXPECT_EQ(staging_of(row_sums(128), a.core).bytes.n, 2 * 4 * 4);
}

TEST(SharedReduction, Refusals) {
  const arch::ArchSpec a = chip("v100");
  EXPECT_EQ(sharing_refusal(row_sums(128), a), "");
  StageProgram p = row_sums(8);
  p.thread[1] = 3;
  EXPECT_EQ(sharing_refusal(p, a), "8 threads share k by 3 iterations, which does not cut a step of 8");
  p.block[1] = 48;
  EXPECT_EQ(sharing_refusal(p, a), "");
}

}  // namespace
}  // namespace tilescope::tile
