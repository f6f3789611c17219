// SPDX-License-Identifier: Apache-2.0
// Layouts: padding pays for itself in passes, and what is chosen is counted by the model in the same way.

#include "construct/detail/layout.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "construct/transfer/detail/knobs.h"
#include "tests/support/random_program.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

const tests::ChipWithCostModel& v100() {
  static const tests::ChipWithCostModel kChip("v100");
  return kChip;
}

double passes(const tile::StageProgram& p) {
  return model::estimate_stage(p, v100().machine)->level("smem").transactions;
}

RC_GTEST_PROP(LaidOut, NeverNeedsMorePassesThanNoPadding, ()) {
  const expr::Expression e = tests::any_operator(64);
  const auto space = tile::make_space(e, tests::any_collapse(e));
  RC_LOG() << e.stages.front().text << '\n';
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a)
    mapping.push_back({tests::any_of_range(1, 4), tests::any_element<std::int64_t>({1, 2, 4, 8}),
                       tests::any_element<std::int64_t>({1, 1, 2, 4})});
  tile::Extents step(space->axes.size(), 1);
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    step[a] = tests::any_of_range(1, space->axes[a].extent);
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  const double before = passes(p);
  apply_layout(p, {v100().spec});
  RC_ASSERT(passes(p) <= before * (1 + 1e-9));
}

TEST(LaidOut, FreesAColumn) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 32, 1}, {1, 8, 1}}, {1, 1, 32}, {16});
  p.thread_order = {1, 0};
  const double before = passes(p);
  apply_layout(p, {v100().spec});
  EXPECT_NE(p.operands[0].padding, 0);
  EXPECT_EQ(p.operands[1].padding, 0) << "rows are read along";
  EXPECT_LT(passes(p), before / 4);
}

TEST(LaidOut, LeavesRowsWhereTheyAreIfAsked) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 32, 1}, {1, 8, 1}}, {1, 1, 32}, {16});
  p.thread_order = {1, 0};
  apply_layout(p, {v100().spec, false});
  EXPECT_EQ(p.operands[0].padding, 0);
  EXPECT_EQ(p.operands[0].rotate, 0);
}

std::string text_of(const tile::StageProgram& p) {
  return base::to_json(tile::to_document(tile::program_of("v100", p), v100().spec));
}

TEST(LayoutsOf, AreDifferentPrograms) {
  const auto space = tile::make_space(tests::expression("S[i] +=! A[i,k]", "i=64,k=256"), {{0}, {1}});
  const std::vector<tile::StageProgram> all =
      layouts_of(tile::make_stage_program(space, {{1, 64, 1}}, {64, 8}, {16}), {v100().spec});
  std::set<std::string> seen;
  for (const tile::StageProgram& p : all) EXPECT_TRUE(seen.insert(text_of(p)).second) << text_of(p);
  EXPECT_GT(all.size(), 20U);
}

// Every alternative computes the same elements in the same blocks and threads, and is another program.
RC_GTEST_PROP(LayoutKnobs, KeepTheTiles, ()) {
  tile::StageProgram p = tests::any_program(tests::any_operator(64), 256);
  apply_layout(p, {v100().spec});
  RC_LOG() << p.space->expression.stages.front().text << '\n';
  for (const LayoutKnob knob : layout_knobs()) {
    std::vector<tile::StageProgram> others;
    knob(p, {v100().spec}, others);
    for (const tile::StageProgram& q : others) {
      for (std::size_t a = 0; a < p.space->spatial; ++a) {
        RC_ASSERT(q.block[a] == p.block[a]);
        RC_ASSERT(q.thread[a] == p.thread[a]);
      }
      RC_ASSERT(q.threads() == p.threads());
      RC_ASSERT(text_of(q) != text_of(p));
    }
  }
}

// As many steps under way as any alternative has, and all else as it is.
RC_GTEST_PROP(LayoutKnobs, TheDeepestPipelineIsAsDeepAsAny, ()) {
  static const std::vector<arch::ArchSpec> kThree = {v100().spec, tests::chip("a100"), tests::chip("h200")};
  const LayoutRules rules{kThree[static_cast<std::size_t>(tests::any_of_range(0, 2))]};
  tile::StageProgram p = tests::any_program(tests::any_operator(64), 256);
  p.num_stages = std::min(p.num_stages, tests::any_of_range(1, 2));
  apply_layout(p, rules);
  if (tests::any_of_range(0, 1) == 1)
    if (std::optional<tile::StageProgram> brought = copied_by_engine(p, rules.arch)) p = *std::move(brought);
  RC_LOG() << p.space->expression.stages.front().text << ' ' << text_of(p) << '\n';
  std::int64_t deepest = p.num_stages;
  std::vector<tile::StageProgram> others;
  for (const LayoutKnob knob : layout_knobs()) knob(p, rules, others);
  for (const tile::StageProgram& q : others)
    if (q.block == p.block && q.by_tma() == p.by_tma() && q.split == p.split) deepest = std::max(deepest, q.num_stages);
  std::optional<tile::StageProgram> deep = with_deepest_pipeline(p, rules);
  RC_ASSERT(deep.has_value() == (deepest > p.num_stages));
  if (!deep) return;
  RC_ASSERT(deep->num_stages == deepest);
  deep->num_stages = p.num_stages;
  RC_ASSERT(text_of(*deep) == text_of(p));
}

}  // namespace
}  // namespace tilescope::construct
