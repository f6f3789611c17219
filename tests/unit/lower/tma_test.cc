// SPDX-License-Identifier: Apache-2.0
// Kernels whose tiles TMA loads: against plain loops, and with mistakes that are planted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/check.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_matrix_program.h"

namespace tilescope::lower {
namespace {

using testing::HasSubstr;
using tests::each_body;
using tests::h100;
using tests::remove;

RC_GTEST_PROP(Boxes, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_matrix_program(h100(), tests::Factors::kByTma);
  base::Diagnostics diags;
  const auto m = lower(p, h100(), diags);
  if (!m) {
    RC_ASSERT(diags.errors().front().text.find("a block") != std::string::npos);
    RC_DISCARD("too large");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(tests::wrong_outputs(p, *m) == "");
}

// 128 x 64 by two groups, five steps through three stages.
class PlantedInBoxes : public testing::Test {
 protected:
  PlantedInBoxes() {
    const expr::Expression e =
        tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=128,n=64,k=320", {}, base::Dtype::kF16);
    const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    tile::StageProgram p = tile::make_stage_program(space, {{1, 2, 64}, {1, 1, 64}}, {1, 1, 64}, {16});
    for (const arch::ComputeSpec& c : h100().compute)
      if (c.operands && c.dtype == base::Dtype::kF16) {
        tile::MatrixUnit along;
        along.columns = 1;
        along.depth = 2;
        p = tile::with_micro_kernel(std::move(p), tile::micro_kernel_of(c, h100(), along), {16});
      }
    p.num_stages = 3;
    program_ = tile::program_of("h100_pcie", tile::with_tma_loads(std::move(p), h100()).value());
    module_ = tests::lowered(program_, h100());
  }

  std::string result_of(const Module& m) const { return tests::interpreter_result(program_, m); }
  Kernel& kernel() { return module_.kernels[0]; }

  tile::RProgram program_;
  Module module_;
};

TEST_F(PlantedInBoxes, NothingIsWrongAtFirst) {
  EXPECT_EQ(result_of(module_), "");
  EXPECT_EQ(kernel().threads, 2 * 128 + 32);
}

TEST_F(PlantedInBoxes, TilesThatNoWarpWaitsForAreFound) {
  ASSERT_TRUE(remove<MbarrierWait>(kernel(), 0));
  EXPECT_THAT(result_of(module_), HasSubstr("is read"));
}

TEST_F(PlantedInBoxes, StagesThatAreNotFreeAreFound) {
  ASSERT_TRUE(remove<MbarrierWait>(kernel(), 1));
  EXPECT_NE(result_of(module_), "");
}

// Warps meet before results take the place of the tiles, and before whole rows are read.
TEST_F(PlantedInBoxes, MeetingsThatLackAreFound) {
  program_.simt()[0] = tile::with_row_stores(program_.simt()[0], 8, {16});
  const Module right = tests::lowered(program_, h100());
  EXPECT_EQ(result_of(right), "");
  for (const int meeting : {0, 1}) {
    Module m = right;
    ASSERT_TRUE(remove<MbarrierWait>(m.kernels[0], meeting));
    EXPECT_THAT(result_of(m), HasSubstr("without a barrier")) << meeting;
  }
}

// Parts of a split reduction lie one after the other, which boxes of the output do not know: also where they have the
// output's own type.
TEST(Boxes, StoreNoPartsOfASplitReduction) {
  for (const base::Dtype dtype : {base::Dtype::kF32, base::Dtype::kF16}) {
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=128,n=128,k=128", {}, dtype);
    const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    tile::StageProgram p = tile::make_stage_program(space, {{1, 8, 8}, {1, 8, 8}}, {1, 1, 16}, {16});
    EXPECT_TRUE(tile::with_tma_stores(p, {128}, h100()));
    p.split.back() = 2;
    EXPECT_FALSE(tile::with_tma_stores(p, {128}, h100()));
  }
}

// The engine sees what threads wrote only once they have published it, and all of it only once they have met.
TEST_F(PlantedInBoxes, StoresOfWhatIsNotWholeAreFound) {
  const auto stored = tile::with_tma_stores(program_.simt()[0], {32}, h100());
  ASSERT_TRUE(stored);
  program_.simt()[0] = *stored;
  const Module right = tests::lowered(program_, h100());
  EXPECT_EQ(result_of(right), "");
  Module m = right;
  ASSERT_TRUE(remove<ProxyFence>(m.kernels[0], 0));
  EXPECT_NE(result_of(m), "");
  for (const int meeting : {0, 1}) {
    m = right;
    ASSERT_TRUE(remove<MbarrierWait>(m.kernels[0], meeting));
    EXPECT_NE(result_of(m), "") << meeting;
  }
  m = right;
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* store = std::get_if<TmaStore>(&s.what)) store->dims[0].at.constant += 1;
  });
  EXPECT_NE(result_of(m), "") << "a row further down";
}

