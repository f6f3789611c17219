// SPDX-License-Identifier: Apache-2.0
// Matrix instructions, windows and split reductions by hand.

#include <algorithm>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "model/simt/cached_use.h"
#include "model/simt/detail/block_work.h"
#include "model/simt/estimate.h"
#include "model/simt/registers.h"
#include "model/simt/warp_access.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"
#include "tile/transfer/results.h"

namespace tilescope::model {
namespace {

constexpr const char* kMatmul = "C[m,n] +=! A[m,k] * B[k,n]";

// The chip's instruction along m, n and k.
tile::MicroKernel unit(const char* chip, const std::string& name) {
  const arch::ArchSpec a = tests::chip(chip);
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == name) {
      tile::MatrixUnit along;
      along.columns = 1;
      along.depth = 2;
      return tile::micro_kernel_of(c, a, along);
    }
  throw std::runtime_error("no instruction " + name);
}

// Warps by two and two, each 64x64, of a product in 16 bits.
tile::StageProgram fragments(const char* sizes, std::int64_t step = 32) {
  const expr::Expression e = tests::expression(kMatmul, sizes, {}, base::Dtype::kF16);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  return tile::with_micro_kernel(tile::make_stage_program(space, {{1, 2, 64}, {1, 2, 64}}, {1, 1, step}, {16}),
                                 unit("a100", "mma.f16"), {16});
}

TEST(MatrixInstruction, TakesThePeaksTime) {
  const tile::StageProgram p = fragments("m=13824,n=1024,k=2048");  // 108 x 8 blocks for 108 cores
  const Machine& m = tests::machine("a100");
  const auto e = estimate_stage(p, m);
  ASSERT_TRUE(e.has_value());
  const double multiply_adds = 13824.0 * 1024 * 2048;
  EXPECT_NEAR(e->term_us("arithmetic"), multiply_adds / (1024.0 * 108 * 1.41e3), 1e-6 * e->total_us);
  // One instruction of a warp is 2048 multiply-adds; its four schedulers issue one a cycle each.
  EXPECT_GT(e->term_us("issue"), multiply_adds / 2048 / (4.0 * 108 * 1.41e3));
  EXPECT_LT(e->term_us("issue"), 0.5 * e->term_us("arithmetic"));
}

TEST(MatrixInstruction, AddsUpInRegistersOfItsOwnWhereAChipHasThem) {
  const expr::Expression e = tests::expression(kMatmul, "m=4096,n=4096,k=4096", {}, base::Dtype::kF16);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::with_micro_kernel(
      tile::make_stage_program(space, {{1, 2, 64}, {1, 2, 64}}, {1, 1, 32}, {16}), unit("mi100", "mma.f16"), {16});
  p.registers = 256;
  const Machine& apart = tests::machine("mi100");
  Machine together = apart;
  together.separate_sums = false;
  EXPECT_EQ(registers_of_sums(p), 64) << "64 x 64 of 64 lanes";
  EXPECT_EQ(registers_needed(p, apart), std::max<std::int64_t>(64, registers_needed(p, together) - 64));
}

// Two warp groups, each 64 rows and 128 columns of a product in 16 bits.
tile::StageProgram of_groups(const char* sizes, std::int64_t columns = 128) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[n,k]", sizes, {}, base::Dtype::kF16);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  return tile::with_micro_kernel(tile::make_stage_program(space, {{1, 2, 64}, {1, 1, columns}}, {1, 1, 64}, {16}),
                                 unit("h100_pcie", "wgmma.f16"), {16});
}

TEST(SharedFactors, TakeThePeaksTime) {
  const Machine& m = tests::machine("h100_pcie");
  const auto e = estimate_stage(of_groups("m=14592,n=1024,k=2048"), m);  // 114 x 8 blocks for 114 cores
  ASSERT_TRUE(e.has_value());
  const double multiply_adds = 14592.0 * 1024 * 2048;
  EXPECT_NEAR(e->term_us("arithmetic"), multiply_adds / (2048.0 * 114 * 1.755e3), 1e-6 * e->total_us);
}

