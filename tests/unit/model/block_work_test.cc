// SPDX-License-Identifier: Apache-2.0
// The work of one block by hand.

#include "model/simt/detail/block_work.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "model/simt/detail/address_work.h"
#include "tests/support/csv.h"
#include "tests/support/paths.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

// Cycles of arithmetic that a block alone waits for in a step: every thread has 64 results and 8 points, enough to hide
// the latency of each.
double chain_of(std::int64_t warps) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  const tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                        {{8, warps, 1}, {8, 32, 1}}, {1, 1, 8}, {16});
  const Machine& m = tests::machine("v100");
  const Arithmetic arithmetic = arithmetic_of(m, e.dtype, e.accumulate).value();
  const Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  return work_of_block(p, m, arithmetic, occupancy, traffic).compute_latency_cycles - m.scratchpad_latency_cycles;
}

TEST(BlockWork, ABlockAloneWaitsForItsBusiestPartition) {
  const Machine& m = tests::machine("v100");
  EXPECT_DOUBLE_EQ(chain_of(1), 64 * 8 * 2 * 64 / arithmetic_of(m, base::Dtype::kF32, base::Dtype::kF32)->per_cycle)
      << "a warp of 32 on 16 lanes, but for the calibration";
  EXPECT_DOUBLE_EQ(chain_of(4), chain_of(1)) << "a warp for each of four partitions";
  EXPECT_DOUBLE_EQ(chain_of(5), 2 * chain_of(1));
}

// A warp's multiply-adds in turn with all places that their three registers can have.
TEST(BlockWork, MultiplyAddsWaitForRegistersOfOneBank) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  const tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                        {{8, 8, 1}, {8, 8, 1}}, {1, 1, 8}, {16});
  const auto issue = [&](const std::vector<arch::Override>& set) {
    const arch::ArchSpec chip = tests::chip("v100", set);
    const Machine m = make_machine(chip);
    const Occupancy occupancy = occupancy_of(p, m);
    const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
    return work_of_block(p, m, arithmetic_of(m, e.dtype, e.accumulate).value(), occupancy, traffic)
        .compute.issue_cycles;
  };
  const double multiply_adds = 64 * 8 * 2 / 4.0;  // of two warps, by partition
  for (const int banks : {1, 2, 3, 4, 8}) {
    double waits = 0;
    for (int a = 0; a < banks; ++a)
      for (int b = 0; b < banks; ++b)
        for (int c = 0; c < banks; ++c) waits += a == b && b == c ? 2 : a == b || b == c || a == c ? 1 : 0;
    waits *= multiply_adds / (banks * banks * banks);
    const arch::Override in_banks{"core.register_banks", std::to_string(banks)};
    EXPECT_NEAR(issue({in_banks}) - issue({}), waits, 1e-9) << banks;
    EXPECT_NEAR(issue({in_banks, {"compiler.bank_conflicts", "0.25"}}) - issue({}), waits / 4, 1e-9) << banks;
  }
}

// 64 sums of a thread, 8 points a step, eight elements of A at four points and eight of B held with them.
TEST(BlockWork, SpillsWhatIsMultipliedInEveryIterationAndOthersOnceAStep) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                  {{8, 8, 1}, {8, 8, 1}}, {1, 1, 8}, {16});
  const Machine& m = tests::machine("v100");
  const Arithmetic arithmetic = arithmetic_of(m, e.dtype, e.accumulate).value();
  Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  // Words that each of the block's two warps moves in a step.
  const auto words = [&](std::int64_t registers, std::int64_t spilled) {
    occupancy.registers_per_thread = registers;
    occupancy.spilled_per_thread = spilled;
    const double cycles = work_of_block(p, m, arithmetic, occupancy, traffic).compute.core_cache_cycles;
    return cycles * *m.core_cache_bytes_per_cycle / (2 * 32 * 4);
  };
  const auto moved = [&](std::int64_t registers) { return std::lround(words(registers, 10) - words(registers, 0)); };
  EXPECT_EQ(moved(64), 10 * 2 * 8);
  p.registers = 128;
  EXPECT_EQ(moved(64 + 32 + 8), 10);
  EXPECT_EQ(moved(64 + 32 + 8 - 4), 4 * 2 * 8 + 6) << "four words of what is multiplied have no register";
}

// Cycles of arithmetic of a block of 128 threads, a point each.
double arithmetic_cycles(const std::string& op, base::Dtype dtype) {
  const expr::Expression e = tests::expression(op, "i=1024", {}, dtype);
  const tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 128, 1}}, {1}, {16});
  const Machine& m = tests::machine("v100");
  const Arithmetic arithmetic = arithmetic_of(m, e.dtype, e.accumulate).value();
  const Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  return work_of_block(p, m, arithmetic, occupancy, traffic).compute.arithmetic_cycles(m);
}

