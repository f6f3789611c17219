// SPDX-License-Identifier: Apache-2.0
// Spills by hand: the words that move, and the levels that they reach.

#include "model/simt/detail/spills.h"

#include <gtest/gtest.h>

#include "model/simt/registers.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

// 64 sums of a thread in blocks of 64 threads, 512 steps of 8 points, 4096 blocks.
tile::StageProgram product() {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{8, 8, 1}, {8, 8, 1}},
                                  {1, 1, 8}, {16});
}

// Two warp groups of 128 rows in all and `columns` columns of a product in 16 bits, in steps of 64.
tile::StageProgram of_warp_groups(std::int64_t columns) {
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * B[n,k]", "m=4096,n=4096,k=4096", {}, base::Dtype::kF16);
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  const auto unit = std::find_if(chip.compute.begin(), chip.compute.end(),
                                 [](const arch::ComputeSpec& c) { return c.name == "wgmma.f16"; });
  tile::MatrixUnit along;
  along.columns = 1;
  along.depth = 2;
  return tile::with_micro_kernel(tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                          {{1, 2, 64}, {1, 1, columns}}, {1, 1, 64}, {16}),
                                 tile::micro_kernel_of(*unit, chip, along), {16});
}

Occupancy spilling(std::int64_t registers, std::int64_t words) {
  Occupancy o;
  o.registers_per_thread = registers;
  o.spilled_per_thread = words;
  return o;
}

// What spills of ten words, which all move once a step, add to the product's traffic.
Traffic added(const Machine& m, std::int64_t per_core) {
  const tile::StageProgram p = product();
  const OwnCounts own(p, m);
  Traffic t;
  add_spills(own.counts, m, spilling(own.counts.registers.of_products, 10), per_core, t);
  return t;
}
constexpr double kLoaded = 4096.0 * 512 * 64 * 4 * 10;  // bytes of all blocks' threads

TEST(Spills, AreLoadedFromWhereTheyFit) {
  Machine m = machine("v100");
  m.core_cache_shared = false;
  m.core_cache_bytes = 4 * 64 * 4 * 10;  // of four blocks
  EXPECT_DOUBLE_EQ(added(m, 4).cores.read, 0);
  EXPECT_DOUBLE_EQ(added(m, 8).cores.read, kLoaded / 2);
  EXPECT_DOUBLE_EQ(added(m, 8).spilled.read, kLoaded / 2 / 4096) << "of one block";
  EXPECT_DOUBLE_EQ(added(m, 8).caches[0].read, kLoaded / 2);
  EXPECT_DOUBLE_EQ(added(m, 8).dram.read, 0);
  m.device_caches[0].capacity_bytes = 8 * 64 * 4 * 10 * static_cast<double>(m.cores) / 4;
  EXPECT_DOUBLE_EQ(added(m, 8).caches[0].read, kLoaded / 2);
  EXPECT_DOUBLE_EQ(added(m, 8).dram.read, kLoaded / 2 * 3 / 4);
}

TEST(Spills, LeaveRoomForWhatIsStaged) {
  Machine m = machine("v100");
  const tile::StageProgram p = product();
  const OwnCounts own(p, m);
  m.core_cache_shared = true;
  m.core_cache_bytes = 4.0 * (static_cast<double>(own.counts.scratchpad.n) + 64 * 4 * 10 / 2.0);
  EXPECT_DOUBLE_EQ(added(m, 4).cores.read, kLoaded / 2);
}

TEST(Spills, OfWhatIsMultipliedAreStoredThroughTheCoresCache) {
  const tile::StageProgram p = product();
  const Machine& m = machine("v100");
  const OwnCounts own(p, m);
  const SpilledWords words = spilled_words(own.counts, spilling(own.counts.registers.of_products - 4, 10));
  EXPECT_EQ(words.held, 10);
  EXPECT_EQ(words.stored, 4 * 8) << "in each of eight iterations";
  EXPECT_EQ(words.loaded, 4 * 8 + 6) << "what does not change once a step";
  Traffic t;
  add_spills(own.counts, m, spilling(own.counts.registers.of_products - 4, 10), 4, t);
  EXPECT_DOUBLE_EQ(t.cores.written, kLoaded / 10 * 4 * 8);
}

// NVRTC 13.0 compiles 128 columns, 64 sums of a thread, into 90 registers and refuses fewer.
TEST(Spills, OfWarpGroupsAreAllSumsAroundEveryInstruction) {
  const tile::StageProgram p = of_warp_groups(128);
  const OwnCounts own(p, machine("h100_pcie"));
  ASSERT_EQ(own.counts.registers.of_products, 90);
  const SpilledWords enough = spilled_words(own.counts, spilling(96, 10));
  EXPECT_EQ(enough.stored, 0) << "addresses alone are too many";
  const SpilledWords few = spilled_words(own.counts, spilling(88, 10));
  EXPECT_EQ(few.held, 64);
  EXPECT_EQ(few.stored, 64 * 4) << "four instructions of 16 in a step of 64";
  EXPECT_EQ(few.loaded, few.stored);
}

TEST(WorthCompiling, AreRegistersForWhatOneInstructionNeeds) {
  const Machine& hopper = machine("h100_pcie");
  const tile::StageProgram groups = of_warp_groups(128);
  EXPECT_TRUE(is_worth_compiling(groups, registers_of(groups, hopper), 90));
  EXPECT_FALSE(is_worth_compiling(groups, registers_of(groups, hopper), 89));
  const tile::StageProgram plain = product();
  EXPECT_TRUE(is_worth_compiling(plain, registers_of(plain, hopper), 64));
  EXPECT_FALSE(is_worth_compiling(plain, registers_of(plain, hopper), 63)) << "a sum has no register";
}

TEST(WorthCompiling, IsNothingThatSpillsWithoutAReduction) {
  const expr::Expression e = tests::expression("O[i,j] = X[i,j] + 1", "i=4096,j=4096");
  const tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                        {{8, 8, 1}, {8, 8, 1}}, {1, 1}, {16});
  const Registers needs = registers_of(p, machine("v100"));
  EXPECT_TRUE(is_worth_compiling(p, needs, needs.needed));
  EXPECT_FALSE(is_worth_compiling(p, needs, needs.needed - 1));
}

}  // namespace
}  // namespace tilescope::model
