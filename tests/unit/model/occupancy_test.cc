// SPDX-License-Identifier: Apache-2.0
// Occupancy by hand on v100: 65536 registers, 2048 threads, 32 blocks and 96 KiB of scratchpad a core.

#include "model/simt/detail/occupancy.h"

#include <gtest/gtest.h>

#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

tile::StageProgram matmul(tile::AxisMapping m, tile::AxisMapping n, std::int64_t step) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {m, n}, {1, 1, step}, {16});
}

tile::StageProgram relu(std::int64_t threads) {
  const expr::Expression e = tests::expression("O[i] = relu(I[i])", "i=1048576");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, threads, 1}}, {1},
                                  {16});
}

TEST(Occupancy, LimitedByRegisters) {
  // 64 accumulators, one fragment of 8 and four elements of the other (two copied pieces of 4 need less), pointers and
  // places of two operands, a counter, four of its own.
  const Occupancy o = occupancy_of(matmul({8, 16, 1}, {8, 16, 1}, 8), machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 96) << "64 + 12 + 13 in eights";
  EXPECT_EQ(o.spilled_per_thread, 0);
  EXPECT_EQ(o.blocks_per_core, 2) << "65536 / (256 * 96)";
  EXPECT_EQ(o.limited_by, "registers");
  EXPECT_DOUBLE_EQ(o.ratio, 0.25);
}

TEST(Occupancy, LimitedByThreads) {
  const Occupancy o = occupancy_of(relu(256), machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 16) << "one result, one operand, a pointer, a counter and four of its own";
  EXPECT_EQ(o.blocks_per_core, 8);
  EXPECT_EQ(o.limited_by, "threads");
  EXPECT_DOUBLE_EQ(o.ratio, 1);
}

TEST(Occupancy, LimitedByBlocks) {
  const Occupancy o = occupancy_of(relu(32), machine("v100"));
  EXPECT_EQ(o.blocks_per_core, 32);
  EXPECT_EQ(o.limited_by, "blocks");
  EXPECT_DOUBLE_EQ(o.ratio, 0.5);
}

TEST(Occupancy, LimitedByScratchpad) {
  const Occupancy o = occupancy_of(matmul({1, 16, 1}, {1, 16, 1}, 256), machine("v100"));
  EXPECT_EQ(o.blocks_per_core, 3) << "32 KiB each";
  EXPECT_EQ(o.limited_by, "scratchpad");
}

// 164 KiB of an A100's core, of which every block has 1 KiB more than it stages.
TEST(Occupancy, LeavesTheSystemItsShareOfEveryBlock) {
  const tile::StageProgram p = matmul({1, 8, 1}, {1, 8, 1}, 656);  // 41 KiB
  EXPECT_EQ(occupancy_of(p, machine("a100")).blocks_per_core, 3) << "four would leave nothing";
  EXPECT_EQ(occupancy_of(matmul({1, 8, 1}, {1, 8, 1}, 640), machine("a100")).blocks_per_core, 4) << "40 KiB each";
}

// By hand from cuda_occupancy.h: 16384 registers of each of four partitions. The nine warps of 288 threads are three on
// one of them, the eighteen of two such blocks five.
TEST(Occupancy, CountsTheRegistersOfThePartitionThatHasMostWarps) {
  const Machine m = machine("v100");
  EXPECT_EQ(registers_left(m, 256, 1), 256);
  EXPECT_EQ(registers_left(m, 288, 1), 168) << "16384 / (3 * 32), in eights";
  EXPECT_EQ(registers_left(m, 544, 1), 96) << "17 warps, five on one";
  EXPECT_EQ(registers_left(m, 288, 2), 96);
  EXPECT_EQ(registers_left(m, 32, 1), 512) << "a partition's all";
}

TEST(Occupancy, CountsWholeWarps) {
  EXPECT_EQ(occupancy_of(relu(33), machine("v100")).blocks_per_core, 32);
  EXPECT_EQ(occupancy_of(relu(65), machine("v100")).blocks_per_core, 2048 / 96);
}

TEST(Occupancy, SpillsWhatAThreadCannotHold) {
  const Occupancy o = occupancy_of(matmul({16, 8, 1}, {32, 8, 1}, 8), machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 255);
  EXPECT_EQ(o.spilled_per_thread, 512 + 48 + 13 - 255) << "16 pieces of A and 32 of B under way";
}

TEST(Occupancy, HoldsThreadsToWhatOneBlockLeavesThem) {
  const Occupancy o = occupancy_of(matmul({8, 32, 1}, {8, 32, 1}, 8), machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 64) << "1024 threads share 65536";
  EXPECT_EQ(o.blocks_per_core, 1);
  EXPECT_GT(o.spilled_per_thread, 0);
}

// Four SIMDs of 16384 registers for 64 lanes: 1024 threads are four waves on each.
TEST(Occupancy, LeavesRegistersForTheBlockThatTheCompilerAssumes) {
  tile::StageProgram p = matmul({8, 16, 1}, {8, 16, 1}, 8);
  Machine m = machine("mi50");
  EXPECT_EQ(occupancy_of(p, m).registers_per_thread, 64) << "16384 / (4 * 64)";
  EXPECT_GT(occupancy_of(p, m).spilled_per_thread, 0);
  m.assumed_block = 512;
  EXPECT_GT(occupancy_of(p, m).registers_per_thread, 64);
  m.assumed_block = 1024;
  p.registers = 128;
  EXPECT_GT(occupancy_of(p, m).registers_per_thread, 64) << "what states its registers states its threads";
}

TEST(Occupancy, GivesAProgramThatHasRunItsBlock) {
  EXPECT_EQ(occupancy_of(matmul({1, 64, 1}, {1, 64, 1}, 4096), machine("v100")).blocks_per_core, 1);
}

}  // namespace
}  // namespace tilescope::model