TEST_F(PlantedInBoxes, CopiesOfMoreThanAPieceToSwizzledRowsAreRefused) {
  program_.simt()[0] = tile::with_tma_stores(program_.simt()[0], {32}, h100()).value();
  Module m = tests::lowered(program_, h100());
  each_body(m.kernels[0].body, [](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* copy = std::get_if<Copy>(&s.what)) copy->elements = 16;
  });
  base::Diagnostics diags;
  const base::Position place{diags.add_source("kernel"), 1, 1};
  EXPECT_FALSE(check(m, h100(), [&](std::string_view) { return place; }, diags));
  ASSERT_FALSE(diags.errors().empty());
  EXPECT_THAT(diags.errors().front().text, HasSubstr("an access of 32 B to swizzled rows, whose pieces have 16 B"));
}

TEST_F(PlantedInBoxes, ArrivalsThatLackAreFound) {
  Module m = module_;
  ASSERT_TRUE(remove<MbarrierArrive>(m.kernels[0], 0));
  EXPECT_THAT(result_of(m), HasSubstr("wait for each other"));
  ASSERT_TRUE(remove<MbarrierArrive>(kernel(), 1));
  EXPECT_NE(result_of(module_), "");
}

TEST_F(PlantedInBoxes, BytesThatAreNotThoseOfTheBoxesAreFound) {
  for (const std::int64_t more : {-2, 2}) {
    Module m = module_;
    each_body(m.kernels[0].body, [&](std::vector<Statement>& body) {
      for (Statement& s : body)
        if (auto* arrive = std::get_if<MbarrierArrive>(&s.what); arrive != nullptr && arrive->bytes > 0)
          arrive->bytes += more;
    });
    EXPECT_THAT(result_of(m), HasSubstr("wait for each other")) << more;
  }
}

TEST_F(PlantedInBoxes, UsesThatAreOffByOneAreFound) {
  int planted = 0;
  for (int n = 0; n < 4; ++n)
    for (const std::int64_t by : {-1, 1}) {
      Module m = module_;
      int at = 0;
      each_body(m.kernels[0].body, [&](std::vector<Statement>& body) {
        for (Statement& s : body) {
          Affine* phase = nullptr;
          if (auto* a = std::get_if<MbarrierArrive>(&s.what)) phase = &a->phase;
          if (auto* a = std::get_if<MbarrierWait>(&s.what)) phase = &a->phase;
          if (phase != nullptr && at++ == n) phase->constant += by;
        }
      });
      // The producer may await a stage later than it has to.
      const bool late = n == 2 && by == 1;
      EXPECT_EQ(result_of(m).empty(), late) << n << ' ' << by << ' ' << result_of(m);
      ++planted;
    }
  EXPECT_EQ(planted, 8);
}

TEST_F(PlantedInBoxes, ABoxThatBeginsElsewhereIsFound) {
  each_body(kernel().body, [&](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* copy = std::get_if<TmaLoad>(&s.what)) copy->dims.front().at.constant += 1;
  });
  EXPECT_NE(result_of(module_), "");
}

TEST_F(PlantedInBoxes, ABarrierOfARoleIsFound) {
  auto& roles = std::get<WarpSpecialized>(kernel().body.back().what).roles;
  roles[0].body.push_back({Barrier{}, {}});
  EXPECT_THAT(result_of(module_), HasSubstr("a barrier of a role"));
}

TEST_F(PlantedInBoxes, ArrivalsBeforeProductsHaveEndedAreFound) {
  each_body(kernel().body, [&](std::vector<Statement>& body) {
    for (std::size_t i = 0; i + 1 < body.size(); ++i)
      if (std::holds_alternative<WgmmaCommitWait>(body[i].what)) std::swap(body[i], body[i + 1]);
  });
  EXPECT_THAT(result_of(module_), HasSubstr("while products"));
}

TEST_F(PlantedInBoxes, RolesThatShareWarpsAreFound) {
  auto& roles = std::get<WarpSpecialized>(kernel().body.back().what).roles;
  roles[1].first_thread -= 32;
  EXPECT_THAT(result_of(module_), HasSubstr("warps of its own"));
}

}  // namespace
}  // namespace tilescope::lower
