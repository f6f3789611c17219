// SPDX-License-Identifier: Apache-2.0
#include "construct/roller_osdi22.h"

#include <gtest/gtest.h>

#include "tests/support/osdi22.h"

namespace tilescope::tests {
namespace {

expr::Expression matmul_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return expression_of("C[m,n] +=! A[m,k] * B[k,n]", {{"m", m}, {"n", n}, {"k", k}});
}

TEST(RollerOsdi22, FindsThePublishedProgramsOfTheTutorial) {
  const auto r = osdi22_search(matmul_of(4096, 4096, 4096), osdi22_constants("v100"));
  EXPECT_TRUE(r.io_dependent);
  ASSERT_EQ(r.programs.size(), 10u);
  EXPECT_EQ(logged_tile(r.programs[0]), (LoggedTile{{128, 64}, {8}, {8, 4}}));
  EXPECT_EQ(logged_tile(r.programs[5]), (LoggedTile{{128, 64}, {32}, {8, 4}}));
}

TEST(RollerOsdi22, ShrinksSmallMatmuls) {
  const auto r = osdi22_search(matmul_of(128, 1000, 4032), osdi22_constants("v100"));
  ASSERT_FALSE(r.programs.empty());
  EXPECT_EQ(logged_tile(r.programs[0]), (LoggedTile{{32, 24}, {8}, {2, 1}}));
}

TEST(RollerOsdi22, RegisterElementsAreVirtualThreads) {
  const auto r = osdi22_search(matmul_of(4096, 4096, 4096), osdi22_constants("v100"));
  const tile::StageProgram& p = r.programs.at(0);
  EXPECT_EQ(p.mapping[0], (tile::AxisMapping{.vthread = 8, .threads = 16, .per_thread = 1}));
  EXPECT_EQ(p.mapping[1], (tile::AxisMapping{.vthread = 4, .threads = 16, .per_thread = 1}));
  EXPECT_EQ(p.threads(), 256);
}

TEST(RollerOsdi22, ConvolutionIsSearchedAsAMatmul) {
  const auto e = expression_of("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]",
                               {{"n", 128}, {"f", 128}, {"y", 28}, {"x", 28}, {"c", 128}, {"r", 3}, {"s", 3}});
  const auto r = osdi22_search(e, osdi22_constants("v100"));
  ASSERT_FALSE(r.programs.empty());
  const tile::TileSpace& space = *r.programs[0].space;
  ASSERT_EQ(space.axes.size(), 3u);
  EXPECT_EQ(space.axes[0].name, "f");
  EXPECT_EQ(space.axes[1].name, "n.y.x");
  EXPECT_EQ(space.axes[2].name, "c.r.s");
}

TEST(RollerOsdi22, KeepsAsManyAsAsked) {
  const auto constants = osdi22_constants("v100");
  const auto e = matmul_of(4096, 4096, 4096);
  EXPECT_EQ(construct::roller_osdi22(e, constants, 3, {16}).programs.size(), 3u);
  EXPECT_TRUE(construct::roller_osdi22(e, constants, 0, {16}).programs.empty());
}

TEST(RollerOsdi22, NothingFillsAWarpWithOneElement) {
  const auto r = osdi22_search(expression_of("O[o] +=! I[o,i]", {{"o", 1}, {"i", 4096}}), osdi22_constants("v100"));
  EXPECT_TRUE(r.programs.empty());
  EXPECT_TRUE(r.rounds.empty());
}

}  // namespace
}  // namespace tilescope::tests
