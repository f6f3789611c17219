// SPDX-License-Identifier: Apache-2.0
// Registers by hand, of kernels that lower/ writes. Against the compiler: experiments/studies/nvrtc_suite/run.

#include "model/simt/registers.h"

#include <gtest/gtest.h>

#include "model/simt/detail/occupancy.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

// Rows of A run along k, those of B along n.
tile::StageProgram matmul(std::int64_t step) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{8, 8, 1}, {4, 16, 1}},
                                  {1, 1, step}, {16});
}

TEST(Registers, OfOthersFollowFromWhatIsHeldAndOnItsWay) {
  // Results, four pieces of four elements of both operands on their way, two pointers and four places in the
  // scratchpad, a counter, four of its own: more than the fragment of 4 and four elements of that of 8.
  tile::StageProgram p = matmul(16);
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + (8 + 8) + 13);
  // Two iterations in a body, of which one is read ahead.
  p.unroll = 64;
  p.block[2] = 2;
  p.operands[0].cached = p.operands[1].cached = false;
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + 2 * (4 + 4) + 2 * 2 + 1 + 4);
}

TEST(Registers, OfOurOwnHoldWhatIsReadAtOnce) {
  tile::StageProgram p = matmul(16);
  p.registers = 255;
  // 32 results, eight rows of A at four points, four of B at one; a step's copies are on their way in registers, 8 of A
  // and of B, while no fragment is.
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + (32 + 4) + 24);
  // Past them are copied two pieces of A and of B, while fragments are in use.
  p.num_stages = 3;
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + (32 + 4) + (2 + 2) + 24);
  EXPECT_EQ(registers_needed(p, machine("v100")), 32 + (32 + 4) + (8 + 8) + 24) << "it has no such copies";
}

TEST(Registers, AreAskedForAsFarAsNoBlockIsLost) {
  const tile::StageProgram p = held_to_registers(matmul(16), machine("v100"));
  const Occupancy o = occupancy_of(p, machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 96) << "92 in eights";
  EXPECT_EQ(o.blocks_per_core, 5) << "65536 / (128 * 96)";
  EXPECT_EQ(p.registers, 96) << "the next eight would be 104: more than 65536 / (128 * 5) = 102";
  EXPECT_EQ(o.spilled_per_thread, 0);
}

// A program that says less than it needs has the rest spilled.
TEST(Registers, AreWhatTheProgramSays) {
  tile::StageProgram p = matmul(16);
  p.registers = 64;
  const Occupancy o = occupancy_of(p, machine("v100"));
  EXPECT_EQ(o.registers_per_thread, 64);
  EXPECT_EQ(o.spilled_per_thread, registers_needed(p, machine("v100")) - 64);
}

}  // namespace
}  // namespace tilescope::model