TEST(BlockWork, FunctionsOfF64TakeMultiplyAddsOfF64) {
  EXPECT_DOUBLE_EQ(arithmetic_cycles("O[i] = I[i] + 1", base::Dtype::kF64), 128 / 32.0);
  EXPECT_GT(arithmetic_cycles("O[i] = exp(I[i])", base::Dtype::kF64), 10 * 128 / 32.0);
  EXPECT_DOUBLE_EQ(arithmetic_cycles("O[i] = exp(I[i])", base::Dtype::kF32), 128 / 16.0) << "the special units";
  EXPECT_DOUBLE_EQ(arithmetic_cycles("O[i] = exp(I[i])", base::Dtype::kF8E4M3), 128 / 16.0);
}

// Measured on an A100 (gpu-benches): cycles of a warp's load of words that lie a stride apart.
TEST(BlockWork, StridedReadsOfTheCoresCacheTakeTheirMeasuredCycles) {
  const Machine& m = tests::machine("a100");
  std::size_t strides = 0;
  for (const tests::CsvRow& row :
       tests::read_csv(tests::source_path("experiments/data/references/microbenchmarks.csv"))) {
    if (row.at("chip") != "a100" || row.at("curve") != "l1_stride_f32") continue;
    const std::string& stride = row.at("x");
    const expr::Expression e = tests::expression("O[i] = I[i*" + stride + "]", "i=1024", "I=70000");
    const tile::StageProgram p =
        tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 32, 1}}, {1}, {16});
    const Occupancy occupancy = occupancy_of(p, m);
    const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
    const BlockWork work = work_of_block(p, m, arithmetic_of(m, e.dtype, e.accumulate).value(), occupancy, traffic);
    const double arriving = traffic.operand[0].block_bytes / *m.core_cache_bytes_per_cycle;
    const double cycles = work.load.core_cache_cycles - arriving, measured = std::stod(row.at("measured"));
    // Lines that are looked up cost more than a quarter of a cycle each at odd strides (docs/model.md).
    const bool in_banks = std::stoi(stride) % 16 == 0;
    EXPECT_GT(cycles, (in_banks ? 0.95 : 0.55) * measured) << "stride " << stride;
    EXPECT_LT(cycles, 1.05 * measured) << "stride " << stride;
    ++strides;
  }
  EXPECT_EQ(strides, 65U);
}

// The loads of a step.
CoreBusy loads(const Machine& m) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=256");
  const tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                        {{1, 16, 4}, {1, 16, 4}}, {1, 1, 16}, {16});
  const Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  return work_of_block(p, m, arithmetic_of(m, e.dtype, e.accumulate).value(), occupancy, traffic).load;
}

TEST(BlockWork, WhatArrivesTakesTheLinkAndThePort) {
  constexpr double kTiles = 8192;  // bytes of a step's: 64 x 16 of A and of B
  const arch::ArchSpec chip = tests::chip("v100"), narrow = tests::chip("v100", {{"link.width", "16 B"}});
  const Machine wide = make_machine(chip), slow = make_machine(narrow);
  EXPECT_DOUBLE_EQ(loads(wide).link_cycles, kTiles / 32);
  EXPECT_DOUBLE_EQ(loads(slow).link_cycles, kTiles / 16);
  EXPECT_DOUBLE_EQ(loads(slow).core_cache_cycles, loads(wide).core_cache_cycles) << "the port takes what comes at once";
  EXPECT_GT(loads(wide).core_cache_cycles, kTiles / 128);
}

// Warps of a partition that has more of them than others; a cache in the scratchpad's memory queues for its port.
TEST(CoreBusy, LastsAsLongAsItsBusiestStation) {
  const Machine& shared = tests::machine("v100");
  const arch::ArchSpec chip = tests::chip("k80");
  const Machine apart = make_machine(chip);
  CoreBusy busy{.issue_cycles = 10, .scratchpad_cycles = 6, .core_cache_cycles = 7, .link_cycles = 9};
  EXPECT_EQ(Phase(busy, shared).longest(1), 6 + 7);
  EXPECT_EQ(Phase(busy, apart).longest(1), 10);
  EXPECT_EQ(Phase(busy, shared).longest(2), 2 * 10);
  busy.link_cycles = 30;
  EXPECT_EQ(Phase(busy, shared).longest(2), 30);
  const Phase::Stations twice = Phase(busy + 1.0 * busy, apart).stations(1);
  EXPECT_EQ(twice, (Phase::Stations{20, 12, 14, 60}));
}

