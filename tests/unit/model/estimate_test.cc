// SPDX-License-Identifier: Apache-2.0
// What holds of every estimate.

#include "model/simt/estimate.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

void expect_sound(const Estimate& e) {
  RC_ASSERT(std::isfinite(e.total_us));
  double overlapped = 0, longest = 0;
  for (const NamedTerm& t : e.terms) {
    RC_ASSERT(std::isfinite(t.time_us));
    RC_ASSERT(t.time_us >= 0);
    longest = std::max(longest, t.time_us);
    if (t.overlaps) overlapped = std::max(overlapped, t.time_us);
  }
  RC_ASSERT(e.total_us >= (overlapped + e.term_us("launch")) * (1 - 1e-12));
  RC_ASSERT(e.terms[e.bottleneck].time_us == longest);
  RC_ASSERT(e.blocks >= 1);
  RC_ASSERT(e.waves > 0);
  RC_ASSERT(e.occupancy.ratio > 0 && e.occupancy.ratio <= 1);
  for (const LevelUse& l : e.levels) RC_ASSERT(l.transactions == 0 || l.conflict_ratio >= 1 - 1e-12);
}

// Sums of times and bytes; of conflicts the worse.
TEST(Estimate, OfStagesIsTheirSum) {
  Estimate one, other;
  one.levels = {{"smem", 10, 2, 1.5, 3}}, other.levels = {{"smem", 20, 3, 4, 5}};
  one.terms = {{"smem", true, 3}, {"launch", false, 1}}, other.terms = {{"smem", true, 5}, {"launch", false, 1}};
  one.total_us = 4, other.total_us = 6;
  const std::vector<Estimate> both = {one, other};
  const Estimate sum = sum_of(both);
  EXPECT_EQ(sum.total_us, 10);
  EXPECT_EQ(sum.term_us("smem"), 8);
  EXPECT_EQ(sum.level("smem").bytes, 30);
  EXPECT_EQ(sum.level("smem").transactions, 5);
  EXPECT_EQ(sum.level("smem").time_us, 8);
  EXPECT_EQ(sum.level("smem").conflict_ratio, 4);
}

RC_GTEST_PROP(Estimate, OfAnyProgramIsFiniteAndNoLessThanItsTerms, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  RC_LOG() << p.space->stage().text << '\n';
  const auto e = estimate_stage(
      p, machine(tests::any_element<std::string>({"v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50"})));
  RC_PRE(e.has_value());
  expect_sound(*e);
}

// Every point is computed: no estimate beats the peak.
RC_GTEST_PROP(Estimate, NeverBeatsThePeak, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  const Machine& m = machine("v100");
  const auto e = estimate_stage(p, m);
  double points = 1;
  for (const tile::TileAxis& a : p.space->axes) points *= static_cast<double>(a.extent);
  const auto arithmetic = arithmetic_of(m, p.space->expression.dtype, p.space->expression.accumulate);
  const double most = arithmetic->per_cycle * static_cast<double>(m.cores) * m.clock_hz * 1e-6;
  RC_ASSERT(e->total_us >= points * p.space->macs_per_iteration / most);
  double bytes = 0;
  for (std::size_t i = 0; i < p.space->operand_count(); ++i)
    if (p.space->operand(i).elements > 0 && i == p.space->inputs.size())
      bytes += static_cast<double>(p.space->operand(i).elements * p.space->operand(i).element.n);
  RC_ASSERT(e->total_us >= bytes / m.dram_bytes_per_us);  // the output is written
}

RC_GTEST_PROP(Estimate, DependsOnNothingButItsArguments, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(40), 512);
  const auto first = estimate_stage(p, machine("v100"));
  estimate_stage(tests::any_program(tests::any_operator(40), 512), machine("v100"));
  const auto again = estimate_stage(p, machine("v100"));
  for (std::size_t t = 0; t < first->terms.size(); ++t) RC_ASSERT(first->terms[t].time_us == again->terms[t].time_us);
  RC_ASSERT(first->total_us == again->total_us);
}

tile::StageProgram square_matmul() {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{8, 16, 1}, {8, 16, 1}},
                                  {1, 1, 8}, {16});
}

// A sum over rows in so many steps of eight elements, 32 threads a block that own a row each.
tile::StageProgram row_sums(std::int64_t blocks, std::int64_t steps, std::int64_t num_stages) {
  const expr::Expression e = tests::expression("S[i] +=! A[i,k]", fmt::format("i={},k={}", 32 * blocks, 8 * steps));
  tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 32, 1}}, {1, 8}, {16});
  p.num_stages = num_stages;
  return p;
}

// With two steps under way the copy of the second begins when the first has come, and nothing hides either.
TEST(Estimate, AShortPipelineWaitsForMemoryTwice) {
  const Machine& m = machine("v100");
  const double latency_us = m.dram_latency_cycles * 1e6 / m.clock_hz;
  EXPECT_GE(estimate_stage(row_sums(1, 2, 2), m)->total_us, m.launch_us + 2 * latency_us);
}