// In a step of 64 each group runs four instructions of 64x128x16. Each takes 64x16 elements of A, in 16 core matrices,
// and 128x16 of B, in 32, all four warps together, and a core matrix is one pass of 32 banks.
TEST(SharedFactors, AreReadOnceForAGroup) {
  const tile::StageProgram p = of_groups("m=512,n=512,k=512");
  for (const auto& [operand, core_matrices] : {std::pair<std::size_t, double>{0, 16}, {1, 32}}) {
    const CachedUse use = cached_use(p, operand, 32, {16});
    EXPECT_DOUBLE_EQ(use.reads, 2 * 4 * core_matrices);
    EXPECT_EQ(use.read_instructions, 0) << "they are the instruction's own";
    EXPECT_EQ(bank_use(use.read, 32, 4).passes, 1);
  }
  // 512 columns are two instructions, which read A twice.
  EXPECT_DOUBLE_EQ(cached_use(of_groups("m=512,n=512,k=512", 512), 0, 32, {16}).reads, 2 * 2 * 4 * 16);
}

// 64x128 sums of 32 bits among 128 lanes, and no factors.
TEST(SharedFactors, TakeNoRegisters) {
  tile::StageProgram p = of_groups("m=512,n=512,k=512");
  p.num_stages = 3;  // asynchronous copies
  const Occupancy o = occupancy_of(p, tests::machine("h100_pcie"));
  EXPECT_GE(o.registers_per_thread, 64);
  EXPECT_LE(o.registers_per_thread, 64 + 40) << "and a few for addresses";
}

// Two warp groups, each 64 rows and 128 columns of a product of f8 with scales for 128 along k.
tile::StageProgram scaled(const char* sizes) {
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]", sizes, {}, base::Dtype::kF8E4M3,
                        {{"S", base::Dtype::kF32, {}}, {"T", base::Dtype::kF32, {}}});
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  return tile::with_micro_kernel(tile::make_stage_program(space, {{1, 2, 64}, {1, 1, 128}}, {1, 1, 128}, {16}),
                                 unit("h200", "wgmma.f8e4m3"), {16});
}

// A lane has 64 results in two rows: it multiplies two scales of rows by that of the columns, and adds each result
// once. Eight rows of a warp's first results are 1024 elements apart in A, eight in S, which is a sector each.
// A block of 128x128 results in f16 leaves by TMA. Its panels have 128 rows each, every row is a line to the engine,
// and four lanes' results of eight rows fill all banks once, whatever the rows' length.
TEST(ResultsByTma, AreALineARow) {
  const arch::ArchSpec chip = tests::chip("h100_pcie");
  const Machine& m = tests::machine("h100_pcie");
  for (const std::int64_t row : {16, 32, 64, 128}) {
    const auto p = tile::with_tma_stores(of_groups("m=512,n=512,k=512"), {row}, chip);
    ASSERT_TRUE(p.has_value());
    const OwnCounts own(*p, m);
    const ResultCounts& out = own.counts.output;
    const auto results = static_cast<double>(tile::data_tile_elements(p->space->output, p->block));
    EXPECT_DOUBLE_EQ(out.lines, results * 2 / static_cast<double>(row));
    ASSERT_EQ(out.gathered.size(), 2U);
    EXPECT_EQ(out.gathered[0].use.passes, 1) << row;
    EXPECT_EQ(out.beside > 0, row > 16) << "the address of a piece that changes places";
  }
  // The engine's interval alone: twice as long, a kernel of few steps is slower by its lines.
  arch::ArchSpec slow = chip;
  slow.core.tma->line_interval = {20 * chip.core.tma->line_interval->n};
  const auto p = tile::with_tma_stores(of_groups("m=14592,n=1024,k=32"), {16}, chip);
  ASSERT_TRUE(p.has_value());
  const auto at = estimate_stage(*p, m), slower = estimate_stage(*p, make_machine(slow));
  ASSERT_TRUE(at && slower);
  EXPECT_GT(slower->total_us, 2 * at->total_us);
}

