// SPDX-License-Identifier: Apache-2.0
// The model allocates nothing: it is asked millions of times.

#include <gtest/gtest.h>

#include "model/simt/counts.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/count_allocations.h"

namespace tilescope::model {
namespace {

using tests::allocations;

long allocations_of(const expr::Expression& e, const tile::AxisCollapse& collapse, std::int64_t threads,
                    const Machine& m) {
  const auto space = tile::make_space(e, collapse);
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping(space->spatial, {2, threads, 2});
  const tile::StageProgram p = tile::make_stage_program(space, mapping, tile::Extents(space->axes.size(), 4), {16});
  const long before = allocations;
  const auto estimate = estimate_stage(p, m);
  const long during = allocations - before;
  EXPECT_TRUE(estimate.has_value());
  return during;
}

TEST(Allocations, TheCounterCounts) {
  const long before = allocations;
  ::operator delete(::operator new(1));
  EXPECT_EQ(allocations - before, 1);
  constexpr std::align_val_t kAligned{64};
  ::operator delete(::operator new(64, kAligned), kAligned);
  EXPECT_EQ(allocations - before, 2);
}

TEST(Allocations, EstimatingAStageMakesNone) {
  const arch::ArchSpec chip = tests::chip("v100");
  const Machine m = make_machine(chip);
  const expr::Expression matmul = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512");
  EXPECT_EQ(allocations_of(matmul, tile::no_collapse(matmul.stages.front()), 16, m), 0);
  const expr::Expression conv =
      tests::expression("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=14,x=14,c=64,r=3,s=3");
  EXPECT_EQ(allocations_of(conv, *tile::contraction_collapse(conv), 16, m), 0);
  EXPECT_EQ(allocations_of(conv, tile::no_collapse(conv.stages.front()), 4, m), 0);
}

// Neither without what is known of other programs, nor where all of it is known.
TEST(Allocations, CountingAProgramAgainMakesNone) {
  const arch::ArchSpec chip = tests::chip("v100");
  const Geometry g = make_geometry(chip);
  const expr::Expression matmul = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512");
  const auto space = tile::make_space(matmul, tile::no_collapse(matmul.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{2, 12, 3}, {2, 16, 2}}, {1, 1, 8}, {16});
  p.operands[0].rotate = 2;
  p.operands[1].cached = false;
  const KernelStage kernel = alone(p, g.engines);
  CachedCosts known(g);
  for (CachedCosts* by : {static_cast<CachedCosts*>(nullptr), &known}) {
    CountsStorage first, again;
    count(p, kernel, g, first, by);
    const long before = allocations;
    count(p, kernel, g, again, by);
    EXPECT_EQ(allocations - before, 0);
  }
  EXPECT_GT(known.accesses().enumerated(), 0U) << "else nothing was to be remembered";
}

}  // namespace
}  // namespace tilescope::model
