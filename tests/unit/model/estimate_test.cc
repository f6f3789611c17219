// What holds of every estimate.

#include "model/estimate.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

void expect_sound(const StageEstimate& e) {
  RC_ASSERT(std::isfinite(e.total_us));
  double overlapped = 0, longest = 0;
  for (std::size_t t = 0; t < kTerms; ++t) {
    RC_ASSERT(std::isfinite(e.term_us[t]));
    RC_ASSERT(e.term_us[t] >= 0);
    longest = std::max(longest, e.term_us[t]);
    if (static_cast<Term>(t) != Term::kLaunch) overlapped = std::max(overlapped, e.term_us[t]);
  }
  RC_ASSERT(e.total_us >= (overlapped + e.term(Term::kLaunch)) * (1 - 1e-12));
  RC_ASSERT(e.term(e.bottleneck) == longest);
  RC_ASSERT(e.blocks >= 1);
  RC_ASSERT(e.waves > 0);
  RC_ASSERT(e.occupancy.ratio > 0 && e.occupancy.ratio <= 1);
  RC_ASSERT(e.scratchpad.conflict_ratio >= 1 - 1e-12);
  RC_ASSERT(e.device_cache.conflict_ratio >= 1 - 1e-12);
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
  RC_ASSERT(e->total_us >= points * p.space->multiply_adds_per_point / most);
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
  RC_ASSERT(first->term_us == again->term_us);
  RC_ASSERT(first->total_us == again->total_us);
}

tile::StageProgram square_matmul() {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  return tile::make_stage_program(tile::make_space(e, tile::no_fusion(e.stages.front())), {{8, 16, 1}, {8, 16, 1}},
                                  {1, 1, 8}, {16});
}

TEST(Estimate, OfAProgramIsTheSumOfItsStages) {
  const auto one = estimate_stage(square_matmul(), machine("v100"));
  const auto two = estimate({"v100", {square_matmul(), square_matmul()}, {}}, machine("v100"));
  EXPECT_DOUBLE_EQ(two->sum.total_us, 2 * one->total_us);
  EXPECT_EQ(two->sum.bottleneck, one->bottleneck);
  EXPECT_EQ(two->stages.size(), 2u);
}

TEST(Estimate, OfADtypeThatTheChipDoesNotMultiplyIsNone) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64", {}, base::Dtype::kI8);
  const auto p = tile::make_stage_program(tile::make_space(e, tile::no_fusion(e.stages.front())),
                                          {{1, 8, 1}, {1, 8, 1}}, {1, 1, 8}, {16});
  EXPECT_EQ(estimate_stage(p, machine(tests::source_path("tests/error/arch/minimal.yaml").string())), std::nullopt);
}

TEST(Estimate, NamesEveryTerm) {
  EXPECT_EQ(name_of(Term::kIssue), "issue");
  EXPECT_EQ(name_of(Term::kDeviceCache), "device cache");
  EXPECT_EQ(name_of(Term::kLaunch), "launch");
}

TEST(Estimate, BarelyMoreBlocksThanFitCostAnotherRound) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1280,n=2048,k=1024");
  const auto space = tile::make_space(e, tile::no_fusion(e.stages.front()));
  const auto p = tile::make_stage_program(space, {{8, 16, 1}, {8, 16, 1}}, {1, 1, 8}, {16});
  const auto full = estimate_stage(p, machine("v100"));
  EXPECT_EQ(full->blocks, 160);
  EXPECT_DOUBLE_EQ(full->waves, 1);
  const expr::Expression more = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1281,n=2048,k=1024");
  const auto q = tile::make_stage_program(tile::make_space(more, tile::no_fusion(more.stages.front())),
                                          {{8, 16, 1}, {8, 16, 1}}, {1, 1, 8}, {16});
  EXPECT_GT(estimate_stage(q, machine("v100"))->total_us, 1.3 * full->total_us);
}

}  // namespace
}  // namespace tilescope::model
