// SPDX-License-Identifier: Apache-2.0
// Persistent blocks, which take tiles in turn: against plain loops, with mistakes that are planted, and what programs
// refuse.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/kernel_document.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/document.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_cluster_program.h"
#include "tile/program_json.h"
#include "tile/staging.h"
#include "tile/tile_loop.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::each_body;
using tests::h100;

// What the checks of documents find.
std::vector<std::string> mistakes_of(const Module& m) {
  base::Diagnostics diags;
  const auto read = read_kernels(to_document(m, "", {}, false), h100(), diags);
  EXPECT_TRUE(!read || read->module == m);
  return diags.sentences();
}

RC_GTEST_PROP(RandomPersistentBlocks, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_persistent_program(h100());
  const Module m = tests::lowered(p, h100());
  RC_LOG() << print(m);
  RC_ASSERT(m.kernels[0].blocks == p.simt()[0].tile_loop.blocks);
  RC_ASSERT(mistakes_of(m) == std::vector<std::string>());
  RC_ASSERT(tests::wrong_outputs(p, m) == "");
}

// 256 x 448 in 28 tiles of 64 x 64, four steps of 64 through four stages. Ten blocks compute two or three of them.
std::string persistent_document(std::string_view more) {
  return R"({"arch":"h100_pcie","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{"m":256,"n":448,"k":256},)"
         R"("dtype":"f16","tiles":{"smem":{"m":64,"n":64,"k":64}},"mapping":{"m":{"per_thread":64},)"
         R"("n":{"per_thread":64}},"mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"},"num_stages":4,)"
         R"("copy":{"A":"tma","B":"tma","C":"tma"},"box":{"A":64,"B":64,"C":64},)"
         R"("cached":{"A":"smem","B":"smem","C":"smem"})" +
         std::string(more) + R"(}],"edges":[]})";
}

class PlantedInPersistentBlocks : public testing::TestWithParam<int> {
 protected:
  std::string result_of(const Module& m) const { return tests::interpreter_result(program_, m); }
  Kernel& kernel() { return module_.kernels[0]; }
  int crews() const { return GetParam(); }
  template <class Kind, class Change>
  void change_all(const Change& change) {
    each_body(kernel().body, [&](std::vector<Statement>& body) {
      for (Statement& s : body)
        if (auto* of = std::get_if<Kind>(&s.what)) change(*of);
    });
  }
  // Of a use of an mbarrier, what counts on from round to round.
  void restart_in_every_round(Affine& use) const {
    std::erase_if(use.terms, [&](const AffineTerm& t) {
      const std::string& name = module_.kernels[0].indices[static_cast<std::size_t>(t.index)].name;
      return name.starts_with("round") || name.starts_with("turn");
    });
  }
  bool found() const { return result_of(module_) != "" || !mistakes_of(module_).empty(); }

  tile::RProgram program_ = tests::program(
      persistent_document(R"(,"persistent":{"blocks":10,"crews":)" + std::to_string(GetParam()) + "}"), h100());
  Module module_ = tests::lowered(program_, h100());
};

TEST_P(PlantedInPersistentBlocks, NothingIsWrongAtFirst) {
  EXPECT_EQ(kernel().blocks, 10);
  EXPECT_EQ(kernel().threads, crews() * 128 + 32);
  EXPECT_EQ(result_of(module_), "");
  EXPECT_THAT(mistakes_of(module_), IsEmpty());
  EXPECT_EQ(std::get<WarpSpecialized>(kernel().body.back().what).roles.size(), static_cast<std::size_t>(crews() + 1));
}

TEST_P(PlantedInPersistentBlocks, RingsThatBeginAnewWithEveryTileAreFound) {
  change_all<MbarrierWait>([&](MbarrierWait& w) {
    if (kernel().mbarriers[static_cast<std::size_t>(w.mbarrier)].name == "full") restart_in_every_round(w.phase);
  });
  EXPECT_TRUE(found());
}

TEST_P(PlantedInPersistentBlocks, MeetingsThatBeginAnewWithEveryTileAreFound) {
  const auto restart = [&](auto& of) {
    if (kernel().mbarriers[static_cast<std::size_t>(of.mbarrier)].name == "met") restart_in_every_round(of.phase);
  };
  change_all<MbarrierWait>(restart);
  change_all<MbarrierArrive>(restart);
  EXPECT_TRUE(found());
}

TEST_P(PlantedInPersistentBlocks, SlotsThatNoWarpSetsFreeAreFound) {
  each_body(kernel().body, [](std::vector<Statement>& body) {
    std::erase_if(body, [](const Statement& s) { return s.note == "this warp has read them"; });
  });
  EXPECT_THAT(result_of(module_), HasSubstr("wait for each other"));
  EXPECT_THAT(mistakes_of(module_), ElementsAre(HasSubstr("which never ends")));
}

// Behind the first meeting the results of the tile before have left. With fewer stages than steps the ring would say
// so.
TEST_P(PlantedInPersistentBlocks, ResultsWrittenOverThoseThatLeaveAreFound) {
  const std::string note = "every thread has read what lies where the results will";
  each_body(kernel().body, [&](std::vector<Statement>& body) {
    for (std::size_t i = 1; i < body.size(); ++i)
      if (body[i].note == note) body[i].what = MbarrierWait{1, Affine{{}, -1}};  // over from the start
  });
  EXPECT_TRUE(found());
}