// A block of four warps whose threads have one row sum each, by so many threads a row.
BlockWork row_sums(std::int64_t sharers, const Machine& m, base::Dtype dtype = base::Dtype::kF32) {
  const expr::Expression e = tests::expression("O[i] +=! I[i,k]", "i=4096,k=4096", {}, dtype);
  tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                  {{1, 128 / sharers, 1}}, {1, 4096}, {16});
  p.operands[0] = {};
  p.reduction_threads[1] = sharers;
  const Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  return work_of_block(p, m, arithmetic_of(m, e.dtype, e.accumulate).value(), occupancy, traffic);
}

double fma_cycles(const CoreBusy& busy, const Machine& m) {
  return busy.pipe_cycles.at(arch::shares_of(arch::pipes_of(*m.arch), "fma.f32").at(0).pipe);
}

TEST(BlockWork, ThreadsThatShareAReductionShuffleAndAdd) {
  const Machine& m = tests::machine("v100");
  const Arithmetic f32 = arithmetic_of(m, base::Dtype::kF32, base::Dtype::kF32).value();
  const BlockWork none = row_sums(1, m);
  EXPECT_EQ(fma_cycles(none.store, m), 0);
  EXPECT_EQ(none.store.scratchpad_cycles, 0);
  EXPECT_EQ(none.sharing_latency_cycles, 0);
  for (const auto& [sharers, rounds] : {std::pair(2, 1), {8, 3}, {32, 5}}) {
    SCOPED_TRACE(sharers);
    const BlockWork w = row_sums(sharers, m);
    EXPECT_DOUBLE_EQ(fma_cycles(w.store, m), rounds * 4 * 32 / f32.per_cycle) << "four warps, a step each";
    EXPECT_DOUBLE_EQ(w.store.scratchpad_cycles, rounds * 4) << "a warp a cycle";
    EXPECT_DOUBLE_EQ(w.sharing_latency_cycles, rounds * (m.scratchpad_latency_cycles + f32.latency_cycles));
  }
  EXPECT_DOUBLE_EQ(row_sums(32, m).store.issue_cycles - row_sums(8, m).store.issue_cycles, 2 * 2.0)
      << "two more shuffles and steps of four warps on four schedulers";
  EXPECT_DOUBLE_EQ(row_sums(8, m, base::Dtype::kF64).store.scratchpad_cycles, 3 * 2 * 4) << "two words a value";
}

TEST(BlockWork, GroupsOfLanesMeetInTheScratchpad) {
  const Machine& m = tests::machine("v100");
  const Arithmetic f32 = arithmetic_of(m, base::Dtype::kF32, base::Dtype::kF32).value();
  const BlockWork lanes = row_sums(32, m), groups = row_sums(128, m);
  // Each of four warps writes one value and reads those of all four.
  EXPECT_DOUBLE_EQ(groups.store.scratchpad_cycles - lanes.store.scratchpad_cycles, 4 * (1 + 4) / m.scratchpad_ratio);
  const double adds = (fma_cycles(groups.store, m) - fma_cycles(lanes.store, m)) / (4 * 32 / f32.per_cycle);
  EXPECT_GE(adds, 3 - 1e-9);
  EXPECT_LE(adds, 4 + 1e-9);
  EXPECT_GT(groups.sharing_latency_cycles, lanes.sharing_latency_cycles + 2 * m.scratchpad_latency_cycles);

  arch::ArchSpec spec = tests::chip("v100");
  spec.core.shuffle.reset();
  const BlockWork alone = row_sums(32, make_machine(spec));
  EXPECT_DOUBLE_EQ(alone.store.scratchpad_cycles, 4 * (1 + 32) / m.scratchpad_ratio);
}

// A gathered operand's places are as many however many of a loop's iterations are one body.
TEST(AddressWork, OfReadsThatAreTakenApartDoesNotFallWithUnrolling) {
  const expr::Expression e = tests::expression("O[n,f,y,x] +=! I[n,c,y*2+r,x*2+s] * W[f,c,r,s]",
                                               "n=4,f=32,y=7,x=7,c=16,r=3,s=3", "I=4,16,15,15");
  const auto space = tile::make_space(e, tile::contraction_collapse(e).value());
  tile::StageProgram p = tile::make_stage_program(space, {{1, 8, 1}, {1, 8, 1}}, {1, 1, 16}, {16});
  ASSERT_TRUE(p.space->inputs[0].im2col);
  p.operands[0].cached = false;
  const Machine& m = tests::machine("v100");
  const double rolled = instructions_beside_reads(p, 0, m);
  for (const std::int64_t unroll : {4, 16, 64}) {
    p.unroll = unroll;
    EXPECT_DOUBLE_EQ(instructions_beside_reads(p, 0, m), rolled) << unroll;
  }
}

}  // namespace
}  // namespace tilescope::model
