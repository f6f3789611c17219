// SPDX-License-Identifier: Apache-2.0
// Where tiles of a search come from, and programs that are kept once.

#include "construct/detail/candidate_store.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "construct/candidate_pools.h"
#include "construct/detail/output_tiles.h"
#include "construct/detail/seed_tiles.h"
#include "tests/unit/construct/construct_on.h"

namespace tilescope::construct {
namespace {

using tile::Extents;

const expr::Expression kProduct = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=384,k=64");

struct Seeds : testing::Test {
  arch::ArchSpec chip = geometry_key(tests::chip("v100"));
  GrowthLimits limits = growth_limits(tests::chip("v100"));
  std::vector<Seed> seeds = seeds_of(kProduct, chip, {});
};

TEST_F(Seeds, GrowTilesOfTheGivenBlockAlone) {
  ASSERT_FALSE(seeds.empty());
  const Seed& seed = seeds.back();  // single elements
  const SeedTiles all = tiles_of(seed, limits, {});
  EXPECT_GE(all.strict, 1U);
  EXPECT_LE(all.strict, all.all.size());
  std::set<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> seen;
  for (const SeedTile& t : all.all)
    EXPECT_TRUE(seen.insert({{t.registers.begin(), t.registers.end()}, {t.block.begin(), t.block.end()}}).second)
        << "each once";
  const std::vector<std::int64_t> given = {64, 96};
  const SeedTiles some = tiles_of(seed, limits, given);
  ASSERT_FALSE(some.all.empty());
  for (const SeedTile& t : some.all)
    for (std::size_t a = 0; a < 2; ++a) {
      EXPECT_EQ(t.block[a], given[a]);
      EXPECT_EQ(t.block[a] % t.registers[a], 0);
    }
  EXPECT_TRUE(tiles_of(seed, limits, {64}).all.empty()) << "of another number of axes";
}

TEST_F(Seeds, AreProgramsThatAreKeptOnce) {
  const Seed& seed = seeds.back();
  CandidateStore store(chip);
  const auto program = [&](std::int64_t threads) {
    return program_of(seed, limits, Extents(seed.space->axes.size(), 1), {threads, 32, 16});
  };
  const CandidateStore::Id first = store.add(program(4)), second = store.add(program(8));
  EXPECT_NE(first, second);
  EXPECT_EQ(store.add(program(4)), first);
  EXPECT_EQ(store.size(), 2U);
  EXPECT_EQ(store[first].threads, 128);
  tile::StageProgram unrolled = program(4);
  unrolled.unroll = 2;
  const CandidateStore::Id third = store.add(std::move(unrolled));
  EXPECT_NE(third, first);
  EXPECT_EQ(store[third].tiles, first) << "of the same tiles";
  EXPECT_EQ(store[third].size, first);
  EXPECT_EQ(store[second].tiles, second);
  EXPECT_EQ(store.counted(), 0U);
  const model::Counts* counts = &store.counts(first);
  EXPECT_EQ(&store.counts(first), counts);
  EXPECT_EQ(store.counted(), 1U) << "once";
  EXPECT_GT(store.bytes(), 0U);
}

TEST(OutputTiles, ArePowersOfTwoAndWholeAxes) {
  const auto space = tile::make_space(kProduct, tile::contiguous_collapse(kProduct));
  const std::vector<Extents> all = output_tiles(*space);
  EXPECT_EQ(all.size(), 9U * 10) << "1 to 256, and 1 to 256 and 384";
  std::set<std::int64_t> rows, columns;
  for (const Extents& e : all) {
    rows.insert(e[0]);
    columns.insert(e[1]);
  }
  EXPECT_THAT(rows, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));
  EXPECT_TRUE(columns.contains(384) && !columns.contains(512));
  EXPECT_EQ(output_tiles(*space, 89).size(), 5U * 6) << "of four";
}

}  // namespace
}  // namespace tilescope::construct
