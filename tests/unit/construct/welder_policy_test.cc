// SPDX-License-Identifier: Apache-2.0
// One tile after another by the policy of Welder's open code.

#include "construct/detail/welder_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/welder_open.h"
#include "tests/support/paths.h"
#include "tests/support/welder.h"

namespace tilescope::tests {
namespace {

using construct::WelderPolicy;
using construct::WelderTile;
using testing::ElementsAre;

double number(const base::Value& v) {
  if (const auto* n = v.get_if<std::int64_t>()) return static_cast<double>(*n);
  return *v.get_if<double>();
}

// Columns: tile, traffic, bytes of shared memory, whether it is valid, blocks of a core, waves, grid; -1 where it is
// not.
TEST(WelderPolicyGolden, EveryTileOfTheSweep) {
  const auto path = shared_path("data/golden/welder_golden.json");
  if (!path) GTEST_SKIP() << "needs data/golden/welder_golden.json of the shared data ($TILESCOPE_SHARED)";
  const base::Value document = json_file(*path);
  const tile::TileGraph graph = tile::make_tile_graph(expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=768,k=512"));
  const WelderPolicy policy(graph, welder_constants("V100"));
  const base::List& rows = *document.find("sweep")->find("rows")->get_if<base::List>();
  for (const base::Value& v : rows) {
    const base::List& row = *v.get_if<base::List>();
    const auto whole = [&](std::size_t i) { return *row[i].get_if<std::int64_t>(); };
    const WelderTile t = policy.evaluate({whole(0), whole(1)}, {{32}});
    SCOPED_TRACE(testing::Message() << whole(0) << 'x' << whole(1));
    EXPECT_EQ(t.traffic_bytes, number(row[2]));
    EXPECT_EQ(t.smem_bytes, whole(3));
    EXPECT_EQ(t.valid, *row[4].get_if<bool>());
    if (!t.valid) continue;
    EXPECT_EQ(t.blocks_per_core, whole(5));
    EXPECT_EQ(t.waves, whole(6));
    EXPECT_EQ(t.grid, whole(7));
  }
  EXPECT_EQ(rows.size(), 126U);
}

TEST(WelderPolicy, LongPrimesAreSteppedThroughByPowersOfTwo) {
  const tile::TileGraph graph = tile::make_tile_graph(expression("O[i] +=! I[i,k]", "i=64,k=769"));
  EXPECT_THAT(WelderPolicy(graph, welder_constants("V100")).first_steps(), ElementsAre(tile::Extents{32}));
}

TEST(WelderPolicy, ABaseTileHoldsWhatSavesRecomputation) {
  const auto base_of = [](const char* op, const char* sizes) {
    const tile::TileGraph graph = tile::make_tile_graph(expression(op, sizes));
    return WelderPolicy(graph, welder_constants("V100")).base_tile();
  };
  EXPECT_EQ(base_of("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64"), (tile::Extents{1, 1}));
  EXPECT_EQ(base_of("B[i,j] = exp(A[i,j]); O[i,j] = B[i,j] * B[i,j]", "i=64,j=96"), (tile::Extents{1, 1}));
  EXPECT_EQ(base_of("E[i,j] = exp(A[i,j]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=64,j=96"),
            (tile::Extents{1, 96}));
}

// The paper's example (OSDI'23, Figure 2): bytes that pass in all where blocks have the tile that suits the softmax
// best alone, and where they have one that suits both.
TEST(WelderPolicy, TheTileOfAProductIntoASoftmaxDecidesItsTraffic) {
  const tile::TileGraph graph = tile::make_tile_graph(
      expression("S[m,n] +=! A[m,k] * B[k,n]; M[m] max=! S[m,n]; E[m,n] = exp(S[m,n] - M[m]); L[m] +=! E[m,n]; "
                 "P[m,n] = E[m,n] / L[m]",
                 "m=98304,n=128,k=64"));
  const WelderPolicy policy(graph, welder_constants("V100"));
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
  const auto moved = [&](const tile::Extents& tile, std::int64_t blocks, double block_bytes) {
    const WelderTile t = policy.evaluate(tile, policy.first_steps());
    EXPECT_TRUE(t.valid);
    EXPECT_EQ(t.grid, blocks);
    EXPECT_EQ(t.traffic_bytes, block_bytes);
    return t.traffic_bytes * static_cast<double>(t.grid);
  };
  EXPECT_EQ(moved({4, 128}, 24576, 35 * kKiB), 840 * kMiB);
  EXPECT_EQ(moved({16, 128}, 6144, 44 * kKiB), 264 * kMiB);
}

TEST(WelderOpen, AChipWithoutMatrixInstructionsSharesAmongThreads) {
  const auto e = expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", "", base::Dtype::kF16);
  const auto warps = [&](const char* chip) {
    return construct::welder_open(e, welder_constants(chip), 1).configurations.at(0).stages.at(0).warps.has_value();
  };
  EXPECT_TRUE(warps("A100"));
  EXPECT_FALSE(warps("MI50"));
}

TEST(WelderOpen, HasNothingWhereOutputsDifferInRank) {
  const auto e = expression("B[i,j] = exp(A[i,j]); C[i] +=! A[i,j]", "i=64,j=64");
  EXPECT_TRUE(construct::welder_open(e, welder_constants("V100"), 1).configurations.empty());
}

}  // namespace
}  // namespace tilescope::tests