TEST_P(PlantedInPersistentBlocks, BlocksThatTakeTheSameTileAreFound) {
  for (Index& index : kernel().indices)
    if (index.name.starts_with("tile_"))
      std::erase_if(index.of.terms, [](const AffineTerm& t) { return t.index == kBlockIndex; });
  EXPECT_TRUE(found());
}

TEST_P(PlantedInPersistentBlocks, AreaOfResultsThatCrewsShareIsFound) {
  if (crews() == 1) GTEST_SKIP() << "one crew shares it with no other";
  const auto shared = [&](Access& a) {
    if (kernel().buffers[static_cast<std::size_t>(a.buffer)].name == "C_tile" && a.offset.constant >= 64 * 64)
      a.offset.constant -= 64 * 64;
  };
  change_all<Copy>([&](Copy& c) { shared(c.to); });
  change_all<TmaStore>([&](TmaStore& t) { shared(t.shared); });
  EXPECT_TRUE(found());
}

INSTANTIATE_TEST_SUITE_P(Crews, PlantedInPersistentBlocks, testing::Values(1, 2));

TEST(PersistentPrograms, AreRefusedWhereTheyCannotRun) {
  const auto of = [&](const std::string& loop) {
    return tests::refusals(persistent_document(",\"persistent\":" + loop), h100());
  };
  EXPECT_THAT(of(R"({"blocks":29})"), ElementsAre("persistent: 29 blocks are more than the 28 tiles"));
  EXPECT_THAT(of(R"({"blocks":10,"crews":3})"), ElementsAre("persistent: 3 crews are more than the 2 that take turns"));
  EXPECT_THAT(of(R"({"blocks":28,"crews":2})"),
              ElementsAre("persistent: 2 crews are more than the 1 tiles that a block computes at most"));
  EXPECT_THAT(tests::refusals(persistent_document(R"(,"cluster":{"m":2},"persistent":{"blocks":5})"), h100()),
              ElementsAre("persistent: 5 blocks are no multiple of 2, the blocks of a cluster"));
  EXPECT_THAT(tests::refusals(persistent_document(R"(,"split":{"k":2},"persistent":{"blocks":5})"), h100()),
              ElementsAre("cached: parts of a split reduction leave in no boxes"));
  EXPECT_THAT(of(R"({"crews":2})"), testing::Not(IsEmpty()));
}

TEST(PersistentPrograms, AreWrittenAsTheyAreRead) {
  const tile::RProgram p = tests::program(persistent_document(R"(,"persistent":{"blocks":9,"crews":2})"), h100());
  EXPECT_EQ(p.simt()[0].tile_loop, (tile::TileLoop{9, 2}));
  EXPECT_EQ(tests::program(base::to_json(tile::to_document(p, h100())), h100()).simt()[0].tile_loop,
            p.simt()[0].tile_loop);
}

// There are 28 tiles. Where cores are as many, each tile has a block of its own, which one crew computes.
TEST(PersistentPrograms, OfAnotherChipHaveABlockForEachCoreOfThisOne) {
  const auto on = [](const char* cores, std::string_view more) {
    const tile::StageProgram p = tests::program(persistent_document(more), h100()).simt()[0];
    return tile::with_blocks_of(tests::chip("h100_pcie", {{"core.count", cores}}), p).tile_loop;
  };
  constexpr std::string_view kTwoCrews = R"(,"persistent":{"blocks":10,"crews":2})";
  EXPECT_EQ(on("9", kTwoCrews), (tile::TileLoop{9, 2}));
  EXPECT_EQ(on("27", kTwoCrews), (tile::TileLoop{27, 2}));
  EXPECT_EQ(on("28", kTwoCrews), tile::TileLoop{});
  EXPECT_EQ(on("9", R"(,"cluster":{"m":2},"persistent":{"blocks":10})"), (tile::TileLoop{8, 1})) << "whole clusters";
  EXPECT_EQ(on("1", R"(,"cluster":{"m":2},"persistent":{"blocks":10})"), tile::TileLoop{}) << "no core has a cluster";
  EXPECT_EQ(on("9", ""), tile::TileLoop{}) << "none that has no persistent blocks gets any";
}

// Results do not take the place of the ring, which holds the next tile's operands, and crews not that of each other.
TEST(PersistentPrograms, KeepResultsNextToTheRing) {
  constexpr std::int64_t kOfRing = 4 * 2 * 64 * 64 * 2, kOfResults = 64 * 64 * 2, kOfMbarrier = 8;
  const auto bytes_of = [](std::string_view more) {
    return tile::staging_of(tests::program(persistent_document(more), h100()).simt()[0], h100().core).bytes.n;
  };
  EXPECT_EQ(bytes_of(""), kOfRing + 9 * kOfMbarrier);
  EXPECT_EQ(bytes_of(R"(,"persistent":{"blocks":10})"), kOfRing + kOfResults + 9 * kOfMbarrier);
  EXPECT_EQ(bytes_of(R"(,"persistent":{"blocks":10,"crews":2})"), kOfRing + 2 * kOfResults + 10 * kOfMbarrier);
}

}  // namespace
}  // namespace tilescope::lower
