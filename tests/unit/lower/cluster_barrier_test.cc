// SPDX-License-Identifier: Apache-2.0
// A cluster barrier: documents, the chips that refuse it, and values in clusters of one block.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/interpret.h"
#include "lower/kernel_document.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"

namespace tilescope::lower {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What a V100 is not.
arch::ArchSpec with_clusters() {
  arch::ArchSpec chip = tests::v100();
  chip.core.tma = tests::h100().core.tma;
  return chip;
}

// A matrix product whose barriers are of clusters.
class Clusters : public testing::Test {
 protected:
  Clusters() {
    tests::each_body(module_.kernels[0].body, [](std::vector<Statement>& body) {
      for (Statement& s : body)
        if (std::holds_alternative<Barrier>(s.what)) s.what = ClusterBarrier{};
    });
  }

  // What a chip says of the document.
  std::vector<std::string> mistakes(const arch::ArchSpec& chip) {
    base::Diagnostics diags;
    const auto read = read_kernels(to_document(module_, "", {}, false), chip, diags);
    EXPECT_TRUE(!read || read->module == module_);
    return diags.sentences();
  }

  tile::RProgram program_ = tests::program(tests::small_matmul(""), tests::v100());
  Module module_ = tests::lowered(program_, tests::v100());
};

TEST_F(Clusters, AreReadWhereTheChipHasThem) {
  EXPECT_THAT(mistakes(with_clusters()), ElementsAre());
  EXPECT_THAT(print(module_), HasSubstr("cluster barrier"));
}

TEST_F(Clusters, AreRefusedByEveryOtherChip) {
  for (const arch::ArchSpec& chip : {tests::v100(), tests::a100()})
    EXPECT_THAT(mistakes(chip),
                testing::Each(HasSubstr(chip.name + " has no clusters of blocks (core.tma.max_cluster)")));
  EXPECT_THAT(mistakes(tests::v100()), testing::Not(ElementsAre()));
}

TEST_F(Clusters, OfOneBlockWaitAsABarrierDoes) {
  EXPECT_EQ(tests::interpreter_result(program_, module_), "");
  int barriers = 0;
  for (Module m = module_; tests::remove<ClusterBarrier>(m.kernels[0], barriers); m = module_, ++barriers)
    EXPECT_THAT(tests::interpreter_result(program_, m), HasSubstr("without a barrier"));
  EXPECT_GT(barriers, 0);
}

}  // namespace
}  // namespace tilescope::lower