// Caches hold nothing when a kernel begins, and no result is there before what it is computed from: however many blocks
// share that, they wait for DRAM once.
RC_GTEST_PROP(Estimate, AnyProgramWaitsForDramOnce, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(96), 1024);
  RC_LOG() << p.space->stage().text << '\n';
  Machine far = machine(tests::any_element<std::string>({"v100", "a100", "mi50", "k80"}));
  far.dram_latency_cycles = 20'000;
  const auto e = estimate_stage(p, far);
  RC_PRE(e.has_value());
  RC_ASSERT(e->total_us >= (far.launch_us + 20'000 * 1e6 / far.clock_hz) * (1 - 1e-9));
}

// Every wave but the first starts so long after the one before; of a single block a core nothing else hides it.
TEST(Estimate, BlocksStartAfterTheirPredecessors) {
  Machine one = machine("v100");
  one.max_blocks = 1;
  Machine late = one;
  late.block_launch_cycles += 1e4;
  for (const std::int64_t waves : {1, 2, 5}) {
    const tile::StageProgram p = row_sums(waves * one.cores, 1, 1);
    const double later_us = estimate_stage(p, late)->total_us - estimate_stage(p, one)->total_us;
    const double expected_us = static_cast<double>(waves - 1) * 1e4 * 1e6 / one.clock_hz;
    EXPECT_NEAR(later_us, expected_us, 0.02 * expected_us) << waves << " waves";
  }
}

// The blocks of a single wave store their eight parts of every sum when their arithmetic is done, all at once.
TEST(Estimate, TheLastWaveStoresAfterItsWork) {
  const Machine& m = machine("v100");
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=2048");
  tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                  {{8, 8, 1}, {4, 16, 1}}, {1, 1, 8}, {16});
  p.split[2] = 8;
  const auto s = estimate_stage(p, m);
  ASSERT_LE(s->waves, 1);
  const double written_us = 8 * 4.0 * 512 * 512 / m.dram_write_ratio / m.dram_bytes_per_us;
  EXPECT_GE(s->total_us, 2 * m.launch_us + s->term_us("arithmetic") + written_us);
}

TEST(Estimate, OfAProgramIsTheSumOfItsStagesWhereCachesKeepNothing) {
  Machine m = machine("v100");
  m.device_caches[0].capacity_bytes = 0;
  const auto one = estimate_stage(square_matmul(), m);
  const auto two = estimate({"v100", std::vector{square_matmul(), square_matmul()}, {}}, m);
  EXPECT_DOUBLE_EQ(two->total_us, 2 * one->total_us);
  EXPECT_EQ(two->bottleneck, one->bottleneck);
}

TEST(Estimate, OfADtypeThatTheChipDoesNotMultiplyIsNone) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64", {}, base::Dtype::kI8);
  const auto p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                          {{1, 8, 1}, {1, 8, 1}}, {1, 1, 8}, {16});
  EXPECT_EQ(estimate_stage(p, machine(tests::source_path("tests/error/arch/minimal.yaml").string())), std::nullopt);
}

// A kernel's blocks are handed out one by one: the last one begins after all others, and takes what one block takes.
TEST(Estimate, BlocksAreHandedOutAtARate) {
  arch::ArchSpec without = tests::chip("v100");
  without.block_interval.reset();
  const arch::ArchSpec with = tests::chip("v100", {{"block_interval", "0.1 us"}});
  const Machine at_once = make_machine(without), slow = make_machine(with);
  const tile::StageProgram few = row_sums(1, 1, 1), many = row_sums(4000, 1, 1);
  const double alone_us = estimate_stage(few, at_once)->total_us;
  EXPECT_NEAR(estimate_stage(many, slow)->total_us, alone_us + 0.1 * 3999, 0.1);
  EXPECT_NEAR(estimate_stage(many, slow)->term_us("dispatch"), 0.1 * 3999, 1e-9);
  EXPECT_LT(estimate_stage(many, at_once)->total_us, 50);
}

TEST(Estimate, NamesEveryTerm) {
  const arch::ArchSpec v100 = tests::chip("v100");
  std::vector<std::string_view> names;
  for (const NamedTerm& t : make_machine(v100).terms) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"issue", "arithmetic", "smem", "l1", "l2", "dram", "dispatch",
                                                  "latency", "launch"}));
}

TEST(Estimate, BarelyMoreBlocksThanFitCostAnotherRound) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1280,n=2048,k=1024");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  const auto p = tile::make_stage_program(space, {{8, 16, 1}, {8, 16, 1}}, {1, 1, 8}, {16});
  const auto full = estimate_stage(p, machine("v100"));
  EXPECT_EQ(full->blocks, 160);
  EXPECT_DOUBLE_EQ(full->waves, 1);
  const expr::Expression more = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1281,n=2048,k=1024");
  const auto q = tile::make_stage_program(tile::make_space(more, tile::no_collapse(more.stages.front())),
                                          {{8, 16, 1}, {8, 16, 1}}, {1, 1, 8}, {16});
  EXPECT_GT(estimate_stage(q, machine("v100"))->total_us, 1.3 * full->total_us);
}

}  // namespace
}  // namespace tilescope::model
