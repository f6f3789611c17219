// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks run in clusters and load the tiles that they share for each other: against plain loops, with
// mistakes that are planted, and what documents and chips refuse.

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

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::each_body;
using tests::h100;
using tests::remove;

RC_GTEST_PROP(RandomClusters, AnyProgramComputesTheReference, ()) {
  const tile::RProgram p = tests::any_cluster_program(h100());
  const Module m = tests::lowered(p, h100());
  RC_LOG() << print(m);
  RC_ASSERT(m.kernels[0].cluster == p.simt()[0].cluster.blocks);
  RC_ASSERT(tests::wrong_outputs(p, m) == "");
}

// 256 x 256 in blocks of 64 x 64, four steps through two stages, in clusters of two along n.
std::string cluster_document(std::string_view more) {
  return R"({"arch":"h100_pcie","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{"m":256,"n":256,"k":256},)"
         R"("dtype":"f16","tiles":{"smem":{"m":64,"n":64,"k":64}},"mapping":{"m":{"per_thread":64},)"
         R"("n":{"per_thread":64}},"mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"},"num_stages":2)" +
         std::string(more) + R"(}],"edges":[]})";
}
constexpr std::string_view kBoxesOfClusters = R"(,"copy":{"A":"tma","B":"tma"},"box":{"A":64,"B":64})";

class PlantedInClusters : public testing::Test {
 protected:
  std::string result_of(const Module& m) const { return tests::interpreter_result(program_, m); }
  // What the checks of documents find.
  std::vector<std::string> mistakes(const Module& m, const arch::ArchSpec& chip = h100()) const {
    base::Diagnostics diags;
    const auto read = read_kernels(to_document(m, "", {}, false), chip, diags);
    EXPECT_TRUE(!read || read->module == m);
    return diags.sentences();
  }
  Kernel& kernel() { return module_.kernels[0]; }
  template <class Kind, class Change>
  void change_all(const Change& change) {
    each_body(kernel().body, [&](std::vector<Statement>& body) {
      for (Statement& s : body)
        if (auto* of = std::get_if<Kind>(&s.what)) change(*of);
    });
  }

  tile::RProgram program_ =
      tests::program(cluster_document(std::string(kBoxesOfClusters) + R"(,"cluster":{"n":2})"), h100());
  Module module_ = tests::lowered(program_, h100());
};

TEST_F(PlantedInClusters, NothingIsWrongAtFirst) {
  EXPECT_EQ(kernel().cluster, 2);
  EXPECT_EQ(result_of(module_), "");
  EXPECT_THAT(mistakes(module_), IsEmpty());
  EXPECT_THAT(print(module_), HasSubstr("16 blocks of 160 threads in clusters of 2\n"));
  EXPECT_THAT(print(module_), HasSubstr(" of all blocks of the cluster <~ tma A["));
  EXPECT_THAT(print(module_), testing::Not(HasSubstr(" of all blocks of the cluster <~ tma B[")));
}

TEST_F(PlantedInClusters, ArrivalsThatComeToOneBlockAreFound) {
  change_all<MbarrierArrive>([](MbarrierArrive& a) { a.cluster = false; });
  EXPECT_THAT(result_of(module_), HasSubstr("wait for each other"));
  EXPECT_THAT(mistakes(module_), ElementsAre(HasSubstr("waits for phase 2 of full, which never ends")));
}

TEST_F(PlantedInClusters, SlotsThatOwnWarpsAloneSetFreeAreFound) {
  change_all<MbarrierArrive>([](MbarrierArrive& a) { a.cluster = false; });
  kernel().mbarriers[1].arrivals = 4;
  EXPECT_NE(result_of(module_), "");
}

TEST_F(PlantedInClusters, LoadsThatComeToOneBlockAreFound) {
  change_all<TmaLoad>([](TmaLoad& l) { l.multicast = false; });
  EXPECT_THAT(result_of(module_), HasSubstr("wait for each other"));
  EXPECT_THAT(mistakes(module_), ElementsAre(HasSubstr("12288 of 16384 B come")));
}

TEST_F(PlantedInClusters, LoadsThatComeToTooManyBlocksAreFound) {
  change_all<TmaLoad>([](TmaLoad& l) { l.multicast = true; });
  EXPECT_NE(result_of(module_), "");
  EXPECT_THAT(mistakes(module_), testing::Not(IsEmpty()));
}

// Both blocks load the first half of a tile.
TEST_F(PlantedInClusters, PartsThatNoBlockLoadsAreFound) {
  change_all<TmaLoad>([](TmaLoad& l) {
    if (!l.multicast) return;
    l.shared.offset.terms.pop_back();
    l.dims[0].at.terms.pop_back();
  });
  EXPECT_NE(result_of(module_), "");
}

TEST_F(PlantedInClusters, TilesOfTheOtherHalfAreFound) {
  change_all<TmaLoad>([](TmaLoad& l) {
    if (l.multicast) l.dims[0].at.terms.pop_back();
  });
  EXPECT_EQ(result_of(module_), "C");
}

