// SPDX-License-Identifier: Apache-2.0
// What construction promises of every program that it returns, on every chip and every operator of the suites.

#include "construct/roller.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/tiles.h"
#include "construct/transfer/detail/knobs.h"
#include "tests/support/paths.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/fit.h"
#include "tile/microkernel/wgmma.h"
#include "tile/program_json.h"
#include "tile/transfer/results.h"

namespace tilescope::construct {
namespace {

class Roller : public testing::TestWithParam<const char*> {};

void expect_sound(const Ranked& r, const tests::ChipWithCostModel& chip) {
  const tile::StageProgram& p = r.program;
  EXPECT_TRUE(tile::fits(p, chip.spec));
  EXPECT_EQ(p.threads() % chip.spec.core.warp, 0) << "rule 1: whole warps";
  EXPECT_EQ(r.time.v, chip.time_of(p));
  std::int64_t blocks = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a) {
    EXPECT_EQ(p.block[a], p.mapping[a].block_extent());
    EXPECT_EQ(p.thread[a], p.mapping[a].thread_extent());
    std::int64_t grid = 0;
    while (grid * p.block[a] < p.space->axes[a].extent) ++grid;
    blocks *= grid;
  }
  for (const std::int64_t parts : p.split) blocks *= parts;
  EXPECT_EQ(p.blocks(), blocks) << "the grid covers every index and nothing beyond its last block";
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a) {
    EXPECT_GE(p.block[a], 1);
    const std::int64_t together = p.reduction_threads[a] * p.thread[a];
    EXPECT_LE(p.block[a], p.reduction_threads[a] == 1 ? p.space->axes[a].extent
                                                      : base::round_up(p.space->axes[a].extent, together));
  }
}

TEST_P(Roller, FindsSoundProgramsForEveryOperator) {
  const tests::ChipWithCostModel chip(GetParam());
  for (const char* suite : {"roller", "examples"})
    for (const tests::NamedStage& stage : tests::stages_of_suite(suite)) {
      SCOPED_TRACE(stage.id + ": " + stage.expression.stages.front().text);
      const std::vector<Ranked> found = roller(stage.expression, chip.spec, chip.cost_model(), 10);
      EXPECT_FALSE(found.empty());
      EXPECT_LE(found.size(), 10u);
      for (const Ranked& r : found) expect_sound(r, chip);
      for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i - 1].time, found[i].time) << "best first";
      for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          EXPECT_FALSE(found[i].program.space == found[k].program.space &&
                       found[i].program.block == found[k].program.block &&
                       found[i].program.thread == found[k].program.thread &&
                       found[i].program.reduction_threads == found[k].program.reduction_threads)
              << k << " and " << i << " are of the same tiles";
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, Roller, testing::Values("v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50"));

// Every product of tensor cores' dtypes is made of whole fragments, on every chip that has such an instruction.
TEST(RollerFragments, AreWhole) {
  for (const char* name : {"v100", "a100", "h100_pcie", "rtx2080ti"}) {
    const tests::ChipWithCostModel chip(name);
    for (const char* sizes : {"m=65536,n=1024,k=4096", "m=128,n=1000,k=4032", "m=333,n=77,k=1000"}) {
      SCOPED_TRACE(std::string(name) + " " + sizes);
      const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", sizes, {}, base::Dtype::kF16);
      const auto found = roller(e, chip.spec, chip.cost_model(), 10);
      ASSERT_FALSE(found.empty());
      EXPECT_TRUE(found.front().program.matrix() != nullptr) << "eight times as fast as single multiply-adds";
      for (const Ranked& r : found) {
        EXPECT_TRUE(tile::fits(r.program, chip.spec));
        if (!r.program.matrix()) continue;
        const tile::MatrixUnit& u = *r.program.matrix();
        EXPECT_EQ(r.program.thread[u.rows] % u.m, 0);
        EXPECT_EQ(r.program.thread[u.columns] % u.n, 0);
        EXPECT_EQ(r.program.thread[u.depth], u.k);
        EXPECT_EQ(r.program.iterations_along(u.depth) % u.k, 0);
        const tile::RProgram whole = tile::program_of(name, r.program);
        base::Diagnostics diags;
        diags.add_source("program");
        const auto again = tile::read_program(tile::to_document(whole, chip.spec), chip.spec, diags);
        tests::require_no_errors(diags);
        EXPECT_EQ(base::to_json(tile::to_document(*again, chip.spec)),
                  base::to_json(tile::to_document(whole, chip.spec)));
      }
    }
  }
}