TEST(Scales, AreAMultiplyAddAResultAndStep) {
  const OwnCounts own(scaled("m=512,n=512,k=1024"), tests::machine("h200"));
  EXPECT_EQ(own.counts.promotions, 64 + 2);
  EXPECT_EQ(own.counts.operations, 1) << "no other factor in an iteration";
  EXPECT_EQ(own.counts.inputs[2].reads, 2);
  EXPECT_EQ(own.counts.inputs[3].reads, 1);
  EXPECT_EQ(own.counts.flows[2].requested_bytes, 2 * 8 * (8 * 32)) << "two reads of eight warps, of eight sectors";
  EXPECT_EQ(own.counts.flows[2].useful_bytes, 128 * 4);
  EXPECT_EQ(own.counts.flows[3].requested_bytes, 8 * 32);
}

// 64 sums of a step beside 64 results, three scales, and a few for addresses.
TEST(Scales, TakeRegistersForAStepsSums) {
  tile::StageProgram p = scaled("m=512,n=512,k=1024");
  p.num_stages = 3;
  p.registers = 255;  // as our own kernels state
  const std::int64_t needed = registers_needed(p, tests::machine("h200"));
  EXPECT_GE(needed, 64 + 64 + 3);
  EXPECT_LE(needed, 64 + 64 + 3 + 40);
}

// A warp writes four rows of eight pieces: those of a row begin in one bank unless they are padded.
TEST(SharedFactors, AreWrittenWithoutConflictsWherePadded) {
  tile::StageProgram p = of_groups("m=512,n=512,k=512");
  EXPECT_EQ(bank_use(cached_use(p, 0, 32, {16}).write, 32, 4).passes, 4 * 8);
  p.operands[0].padding = 8;
  EXPECT_EQ(bank_use(cached_use(p, 0, 32, {16}).write, 32, 4).passes, 4);
}

TEST(MatrixInstruction, IsNotPredictedOnAChipWithoutIt) {
  EXPECT_TRUE(estimate_stage(fragments("m=512,n=512,k=512"), tests::machine("a100")).has_value());
  EXPECT_FALSE(estimate_stage(fragments("m=512,n=512,k=512"), tests::machine("k80")).has_value());
}

// 64x64 sums of 32 bits and 64x16 elements of 16 bits of either input, shared by 32 lanes.
TEST(MatrixInstruction, HoldsAWarpsTileInItsLanes) {
  const Occupancy o = occupancy_of(fragments("m=512,n=512,k=512"), tests::machine("a100"));
  EXPECT_GE(o.registers_per_thread, 128 + 16 + 16);
  EXPECT_LE(o.registers_per_thread, 128 + 16 + 16 + 40) << "and a few for addresses";
}

// Eight rows of 16 bytes fill the banks once: rows of 128 bytes all begin in one bank, rows of 144 in eight.
TEST(MatrixInstruction, ReadsRowsOfEight) {
  const auto passes = [](std::int64_t padding) {
    tile::StageProgram p = fragments("m=512,n=512,k=512", 64);
    p.operands[0].padding = padding;
    const CachedUse use = cached_use(p, 0, 32, {16});
    EXPECT_EQ(use.read.bytes(), 16);
    // Two warps along n read the same rows: 64 x 64 elements each, eight an access of a lane, 32 lanes.
    EXPECT_EQ(use.reads, 4 * 64 * 64 / (8 * 32));
    return bank_use(use.read, 32, 4).passes;
  };
  EXPECT_EQ(passes(8), 4);
  EXPECT_EQ(passes(0), 32);
}

