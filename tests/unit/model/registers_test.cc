// SPDX-License-Identifier: Apache-2.0
// Registers by hand, of kernels that lower/ writes. Against the compiler: experiments/studies/nvrtc_suite/run.

#include "model/simt/registers.h"

#include <string>

#include <gtest/gtest.h>

#include "model/simt/detail/occupancy.h"
#include "model/simt/transfer/detail/costs.h"
#include "tests/support/document.h"
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
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + (32 + 4) + 26);
  // Past them are copied pieces of A and of B while fragments are in use; they lie a constant apart.
  p.num_stages = 3;
  EXPECT_EQ(registers_needed(p, machine("a100")), 32 + (32 + 4) + 26);
  EXPECT_EQ(registers_needed(p, machine("v100")), 32 + (32 + 4) + (8 + 8) + 26) << "it has no such copies";
}

// 64 rows of A in steps of 12: the 128 threads' pieces of an element each are ten rows and eight elements apart.
TEST(Registers, OfPiecesThatLieUnevenlyHoldTheirAddresses) {
  tile::StageProgram p = matmul(12);
  p.registers = 255;
  p.operands[0].vector = p.operands[1].vector = 1;
  const Machine& m = machine("v100");
  const std::int64_t uneven = registers_needed(p, m);
  p.operands[0].vector = 3;  // whole rows
  EXPECT_EQ(uneven - registers_needed(p, m), 6 * (2 + 1)) << "six pieces, each 64 bits of memory, 32 of the scratchpad";
}

// The same of kernels of others, whose parts of rows lie a constant apart too; of one step nothing is kept.
TEST(Registers, OfOthersHoldAddressesOfPiecesThatLieUnevenly) {
  tile::StageProgram p = matmul(12);
  p.operands[0].vector = p.operands[1].vector = 1;
  const Machine& m = machine("v100");
  EXPECT_FALSE(pieces_lie_evenly(p, 0));
  EXPECT_TRUE(pieces_lie_evenly(p, 1)) << "two rows of B at a time";
  EXPECT_EQ(address_registers(p, 0), 6 * (2 + 1));
  const std::int64_t uneven = registers_needed(p, m);
  p.operands[0].vector = 3;
  EXPECT_EQ(uneven - registers_needed(p, m), 6 * (2 + 1));
  p = matmul(256);
  p.operands[0].vector = 1;
  EXPECT_TRUE(pieces_lie_evenly(p, 0)) << "half a row of A at a time";
  p.registers = 255;
  EXPECT_FALSE(pieces_lie_evenly(p, 0)) << "compilers of ours do not see that";
  p = matmul(12);
  p.block[2] = 4096;
  EXPECT_EQ(address_registers(p, 0), 0);
}

// 128 threads copy 64 x 12 elements of A in six pieces, 62 x 12 in six of which the last is not whole.
TEST(Copies, OfOthersThatMayLieBeyondTheTileAreLimitedByPredicates) {
  const auto with_rows = [](std::int64_t rows) {
    tile::StageProgram p = matmul(12);
    p.block[0] = rows;
    p.operands[0].vector = 1;
    return p;
  };
  Machine m = machine("v100");
  EXPECT_EQ(m.predicates, 7);
  const tile::PerThread entry;
  EXPECT_EQ(pieces_together(with_rows(64), 0, m), 6);
  EXPECT_EQ(copy_rounds(entry, with_rows(64), 0, m), 0) << "all together";
  EXPECT_EQ(pieces_together(with_rows(62), 0, m), 6);
  EXPECT_EQ(pieces_together(with_rows(127), 0, m), 7) << "of twelve";
  EXPECT_DOUBLE_EQ(copy_rounds(entry, with_rows(127), 0, m), 12.0 / 7);
  m.predicates.reset();
  EXPECT_EQ(copy_rounds(entry, with_rows(127), 0, m), 0);
}

// Four results of a row, nine taps each: 3 x 6 elements of I, 9 of W.
TEST(Registers, OfTapsThatComeFromMemoryHoldAllOfThem) {
  const std::string text =
      R"({"arch":"v100","nodes":[{"expr":"O[c,y,x] +=! I[c,y+r,x+s] * W[c,r,s]",
        "sizes":{"c":64,"y":32,"x":32,"r":3,"s":3},
        "shapes":{"I":[64,34,34]},"dtype":"f32","tiles":{"smem":{"c":2,"y":4,"x":32,"r":3,"s":3},
        "reg":{"c":1,"y":1,"x":4,"r":3,"s":3}},
        "mapping":{"c":{"threads":2},"y":{"threads":4},"x":{"threads":8,"per_thread":4}},"registers":255)";
  const Machine& m = machine("v100");
  const auto needed = [&](const std::string& more) {
    return registers_needed(tests::program(text + more + "}],\"edges\":[]}", *m.arch).simt().front(), m);
  };
  EXPECT_EQ(needed(R"(,"cached":{"I":"smem"})"), 4 + (18 + 9 + 1) / 2 + 8) << "W is the smaller one";
  EXPECT_EQ(needed(R"(,"cached":{})"), 4 + (18 + 9 + 18 + 1) / 2 + 8) << "half of all, the other half of I";
  EXPECT_EQ(needed(R"(,"cached":{"I":"smem","W":"smem"})"), 4 + (18 + 9 + 1) / 2 + 8);
}

TEST(Registers, WithoutAReductionAreTheOperands) {
  const expr::Expression e = tests::expression("O[i] = relu(I[i])", "i=1048576");
  tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 128, 4}}, {1}, {16});
  p.registers = 255;
  EXPECT_EQ(registers_needed(p, machine("v100")), 4 + 8) << "what is read becomes the result";
}

TEST(Registers, AreAskedForAsFarAsNoBlockIsLost) {
  const tile::StageProgram p = with_max_registers(matmul(16), machine("v100"));
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