// No f32 loses bits unasked; where a chip has no such instruction, its units of f32 compute tf32.
TEST(RollerFragments, OfTf32AreForTf32Alone) {
  const auto first = [](const char* name, base::Dtype dtype) {
    const tests::ChipWithCostModel chip(name);
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=1024", {}, dtype);
    return roller(e, chip.spec, chip.cost_model(), 1).at(0).program;
  };
  EXPECT_EQ(first("a100", base::Dtype::kF32).matrix(), nullptr);
  EXPECT_EQ(first("a100", base::Dtype::kTf32).matrix()->instruction, "mma.tf32");
  EXPECT_EQ(first("v100", base::Dtype::kTf32).matrix(), nullptr);
}

// Where warps' instructions reach 62 % of what those of warp groups do, and factors lie as these want them.
TEST(RollerFragments, AreOfWarpGroupsWhereThereAreSuch) {
  const tests::ChipWithCostModel chip("h200");
  const auto first = [&](const char* op, base::Dtype dtype) {
    const expr::Expression e = tests::expression(op, "m=8192,n=8192,k=8192", {}, dtype);
    return roller(e, chip.spec, chip.cost_model(), 1).at(0).program;
  };
  for (const char* op : {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[m,k] * B[n,k]"}) {
    const tile::StageProgram p = first(op, base::Dtype::kF16);
    ASSERT_TRUE(p.matrix() != nullptr);
    EXPECT_EQ(p.matrix()->instruction, "wgmma.f16") << op;
    EXPECT_EQ(tile::core_matrices_refusal(p), "");
  }
  EXPECT_EQ(first("C[m,n] +=! A[m,k] * B[n,k]", base::Dtype::kTf32).matrix()->instruction, "wgmma.tf32");
  EXPECT_EQ(first("C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kTf32).matrix()->instruction, "mma.tf32");
}

// A product of f8 with scales is one of warp groups too, in steps that share their scales.
TEST(RollerFragments, AreOfWarpGroupsUnderScales) {
  const tests::ChipWithCostModel chip("h200");
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]", "m=4096,n=4096,k=4096", {},
                        base::Dtype::kF8E4M3, {{"S", base::Dtype::kF32, {}}, {"T", base::Dtype::kF32, {}}});
  for (const Ranked& r : roller(e, chip.spec, chip.cost_model(), 5)) {
    ASSERT_TRUE(r.program.matrix() != nullptr);
    EXPECT_EQ(r.program.matrix()->instruction, "wgmma.f8e4m3");
    EXPECT_EQ(r.program.block[2], 128);
    EXPECT_EQ(tile::core_matrices_refusal(r.program), "");
  }
}

TEST(RollerRestrictions, AreKept) {
  const tests::ChipWithCostModel chip("v100");
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=1024");
  const auto tiles = roller(e, chip.spec, chip.cost_model(), 10, {.pads = false, .block = {64, 128}});
  ASSERT_FALSE(tiles.empty());
  for (const Ranked& r : tiles) {
    EXPECT_EQ(r.program.block[0], 64);
    EXPECT_EQ(r.program.block[1], 128);
    for (const tile::OperandPlan& o : r.program.operands) {
      EXPECT_EQ(o.padding, 0);
      EXPECT_EQ(o.rotate, 0);
    }
  }
  EXPECT_TRUE(roller(e, chip.spec, chip.cost_model(), 10, {.block = {64}}).empty()) << "a matrix product has two axes";
}

// Lanes of a matrix instruction hold pairs of columns: alone they fill parts of sectors.
TEST(RollerStores, LeaveInWholeRowsWhereThatIsFaster) {
  const tests::ChipWithCostModel chip("h200");
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8192,n=8192,k=512", {}, base::Dtype::kF16);
  const auto any = roller(e, chip.spec, chip.cost_model(), 1),
             direct = roller(e, chip.spec, chip.cost_model(), 1, {.direct_stores = true});
  EXPECT_TRUE(any.at(0).program.operands.back().cached);
  EXPECT_FALSE(direct.at(0).program.operands.back().cached);
  EXPECT_LT(any.at(0).time, direct.at(0).time);
}

TEST(RollerStores, ArePaddedWhereLanesWouldMeetInABank) {
  const tests::ChipWithCostModel chip("h200");
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8192,n=8192,k=512", {}, base::Dtype::kF16);
  tile::StageProgram p = roller(e, chip.spec, chip.cost_model(), 1).at(0).program;
  const base::Bytes widest = arch::widest_access_of(chip.spec);
  const auto passes = [&](std::int64_t padding) {
    const auto estimate = model::estimate_stage(tile::with_row_stores(p, padding, widest), chip.machine);
    return estimate->level("smem").transactions;
  };
  tile::store_rows(p, 0, widest);
  place_results(p, {chip.spec});
  EXPECT_LT(passes(p.operands.back().padding), passes(0));
}

// Sums of an earlier stage are i32, which no instruction of i8 multiplies, nor converts.
TEST(RollerMatrix, TakesNoInstructionOfAnotherDtype) {
  const tests::ChipWithCostModel chip("h200");
  const expr::Expression e = tests::expression("T[m,k] +=! A[m,k,r]; C[m,n] +=! T[m,k] * B[k,n]",
                                               "m=256,n=256,k=256,r=2", {}, base::Dtype::kI8);
  const expr::Expression alone =
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=256", {}, base::Dtype::kI8);
  const auto takes_one = [&](const expr::Expression& stage) {
    const std::vector<Ranked> programs = roller(stage, chip.spec, chip.cost_model(), 10);
    return std::any_of(programs.begin(), programs.end(),
                       [](const Ranked& r) { return tile::unit_of(r.program.micro_kernel) != nullptr; });
  };
  EXPECT_TRUE(takes_one(alone));
  EXPECT_FALSE(takes_one(expr::single_stage(e, 1)));
}

// Few blocks: reductions are shared. Overlapping taps: windows.
TEST(RollerSmall, SharesTheReduction) {
  const tests::ChipWithCostModel chip("v100");
  const auto found =
      roller(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=128,n=128,k=8192"), chip.spec, chip.cost_model(), 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found.front().program.split[2], 1);
}

// The rank of tiles adds a split's second launch: without, tiles of few blocks whose reduction is split push small
// tiles out of those that are judged, the more of them there are, and this product takes 1.24 times as long.
TEST(RollerSmall, MoreThreadsABlockPushOutNoSmallTile) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=384,k=256");
  const auto time_with = [&](const char* threads) {
    return roller(e, tests::chip("v100", {{"core.max_block_threads", threads}}), 1).front().time.v;
  };
  EXPECT_LT(time_with("1024"), 1.15 * time_with("512"));
}

TEST(RollerDepthwise, ReadsRegisterTilesAlongTheReduction) {
  const tests::ChipWithCostModel chip("v100");
  const auto found =
      roller(tests::expression("O[n,c,y,x] +=! I[n,c,y+r-3,x+s-3] * W[c,r,s]", "n=64,c=64,y=28,x=28,r=7,s=7"),
             chip.spec, chip.cost_model(), 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().program.thread[5], 7) << "a row of taps at a time";
}

// Images share weights, channels share nothing: growth takes blocks beyond an image along images alone.
TEST(Growth, TakesBlocksAlongWhatIsShared) {
  const expr::Expression e =
      tests::expression("O[n,c,y,x] +=! I[n,c,y+r-3,x+s-3] * W[c,r,s]", "n=64,c=64,y=28,x=28,r=7,s=7");
  const auto space = tile::make_space(e, tile::contiguous_collapse(e));
  const GrowthLimits limits = growth_limits(tests::v100());
  const AxisChoices choices =
      block_choices(*space, limits, tile::Extents(space->axes.size(), 1), first_step(*space, limits), 1);
  ASSERT_EQ(space->spatial, 4U);
  EXPECT_GT(choices[0].size(), 1U);
  EXPECT_EQ(choices[1].size(), 1U);
}

tests::NamedStage stage_of(std::string_view suite, std::string_view id) {
  for (tests::NamedStage& s : tests::stages_of_suite(suite))
    if (s.id == id) return s;
  throw std::logic_error("no such operator");
}

TEST(RollerOrder, IsTheSameEveryTime) {
  const tests::ChipWithCostModel chip("v100");
  for (const char* id : {"C0", "D3", "M1", "P5", "R2", "E4"}) {
    const expr::Expression e = stage_of("roller", id).expression;
    const auto text = [&] {
      tile::RProgram all{"v100", {}, {}};
      for (Ranked& r : roller(e, chip.spec, chip.cost_model(), 10)) all.simt().push_back(std::move(r.program));
      return base::to_json(tile::to_document(all, chip.spec));
    };
    EXPECT_EQ(text(), text()) << id;
  }
}

TEST(RollerOrder, TheFirstDoesNotHangOnHowManyAreAskedFor) {
  const tests::ChipWithCostModel chip("v100");
  for (const char* id : {"C36", "D4", "D18", "P4", "P7", "R3"}) {
    const expr::Expression e = stage_of("roller", id).expression;
    const auto text = [&](std::size_t keep) {
      const tile::StageProgram first = roller(e, chip.spec, chip.cost_model(), keep).front().program;
      return base::to_json(tile::to_document(tile::program_of("v100", first), chip.spec));
    };
    EXPECT_EQ(text(1), text(10)) << id;
  }
}

// Depthwise operators of odd sizes: few tiles waste as little as the first epsilon allows, and every further epsilon
// finds those again.
TEST(RollerEpsilon, GrowsUntilThereAreEnoughDifferentTiles) {
  const tests::ChipWithCostModel chip("v100");
  for (const char* id : {"D14", "D22"})
    EXPECT_EQ(roller(stage_of("roller", id).expression, chip.spec, chip.cost_model(), 10).size(), 10U) << id;
}

// No tile of a warp fits the scratchpad, and there is no core cache to read from instead.
TEST(RollerWithoutACoreCache, ReadsFromMemoryWhatItCannotStage) {
  const tests::ChipWithCostModel chip(tests::source_path("tests/error/arch/minimal.yaml").string(),
                                      {{"memory.smem.capacity", "256 B"}});
  ASSERT_EQ(arch::core_cache_of(chip.spec), nullptr);
  for (const char* id : {"M1", "C1", "D1", "P1", "R1"}) {
    const auto found = roller(stage_of("roller", id).expression, chip.spec, chip.cost_model(), 3);
    EXPECT_FALSE(found.empty()) << id;
    for (const Ranked& r : found) EXPECT_TRUE(tile::fits(r.program, chip.spec)) << id;
  }
}

bool stages_anything(const tile::StageProgram& p) {
  return std::any_of(p.operands.begin(), p.operands.end(), [](const tile::OperandPlan& o) { return o.cached; });
}

TEST(RollerOrder, IsTheCostModels) {
  const tests::ChipWithCostModel chip("v100");
  const expr::Expression e = stage_of("roller", "M4").expression;
  // A cost model that likes few threads and cannot tell about programs that stage nothing.
  const CostModel odd = [](const tile::RProgram& p) {
    if (!stages_anything(p.simt()[0])) return base::Microseconds{std::numeric_limits<double>::infinity()};
    return base::Microseconds{static_cast<double>(p.simt()[0].threads())};
  };
  const auto found = roller(e, chip.spec, odd, 5);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().program.threads(), 32);
  for (const Ranked& r : found) {
    EXPECT_TRUE(stages_anything(r.program));
    EXPECT_EQ(r.time.v, static_cast<double>(r.program.threads()));
  }
}

TEST(RollerOrder, ACostModelThatCannotTellGetsNothing) {
  const tests::ChipWithCostModel chip("v100");
  const auto found = roller(
      stage_of("roller", "M4").expression, chip.spec,
      [](const auto&) { return base::Microseconds{std::numeric_limits<double>::infinity()}; }, 5);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace tilescope::construct
