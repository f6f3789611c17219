// SPDX-License-Identifier: Apache-2.0
// What the model is known to get wrong, each with its present size: a test that fails here has found a gap closed (or
// grown), and docs/claims.yaml and docs/model.md are to be changed.

#include <gtest/gtest.h>

#include "model/simt/detail/traffic.h"
#include "model/simt/estimate.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"
#include "tests/unit/model/naive_traffic.h"

namespace tilescope::model {
namespace {

void expect_between(double least, double value, double most) {
  EXPECT_GE(value, least);
  EXPECT_LE(value, most);
}

// The best program of D1 reads straight from the core's cache; with twice the blocks a core their lines do not fit it.
TEST(KnownGap, MoreResidentBlocksEvictEachOthersLines) {
  const expr::Expression e = tests::expression("O[n,c,y,x] +=! I[n,c,y+r-2,x+s-2] * W[c,r,s]",
                                               "n=128,c=42,y=83,x=83,r=5,s=5", "I=128,42,83,83");
  tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                               {{2, 1, 1}, {1, 1, 1}, {2, 4, 1}, {1, 8, 1}}, {1, 1, 1, 1, 5, 5}, {16});
  p.operands[0] = p.operands[1] = {};
  const arch::ArchSpec more_blocks = tests::chip("v100", {{"core.max_blocks", "64"}});
  const double before = estimate_stage(p, tests::machine("v100"))->total_us;
  // It was 1.5 while the busiest of a core's resources alone was queued for, 1.8 while every read had an address, 2.4
  // while a request took a slice's port for its data alone.
  expect_between(1.4, estimate_stage(p, make_machine(more_blocks))->total_us / before, 3);
}

// The model's bytes between the cores and the device cache over those of the sectors that are touched.
double bytes_over_naive(const tile::StageProgram& p, std::size_t operand) {
  constexpr std::int64_t kSector = 32;
  return traffic_of(p, tests::machine("v100"), 1).operand[operand].cache_bytes /
         tests::naive_cache_bytes(p, operand, kSector);
}

TEST(KnownGap, FilterTapsAreCountedOneByOne) {
  const expr::Expression e = tests::expression("O[n,f,y,x] +=! I[n,c,y+r-1,x+s-1] * W[f,c,r,s]",
                                               "n=4,c=16,f=8,y=14,x=14,r=3,s=3", "I=4,16,14,14");
  const auto space = tile::make_space(e, tile::contraction_collapse(e).value());
  ASSERT_TRUE(space->inputs[0].im2col);
  expect_between(3, bytes_over_naive(tests::with_blocks(space, {8, 64, 8}), 0), 5);
}

TEST(KnownGap, RunsShorterThanASectorCountWholeSectors) {
  const expr::Expression e = tests::expression("O[n,x,y,c] = I[n,c,y,x]", "n=2,c=8,y=4,x=4");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  expect_between(2, bytes_over_naive(tests::with_blocks(space, {2, 2, 2, 8}), 0), 2.5);
}

}  // namespace
}  // namespace tilescope::model
