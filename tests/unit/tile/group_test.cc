// SPDX-License-Identifier: Apache-2.0
// Which stages are one kernel, where their tiles begin, and why some cannot be one.

#include "tile/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/support/random_group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/transfer/results.h"

namespace tilescope::tile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::v100;

using Mapping = base::FixedVector<AxisMapping, kMaxAxes>;

// Stages of single loops, each reduction in one step, that read nothing but kept tensors through the scratchpad.
RProgram joined(const char* op, const char* sizes, const std::vector<Mapping>& mappings, const char* level = "smem") {
  const expr::Expression e = tests::expression(op, sizes);
  RProgram p{"v100", {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    const expr::Expression one = expr::single_stage(e, s);
    const auto space = make_space(one, no_collapse(one.stages.front()));
    Extents step(space->axes.size(), 1);
    for (std::size_t a = space->spatial; a < step.size(); ++a) step[a] = space->axes[a].extent;
    StageProgram stage = make_stage_program(space, mappings[s], step, {16});
    for (std::size_t i = 0; i < space->inputs.size(); ++i) stage.operands[i] = {};
    p.simt().push_back(std::move(stage));
    for (const auto& [tensor, from] : tests::computed_inputs(e, s))
      p.edges.push_back({from, static_cast<int>(s), tensor, level});
  }
  return p;
}

// Two rows of T for one of O, blocks of eight rows.
RProgram halo() {
  return joined("T[i,j] = relu(I[i,j]); O[y,x] = T[y,x] + T[y+1,x]", "i=16,j=16,y=16,x=16",
                {{{1, 8, 2}, {1, 8, 2}}, {{1, 8, 1}, {1, 8, 2}}});
}

std::vector<std::string> refusals(const RProgram& p, const arch::ArchSpec& chip = v100()) {
  base::Diagnostics diags;
  for (const Group& group : groups_of(p, chip)) {
    const std::size_t before = diags.count();
    const bool laid_out = layout_of(p, group, chip, diags).has_value();
    EXPECT_EQ(laid_out, diags.count() == before);
  }
  return diags.sentences();
}

GroupLayout layout(const RProgram& p) {
  base::Diagnostics diags;
  const auto out = layout_of(p, groups_of(p, v100()).back(), v100(), diags);
  tests::require_no_errors(diags);
  return *out;
}

TEST(Groups, AreJoinedByEdgesInTheScratchpad) {
  RProgram p = joined("A[i] = -I[i]; B[i] = -I[i]; C[i] = -A[i]; D[i] = -B[i]; E[i] = C[i] + D[i]", "i=8",
                      {5, Mapping{{1, 8, 1}}}, "dram");
  EXPECT_THAT(groups_of(p, v100()), ElementsAre(Group{0}, Group{1}, Group{2}, Group{3}, Group{4}));
  const auto keep = [&](const char* tensor) {
    for (Edge& e : p.edges)
      if (e.tensor == tensor) e.level = "smem";
  };
  keep("A");
  EXPECT_THAT(groups_of(p, v100()), ElementsAre(Group{1}, Group{0, 2}, Group{3}, Group{4}))
      << "in the order of their last stages";
  keep("D");
  EXPECT_THAT(groups_of(p, v100()), ElementsAre(Group{1}, Group{0, 2}, Group{3, 4}));
  EXPECT_THAT(refusals(p), IsEmpty());
  keep("B");
  EXPECT_THAT(groups_of(p, v100()), ElementsAre(Group{0, 2}, Group{1, 3, 4}));
  keep("C");
  EXPECT_THAT(groups_of(p, v100()), ElementsAre(Group{0, 1, 2, 3, 4}));
  EXPECT_THAT(refusals(p), IsEmpty());
}

TEST(Groups, TilesBeginWhereTheyAreReadFirst) {
  const GroupLayout l = layout(halo());
  EXPECT_EQ(l.threads, 64);
  ASSERT_EQ(l.stages.size(), 2U);
  EXPECT_THAT(l.stages[0].begins, ElementsAre(TileBegin{{{0, 1}}, 0}, TileBegin{}));
  EXPECT_TRUE(l.stages[0].keeps_output);
  EXPECT_FALSE(l.stages[1].keeps_output);
  EXPECT_THAT(l.stages[1].kept_inputs, ElementsAre(0));
  EXPECT_EQ(l.bytes.n, 16 * 16 * 4);

  const GroupLayout before = layout(joined("T[i,j] = relu(I[i,j]); O[y,x] = T[y*2-1,x+3] - T[y*2,x-2]",
                                           "i=32,j=16,y=16,x=16", {{{1, 8, 2}, {1, 8, 3}}, {{1, 4, 1}, {1, 16, 1}}}));
  EXPECT_THAT(before.stages[0].begins, ElementsAre(TileBegin{{{0, 2}}, -1}, TileBegin{{}, -2}));
}

// Of A, B and C two are alive at a time, and A and B are done when D is written.
TEST(Groups, TilesLieWhereOthersAreDone) {
  const Mapping m = {{1, 8, 32}};
  const RProgram p = joined("A[i] = -I[i]; B[i] = -A[i]; C[i] = -B[i]; D[i] = -C[i]; E[i] = -D[i]", "i=256", {5, m});
  const GroupLayout l = layout(p);
  EXPECT_EQ(l.bytes.n, 2 * 1024);
  for (const std::size_t s : {0, 2}) EXPECT_EQ(l.stages[s].kept.n, l.stages[0].kept.n);
  for (const std::size_t s : {1, 3}) EXPECT_EQ(l.stages[s].kept.n, 1024 - l.stages[0].kept.n);

  RProgram padded = p;
  padded.simt()[2].operands.back().padding = 1;
  EXPECT_EQ(kept_elements(padded.simt()[2]), 257);
  EXPECT_EQ(layout(padded).bytes.n, 1040 + 1024) << "the next tile begins at a multiple of 16 bytes";
}

TEST(GroupErrors, OfThreads) {
  EXPECT_THAT(refusals(joined("T[i] = -I[i]; O[i] = -T[i]", "i=128", {{{2, 64, 1}}, {{1, 128, 1}}})), IsEmpty())
      << "the others of the block do the same again";
  EXPECT_THAT(refusals(joined("T[i] = -I[i]; O[i] = -T[i]", "i=128", {{{2, 48, 1}}, {{1, 128, 1}}})),
              ElementsAre("a block has 128 threads, which the 48 for T do not divide"));
}

TEST(GroupErrors, OfLoops) {
  RProgram p = halo();
  const expr::Expression& e = p.simt()[0].space->expression;
  p.simt()[0] = make_stage_program(make_space(e, contiguous_collapse(e)), {{1, 64, 4}}, {1}, {16});
  EXPECT_THAT(refusals(p),
              Contains("the stage of T cannot share a kernel: its loops are not those of the expression, one by one"));

  RProgram split = joined("T[i,j] = relu(I[i,j]); O[i] +=! T[i,j]", "i=8,j=16", {{{1, 8, 1}, {1, 1, 16}}, {{1, 8, 1}}});
  EXPECT_THAT(refusals(split), IsEmpty());
  split.simt()[1].split[1] = 2;
  EXPECT_THAT(refusals(split), ElementsAre("the stage of O cannot share a kernel: blocks share its reduction (split)"));
}

TEST(GroupErrors, OfBoxes) {
  const arch::ArchSpec h100 = tests::chip("h100_pcie");
  RProgram p =
      joined("T[i,j] = relu(I[i,j]); O[i,j] = -T[i,j]", "i=64,j=64", {{{1, 8, 1}, {1, 8, 8}}, {{1, 8, 1}, {1, 8, 8}}});
  EXPECT_THAT(refusals(p, h100), IsEmpty());
  const auto stored = with_tma_stores(p.simt()[1], {128}, h100);
  ASSERT_TRUE(stored);
  p.simt()[1] = *stored;
  EXPECT_THAT(refusals(p, h100), ElementsAre("the stage of O cannot share a kernel: TMA copies its tiles"));
}

TEST(GroupErrors, OfTensorsThatLeaveTheGroup) {
  RProgram p = joined("T[i] = -I[i]; U[i] = -T[i]; O[i] = T[i] + U[i]", "i=64", {3, Mapping{{1, 64, 1}}});
  EXPECT_THAT(refusals(p), IsEmpty());
  RProgram outside = p;
  for (Edge& e : outside.edges)
    if (e.to == 2) e.level = "dram";
  EXPECT_THAT(refusals(outside),
              ElementsAre("T passes between stages of one kernel, and the stage of O reads it outside"));
  std::erase_if(outside.edges, [](const Edge& e) { return e.to == 2; });
  EXPECT_THAT(refusals(outside),
              ElementsAre("T passes between stages of one kernel, and the stage of O reads it outside"))
      << "an edge that is not there";

  const RProgram results = joined("T[i] = -I[i]; U[i] = -T[i]; O[i] = T[i] - 1", "i=64", {3, Mapping{{1, 64, 1}}});
  EXPECT_THAT(refusals(results),
              ElementsAre("U is a result of the program, and its stage is not the last of its kernel"));
}

TEST(GroupErrors, OfWhatIsKeptAndCached) {
  RProgram p = halo();
  p.simt()[0].operands.back().cached = true;
  EXPECT_THAT(refusals(p), ElementsAre("T stays in the core and does not leave through the scratchpad"));
  p = halo();
  p.simt()[1].operands[0].cached = true;
  EXPECT_THAT(refusals(p), ElementsAre("T stays in the core; O copies it to the scratchpad once more"));
}

TEST(GroupErrors, OfTilesThatMoveApart) {
  const auto turned = [](std::int64_t threads) {
    return joined("T[i,j] = relu(I[i,j]); O[y,x] = T[y,x] + T[x,y]", "i=16,j=16,y=16,x=16",
                  {{{1, threads, 16 / threads}, {1, threads, 16 / threads}},
                   {{1, threads, 16 / threads}, {1, threads, threads == 8 ? 1 : 4}}});
  };
  EXPECT_THAT(refusals(turned(4)), IsEmpty()) << "one block has all";
  EXPECT_THAT(refusals(turned(8)), ElementsAre("stages read T at places along i that move apart from block to block"));
}

TEST(GroupErrors, OfTilesThatAreTooSmall) {
  RProgram p = halo();
  p.simt()[0] = make_stage_program(p.simt()[0].space, {{1, 8, 1}, {1, 8, 2}}, {1, 1}, {16});
  EXPECT_THAT(refusals(p), Contains("a block reads 9 elements of T along i, and its stage's tile has 8"));
  p = halo();
  p.simt()[0] = make_stage_program(p.simt()[0].space, {{1, 8, 2}, {1, 8, 1}}, {1, 1}, {16});
  EXPECT_THAT(refusals(p), Contains("a block reads 16 elements of T along j, and its stage's tile has 8"));
}

TEST(GroupErrors, OfBytes) {
  const RProgram p = joined("T[i,j] = relu(I[i,j]); U[i,j] = -T[i,j]; O[i,j] = -U[i,j]", "i=256,j=64",
                            {3, Mapping{{1, 8, 32}, {1, 8, 8}}});
  EXPECT_THAT(refusals(p), ElementsAre("scratchpad bytes a block: its stages need 131072 B, v100 has 98304 B (kept: "
                                       "65536 of T, 65536 of U)"));
}

// A matrix, and what passes in registers: twice, and once more the sum.
RProgram epilogues(const char* op = "T[i,j] = relu(I[i,j]); U[i,j] = T[i,j] + T[i,j]; O[i,j] = T[i,j] + U[i,j]") {
  RProgram p = joined(op, "i=64,j=64", {3, Mapping{{1, 8, 1}, {1, 8, 2}}}, "reg");
  for (std::size_t s = 1; s < p.stages(); ++s) p.simt()[s] = make_epilogue(p.simt()[s].space, p.simt()[0], {16});
  return p;
}

TEST(Epilogues, ComputeWhereTheirHolderDoes) {
  const GroupLayout l = layout(epilogues());
  EXPECT_EQ(l.bytes.n, 0);
  EXPECT_EQ(l.threads, 64);
  for (const GroupedStage& s : l.stages)
    EXPECT_THAT(s.begins, ElementsAre(TileBegin{{{0, 1}}, 0}, TileBegin{{{1, 1}}, 0}));
  EXPECT_TRUE(l.stages[0].holds_output && l.stages[1].holds_output && leaves(l.stages[2]));
  EXPECT_THAT(l.stages[2].held_inputs, ElementsAre(0, 1));
  EXPECT_THAT(l.stages[2].kept_inputs, ElementsAre(-1, -1));
}

// Loops that are one tile axis pass on as they are.
TEST(Epilogues, OfCollapsedLoops) {
  RProgram p = epilogues("T[i,j] = relu(I[i,j]); O[i,j] = T[i,j] - J[j]");
  const expr::Expression& e = p.simt()[0].space->expression;
  p.simt()[0] = make_stage_program(make_space(e, contiguous_collapse(e)), {{1, 64, 4}}, {1}, {16});
  const auto space = epilogue_space(p.simt()[1].space->expression, *p.simt()[0].space);
  EXPECT_EQ(space->axes.size(), 1U);
  p.simt()[1] = make_epilogue(space, p.simt()[0], {16});
  EXPECT_THAT(refusals(p), IsEmpty());
}

TEST(GroupErrors, OfEpilogues) {
  RProgram p = epilogues();
  p.simt()[2].mapping[0].per_thread = 2;
  EXPECT_THAT(refusals(p),
              ElementsAre("T cannot pass to O in registers: other threads, or blocks, compute other parts of "
                          "them"));
  p = epilogues();
  p.simt()[2].group_m = 2;
  EXPECT_THAT(refusals(p),
              ElementsAre("T cannot pass to O in registers: other threads, or blocks, compute other parts of "
                          "them"));
  p = epilogues();
  p.simt()[2].micro_kernel = Fma{};
  EXPECT_THAT(
      refusals(p),
      ElementsAre(
          "T cannot pass to O in registers: the stage of O is no epilogue, and reads what passes in registers"));
  p = epilogues();
  for (Edge& e : p.edges)
    if (e.to == 1) e.level = "smem";
  EXPECT_THAT(refusals(p), ElementsAre("the stage of U is an epilogue, and nothing reaches it in registers"));
  p = epilogues();
  for (Edge& e : p.edges)
    if (e.from == 0 && e.to == 2) e.level = "smem";
  EXPECT_THAT(refusals(p),
              ElementsAre("U cannot pass to O in registers: it reads T in the scratchpad, where that is not "
                          "whole"))
      << "T is its holder's";
  p = epilogues();
  p.simt()[1].operands[0].cached = true;
  EXPECT_THAT(refusals(p), ElementsAre("T stays in the core; U copies it to the scratchpad once more"));
}

TEST(GroupErrors, OfStagesBetweenEpilogues) {
  RProgram p = joined("T[i,j] = relu(I[i,j]); M[i] max=! T[i,j]; O[i,j] = T[i,j] - M[i]", "i=64,j=16",
                      {{{1, 8, 1}, {1, 8, 2}}, {{1, 8, 1}}, {{1, 8, 1}, {1, 8, 2}}});
  p.simt()[2] = make_epilogue(p.simt()[2].space, p.simt()[0], {16});
  for (Edge& e : p.edges)
    if (e.from == 0 && e.to == 2) e.level = "reg";
  EXPECT_THAT(refusals(p), ElementsAre("T cannot pass to O in registers: the stage of M comes between"));
}

TEST(GroupErrors, OfFactorsOfMatrixInstructions) {
  const arch::ArchSpec a100 = tests::chip("a100");
  const auto spec = std::find_if(a100.compute.begin(), a100.compute.end(),
                                 [](const arch::ComputeSpec& c) { return c.name == "mma.f16"; });
  const expr::Expression e =
      tests::expression("T[m,n] = relu(A[m,n]); O[m,j] +=! T[m,n] * C[n,j]", "m=16,n=40,j=8", {}, base::Dtype::kF16);
  RProgram p{"a100", {}, {{0, 1, "T", "smem"}}};
  for (const std::size_t s : {0, 1}) {
    const expr::Expression one = expr::single_stage(e, s);
    p.add(make_stage_program(make_space(one, no_collapse(one.stages.front())),
                             s == 0 ? Mapping{{1, 1, 16}, {1, 32, 2}} : Mapping{{1, 1, 16}, {1, 1, 8}},
                             s == 0 ? Extents{1, 1} : Extents{1, 1, 16}, {16}));
  }
  MatrixUnit along;
  along.columns = 1;
  along.depth = 2;
  p.simt()[1] = with_micro_kernel(p.simt()[1], micro_kernel_of(*spec, a100, along), {16});
  p.simt()[1].operands[0].cached = false;
  EXPECT_THAT(refusals(p, a100),
              ElementsAre("instruction mma.f16: T stays in the scratchpad, and steps of 16 along n do "
                          "not divide its 40"));
  p.simt()[1].operands[1].cached = false;
  p.edges.clear();
  EXPECT_THAT(refusals(p, a100), ElementsAre("instruction mma.f16: T is not cached"));
}

TEST(GroupErrors, OfHoldersThatShareReductions) {
  RProgram p = joined("T[i] +=! I[i,j]; O[i] = -T[i]", "i=64,j=64", {2, Mapping{{1, 8, 1}}}, "reg");
  p.simt()[1] = make_epilogue(p.simt()[1].space, p.simt()[0], {16});
  EXPECT_THAT(refusals(p), IsEmpty());
  p.simt()[0].reduction_threads[1] = 8;
  EXPECT_THAT(refusals(p), Contains("T cannot pass to O in registers: threads share the reduction of T"));
}

// The error names its place.
TEST(GroupErrors, StandWhereTheProgramDoes) {
  RProgram p = halo();
  p.simt()[1].operands[0].cached = true;
  base::Diagnostics diags;
  const base::Position at{diags.add_source("softmax.json"), 1, 1};
  EXPECT_FALSE(layout_of(p, {0, 1}, v100(), diags, at));
  EXPECT_THAT(diags.formatted_errors(), ElementsAre(HasSubstr("softmax.json:1:1: T stays in the core;")));
}

}  // namespace
}  // namespace tilescope::tile