TEST_F(PlantedInClusters, StagesThatAreNotFreeAreFound) {
  ASSERT_TRUE(remove<MbarrierWait>(kernel(), 1));
  EXPECT_NE(result_of(module_), "");
}

TEST_F(PlantedInClusters, KernelsThatChipsCannotRunAreRefused) {
  arch::ArchSpec chip = h100();
  chip.core.tma->max_cluster.reset();
  EXPECT_THAT(mistakes(module_, chip),
              ElementsAre(HasSubstr("kernels[0].cluster: h100_pcie has no clusters of blocks (core.tma.max_cluster)")));
  kernel().cluster = 16;
  EXPECT_THAT(mistakes(module_),
              ElementsAre(HasSubstr("expected at most 8, the blocks of the largest cluster of h100_pcie, "
                                    "got 16")));
  kernel().cluster = 3;
  EXPECT_THAT(mistakes(module_), ElementsAre(HasSubstr("expected a divisor of the 16 blocks, got 3")));
  kernel().cluster = 1;
  EXPECT_THAT(mistakes(module_), testing::Contains(HasSubstr("a load that is multicast: expected a kernel with a "
                                                             "\"cluster\" of 2 blocks or more")));
}

// --- programs

std::vector<std::string> cluster_refusals(const std::string& text, const arch::ArchSpec& chip = h100()) {
  return tests::refusals(text, chip);
}

TEST(ClusterPrograms, AreRefusedWhereTheyCannotRun) {
  const std::string boxes(kBoxesOfClusters);
  const auto of = [&](const std::string& cluster) { return cluster_document(boxes + ",\"cluster\":" + cluster); };
  EXPECT_THAT(cluster_refusals(of(R"({"n":16})")), ElementsAre("cluster: 16 blocks are more than the 8 of h100_pcie"));
  EXPECT_THAT(cluster_refusals(of(R"({"n":8})")), ElementsAre("cluster: 4 blocks along n are no multiple of 8"));
  EXPECT_THAT(cluster_refusals(of(R"({"k":2})")),
              ElementsAre("cluster: 'k' is reduced; blocks are neighbours along spatial axes"));
  EXPECT_THAT(cluster_refusals(of(R"({"m":2,"n":2})")), ElementsAre("cluster: expected one axis, got m and n"));
  EXPECT_THAT(cluster_refusals(cluster_document(R"(,"cluster":{"n":2})")),
              ElementsAre("cluster: TMA does not load the tiles, and nothing else writes to several blocks"));
  EXPECT_THAT(cluster_refusals(cluster_document(boxes + R"(,"group_m":2,"cluster":{"m":4})")),
              ElementsAre("cluster: groups of 2 blocks along m are no multiple of 4"));
  arch::ArchSpec chip = h100();
  chip.core.tma->max_cluster.reset();
  EXPECT_THAT(cluster_refusals(of(R"({"n":2})"), chip),
              ElementsAre("cluster: h100_pcie has no clusters of blocks (core.tma.max_cluster)"));
}

TEST(ClusterPrograms, AreWrittenAsTheyAreRead) {
  for (const char* cluster : {R"({"n":2})", R"({"m":4})"}) {
    const tile::RProgram p =
        tests::program(cluster_document(std::string(kBoxesOfClusters) + ",\"cluster\":" + cluster), h100());
    EXPECT_GT(p.simt()[0].cluster.blocks, 1);
    EXPECT_EQ(tests::program(base::to_json(tile::to_document(p, h100())), h100()).simt()[0].cluster,
              p.simt()[0].cluster);
  }
}

// Consecutive blocks are neighbours along the axis, whatever the order of blocks is.
TEST(ClusterPrograms, NumberTheirBlocksNextToEachOther) {
  for (const char* order : {"row", "column"})
    for (const char* group : {"1", "4"})
      for (const char* cluster : {R"({"n":2})", R"({"m":4})", R"({"n":4})"}) {
        const tile::RProgram p =
            tests::program(cluster_document(std::string(kBoxesOfClusters) + R"(,"order":")" + order +
                                            R"(","group_m":)" + group + ",\"cluster\":" + cluster),
                           h100());
        const tile::StageProgram& s = p.simt()[0];
        std::set<std::vector<std::int64_t>> seen;
        std::vector<std::int64_t> first;
        for (std::int64_t block = 0; block < s.blocks(); ++block) {
          std::vector<std::int64_t> at(s.space->spatial, 0);
          std::int64_t rest = block;
          const auto digits = s.block_digits();
          for (std::size_t d = digits.size(); d-- > 0; rest /= digits[d].count)
            at[digits[d].axis] += rest % digits[d].count * digits[d].stride;
          EXPECT_TRUE(seen.insert(at).second) << block;
          const std::int64_t rank = block % s.cluster.blocks;
          if (rank == 0) first = at;
          std::vector<std::int64_t> expected = first;
          expected[s.cluster.axis] += rank;
          EXPECT_EQ(at, expected) << order << group << cluster << block;
        }
      }
}

}  // namespace
}  // namespace tilescope::lower