// Rows of k pieces of 64 elements: rotated by 16 bytes they begin in eight banks, by other amounts nothing of 16 bytes
// stays whole and every lane reads its own elements, two neighbours along k at a time, or one.
TEST(MatrixInstruction, ReadsWhatIsNotWholeRowsLaneByLane) {
  tile::StageProgram p = fragments("m=512,n=512,k=512", 64);
  p.operands[0].rotate = 8;
  EXPECT_EQ(bank_use(cached_use(p, 0, 32, {16}).read, 32, 4).passes, 4);
  p.operands[0].rotate = 4;
  const CachedUse pairs = cached_use(p, 0, 32, {16});
  EXPECT_EQ(pairs.read.bytes(), 4);
  EXPECT_EQ(pairs.reads, 4 * 64 * 64 / (2 * 32));
  p.operands[0].rotate = 1;
  const CachedUse single = cached_use(p, 0, 32, {16});
  EXPECT_EQ(single.read.bytes(), 2);
  EXPECT_EQ(single.reads, 4 * 64 * 64 / 32) << "an element of each lane at a time";
}

// A lane has two neighbouring columns, four lanes a row of eight: half a sector of each of eight rows in 16 bits.
TEST(MatrixInstruction, StoresEightRows) {
  const tile::StageProgram p = fragments("m=512,n=512,k=512");
  const WarpAccess store = memory_access(p, 2, 32).addresses();
  EXPECT_EQ(store.bytes, 4);
  EXPECT_EQ(granules_touched(store, 32), 8);
  EXPECT_EQ(store.offset[4] - store.offset[0], 512 * 2);
  EXPECT_EQ(store.offset[1] - store.offset[0], 4);
}

// What a thread reads for a window, counted element by element.
TEST(Windows, ReadEachElementOnce) {
  const expr::Expression e = tests::expression("O[c,y,x] +=! I[c,y*2+r,x+s] * W[c,r,s]", "c=4,y=16,x=64,r=3,s=5");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 1, 1}, {2, 2, 2}, {1, 8, 4}}, {1, 1, 1, 3, 5}, {16});
  EXPECT_EQ(tile::fragment_elements(p, 0), 4 * 4) << "a point at a time";
  p.thread[4] = 5;
  EXPECT_EQ(tile::fragment_elements(p, 0), 4 * (4 + 4)) << "four rows, a run of taps";
  EXPECT_EQ(tile::fragment_elements(p, 1), 5);
  p.thread[3] = 3;
  // Rows y*2+r of two neighbours: five of six are distinct; vthreads share nothing.
  EXPECT_EQ(tile::fragment_elements(p, 0), 2 * 5 * (4 + 4));
  EXPECT_EQ(p.reduction_tiles_per_step(), 1);
}

tile::StageProgram split_matmul(const char* sizes, std::int64_t parts) {
  const expr::Expression e = tests::expression(kMatmul, sizes);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{4, 16, 1}, {4, 16, 1}}, {1, 1, 16}, {16});
  p.split[2] = parts;
  return p;
}

TEST(SplitReduction, PaysWhereBlocksLeaveCoresIdleAlone) {
  const Machine& m = tests::machine("v100");
  const auto us = [&](const char* sizes, std::int64_t parts) {
    return estimate_stage(split_matmul(sizes, parts), m)->total_us;
  };
  EXPECT_LT(us("m=128,n=128,k=8192", 16), 0.5 * us("m=128,n=128,k=8192", 1));
  EXPECT_GT(us("m=4096,n=4096,k=1024", 16), us("m=4096,n=4096,k=1024", 1));
}

// A second kernel is launched, which reads every part of the output once.
TEST(SplitReduction, IsAddedUpByASecondKernel) {
  const Machine& m = tests::machine("v100");
  const auto whole = estimate_stage(split_matmul("m=1024,n=1024,k=4096", 1), m);
  const auto split = estimate_stage(split_matmul("m=1024,n=1024,k=4096", 4), m);
  EXPECT_DOUBLE_EQ(split->term_us("launch"), 2 * whole->term_us("launch"));
  const double partial_bytes = 4.0 * 1024 * 1024 * 4;
  EXPECT_GE(split->total_us, split->term_us("launch") + partial_bytes / m.device_caches[0].bytes_per_us);
}

}  // namespace
}  // namespace tilescope::model
