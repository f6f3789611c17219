// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/osdi22_policy.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/osdi22.h"

namespace tilescope::tests {
namespace {

using construct::Osdi22Policy;
using construct::Osdi22Steps;
using construct::Osdi22Tiles;
using Tile2 = std::pair<std::int64_t, std::int64_t>;
using Steps = std::vector<std::int64_t>;

// A policy with what it refers to.
struct Case {
  std::shared_ptr<const tile::TileSpace> space;
  arch::RollerBaseline constants;
  Osdi22Policy policy{*space, constants};
};

Case matmul_case(const std::string& device, std::int64_t m, std::int64_t n, std::int64_t k) {
  const expr::Expression e = expression_of("C[m,n] +=! A[m,k] * B[k,n]", {{"m", m}, {"n", n}, {"k", k}});
  return {tile::make_space(e, tile::no_collapse(e.stages.front())), osdi22_constants(device)};
}

Case reduction_case(const std::string& device, std::int64_t rows, std::int64_t columns) {
  const expr::Expression e = expression_of("O[i] +=! I[i,j]", {{"i", rows}, {"j", columns}});
  return {tile::make_space(e, tile::no_collapse(e.stages.front())), osdi22_constants(device)};
}

// Register tiles of a large matmul from which blocks are built without need.
std::set<Tile2> accepted_register_tiles(const std::string& device, std::int64_t k) {
  const Case c = matmul_case(device, 4096, 4096, k);
  const Osdi22Steps steps = c.policy.register_steps(0);
  std::set<Tile2> out;
  for (const std::int64_t m : steps[0]) {
    for (const std::int64_t n : steps[1]) {
      const Osdi22Tiles p{{m, n, 1}, {}};
      if (c.policy.fits(p) && c.policy.accepts(p)) out.insert({m, n});
    }
  }
  return out;
}

TEST(Osdi22Policy, AcceptsTheKnownRegisterTiles) {
  EXPECT_EQ(accepted_register_tiles("v100", 64), (std::set<Tile2>{{4, 8}, {4, 16}, {8, 4}, {8, 8}, {16, 4}}));
  EXPECT_EQ(accepted_register_tiles("k80", 64), (std::set<Tile2>{{8, 8}}));
  EXPECT_TRUE(accepted_register_tiles("mi50", 64).empty());
  for (const char* device : {"v100", "k80", "mi50"}) EXPECT_TRUE(accepted_register_tiles(device, 2).empty()) << device;
}

TEST(Osdi22Policy, ReductionStepsAreWholeTransactionsAndTheCap) {
  const auto steps = [](const std::string& device, std::int64_t k) {
    return matmul_case(device, 4096, 4096, k).policy.block_steps({8, 8, 1}, 0)[2];
  };
  EXPECT_EQ(steps("k80", 1024), (Steps{8, 32}));
  EXPECT_EQ(steps("k80", 27), (Steps{8, 27}));
  EXPECT_EQ(steps("k80", 2), (Steps{2}));
  EXPECT_EQ(steps("mi50", 1024), (Steps{16, 32}));
  const Case without_reuse = reduction_case("k80", 65536, 1024);
  EXPECT_EQ(without_reuse.policy.block_steps({2, 1}, 0)[1], (Steps{32, 64, 128}));
}

TEST(Osdi22Policy, BlockExtentsAreMultiplesThatWasteLittle) {
  const Case c = matmul_case("k80", 96, 100, 64);
  // Rows: multiples of 4 that divide 96. Columns: of lcm(4, 8), and none of those divides 100.
  EXPECT_EQ(c.policy.block_steps({4, 4, 1}, 0)[0], (Steps{4, 8, 12, 16, 24, 32, 48, 96}));
  EXPECT_TRUE(c.policy.block_steps({4, 4, 1}, 0)[1].empty());
  EXPECT_EQ(c.policy.block_steps({4, 4, 1}, 0.04)[1], (Steps{8, 104})) << "100 in 8s or in one piece are 104";
}

TEST(Osdi22Policy, ReuseGrowsFirstAndOtherwiseTheLastAxis) {
  const Case with_reuse = matmul_case("v100", 4096, 4096, 4096);
  EXPECT_TRUE(with_reuse.policy.axis_order({64, 32, 8}) == (base::FixedVector<int, tile::kMaxAxes>{1, 0, 2}));
  const Case without = reduction_case("v100", 65536, 1024);
  EXPECT_TRUE(without.policy.axis_order({64, 32}) == (base::FixedVector<int, tile::kMaxAxes>{1, 0}));
}

TEST(Osdi22Policy, ShrinksUntilEveryCoreHasABlock) {
  const Case c = matmul_case("v100", 128, 1000, 4032);
  const Osdi22Tiles p = c.policy.shrunk({{8, 4, 1}, {128, 96, 8}});
  EXPECT_TRUE(p.block == (tile::Extents{32, 24, 8}));
  EXPECT_TRUE(p.thread == (tile::Extents{2, 1, 1}));
}

// What lets a program of the search be a program of ours, whose threads all have equally much to do.
RC_GTEST_PROP(Osdi22Policy, ShrunkRegisterTilesDivideTheirBlockTiles, ()) {
  static const Case kCase = matmul_case("v100", 128, 1000, 4032);
  Osdi22Tiles p{{1, 1, 1}, {1, 1, 8}};
  for (std::size_t a = 0; a < 2; ++a) {
    p.thread[a] = std::int64_t{1} << *rc::gen::inRange(0, 6);
    p.block[a] = p.thread[a] * *rc::gen::inRange(1, 512);
  }
  const Osdi22Tiles shrunk = kCase.policy.shrunk(p);
  for (std::size_t a = 0; a < 2; ++a) RC_ASSERT(shrunk.block[a] % shrunk.thread[a] == 0);
}

}  // namespace
}  // namespace tilescope::tests
