// SPDX-License-Identifier: Apache-2.0
// Persistent blocks move what blocks of one tile each move, and take no longer, by the simulator and by the model.

#include <string>

#include <gtest/gtest.h>

#include "model/simt/estimate.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"
#include "tile/tile_loop.h"

namespace tilescope::tests {
namespace {

constexpr std::int64_t kSide = 3072, kDepth = 256, kTile = 128;
constexpr const char* kSizes = R"({"m":3072,"n":3072,"k":256})";  // 576 tiles of four steps, on 132 cores

tile::RProgram product_of(tile::TileLoop loop, bool clusters, const arch::ArchSpec& a,
                          const std::string& sizes = kSizes) {
  tile::RProgram p = program(R"({"arch":"h200","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":)" + sizes + "," +
                                 R"("dtype":"f16","tiles":{"smem":{"m":128,"n":128,"k":64}},)"
                                 R"("mapping":{"m":{"per_thread":128},"n":{"per_thread":128}},"registers":168,)"
                                 R"("mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"},"num_stages":4,)"
                                 R"("cached":{"A":"smem","B":"smem","C":"smem"},)"
                                 R"("copy":{"A":"tma","B":"tma","C":"tma"},"box":{"A":64,"B":64,"C":64})" +
                                 std::string(clusters ? R"(,"cluster":{"m":2})" : "") + R"(}],"edges":[]})",
                             a);
  if (loop.blocks > 0) p.simt()[0] = tile::with_tile_loop(p.simt()[0], loop, a).value();
  return p;
}

class PersistentBlocks : public testing::TestWithParam<bool> {};

TEST_P(PersistentBlocks, MoveWhatOthersMoveInLessTime) {
  const arch::ArchSpec a = chip("h200");
  const tile::RProgram plain = product_of({}, GetParam(), a);
  const sim::SimReport before = simulated(lowered(plain, a), a);
  const auto expected = model::estimate(plain, model::make_machine(a));
  ASSERT_TRUE(expected);
  const std::int64_t distinct = 2 * kSide * kDepth * 2, tiles = (kSide / kTile) * (kSide / kTile);
  for (const std::int64_t crews : {1, 2}) {
    SCOPED_TRACE(crews);
    const tile::RProgram p = product_of({132, crews}, GetParam(), a);
    const sim::SimReport r = simulated(lowered(p, a), a);
    EXPECT_EQ(level(r, "dram").read_bytes, distinct);
    EXPECT_EQ(level(r, "l2").read_bytes, level(before, "l2").read_bytes);
    EXPECT_EQ(level(r, "l2").written_bytes, kSide * kSide * 2);
    EXPECT_EQ(level(r, "smem").written_bytes, tiles * kTile * 2 * (2 * kDepth + kTile));
    EXPECT_LT(running_cycles(r), running_cycles(before));
    const auto e = model::estimate(p, model::make_machine(a));
    ASSERT_TRUE(e);
    EXPECT_LE(e->total_us, 1.02 * expected->total_us);
    EXPECT_LE(e->dram_read_bytes, expected->dram_read_bytes);
    EXPECT_EQ(e->dram_written_bytes, expected->dram_written_bytes);
    EXPECT_NEAR(e->total_us / running_cycles(r), expected->total_us / running_cycles(before),
                0.25 * expected->total_us / running_cycles(before));
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, PersistentBlocks, testing::Values(false, true));

// Many tiles a core: whichever the tile, no later than blocks of one tile each.
TEST(PersistentTimes, AreNoLaterWhereTilesAreManyMoreThanCores) {
  const arch::ArchSpec a = chip("h200");
  for (const bool clusters : {false, true}) {
    const auto plain = model::estimate(product_of({}, clusters, a), model::make_machine(a));
    double last = plain->total_us;
    for (const std::int64_t crews : {1, 2}) {
      const auto e = model::estimate(product_of({132, crews}, clusters, a), model::make_machine(a));
      EXPECT_LE(e->total_us, 1.02 * last);
      last = e->total_us;
    }
    // Half as many blocks leave half of the cores idle.
    EXPECT_GT(model::estimate(product_of({66, 1}, clusters, a), model::make_machine(a))->total_us, 1.2 * last);
  }
}

// Four tiles of 64 steps a core. Roles that are in different tiles cannot skip steps together.
TEST(PersistentTimes, AreAsLongWhereStepsAreSkipped) {
  const arch::ArchSpec a = chip("h200", {{"core.count", "16"}});
  for (const bool clusters : {false, true})
    for (const std::int64_t crews : {1, 2}) {
      SCOPED_TRACE(testing::Message() << crews << " crews, clusters " << clusters);
      const lower::Module m = lowered(product_of({16, crews}, clusters, a, R"({"m":1024,"n":1024,"k":4096})"), a);
      const double full = running_cycles(simulated(m, a)),
                   sampled = running_cycles(simulated(m, a, sim::Mode::kSampled));
      EXPECT_NEAR(sampled, full, 0.03 * full);
    }
}

}  // namespace
}  // namespace tilescope::tests
