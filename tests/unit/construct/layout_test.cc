// Layouts: padding pays for itself in passes, and what is chosen is counted by the model in the same way.

#include "construct/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/random_program.h"
#include "tests/unit/construct/construct_on.h"

namespace tilescope::construct {
namespace {

const tests::JudgedChip& v100() {
  static const tests::JudgedChip kChip("v100");
  return kChip;
}

double passes(const tile::StageProgram& p) { return model::estimate_stage(p, v100().machine)->scratchpad.transactions; }

RC_GTEST_PROP(PadForBanks, NeverNeedsMorePassesThanNoPadding, ()) {
  const expr::Expression e = tests::any_operator(64);
  const auto space = tile::make_space(e, tests::any_fusion(e));
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
  pad_for_banks(p, v100().spec);
  RC_ASSERT(passes(p) <= before * (1 + 1e-9));
}

TEST(PadForBanks, FreesAColumn) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  const auto space = tile::make_space(e, tile::no_fusion(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 32, 1}, {1, 8, 1}}, {1, 1, 32}, {16});
  p.thread_order = {1, 0};
  const double before = passes(p);
  pad_for_banks(p, v100().spec);
  EXPECT_NE(p.operands[0].padding, 0);
  EXPECT_EQ(p.operands[1].padding, 0) << "rows are read along";
  EXPECT_LT(passes(p), before / 4);
}

TEST(LayoutsOf, BeginWithTheProgramItself) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  const auto space = tile::make_space(e, tile::no_fusion(e.stages.front()));
  const tile::StageProgram p = tile::make_stage_program(space, {{4, 16, 1}, {4, 16, 1}}, {1, 1, 8}, {16});
  const auto layouts = layouts_of(p, v100().spec);
  ASSERT_FALSE(layouts.empty());
  EXPECT_EQ(layouts.front().block, p.block);
  EXPECT_EQ(layouts.front().mapping, p.mapping);
  for (const tile::StageProgram& q : layouts) {
    EXPECT_EQ(q.thread, p.thread) << "a layout keeps the tiles of threads";
    for (std::size_t a = 0; a < space->spatial; ++a) EXPECT_EQ(q.block[a], p.block[a]);
  }
}

}  // namespace
}  // namespace tilescope::construct
