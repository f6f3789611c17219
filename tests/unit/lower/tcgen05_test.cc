// SPDX-License-Identifier: Apache-2.0
// Kernels whose sums stand in tensor memory: against plain loops, with mistakes that are planted, and what chips
// refuse.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/kernel_document.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/build.h"
#include "tests/support/document.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/random_matrix_program.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::lower {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::b200;

RC_GTEST_PROP(RandomTensorSums, AnyProgramComputesTheReference, ()) {
  const arch::ArchSpec& a = tests::any_of_range(0, 1) == 0 ? b200() : tests::chip_of_64_lanes();
  const tile::RProgram p = tests::any_matrix_program(a, tests::Factors::kByTma);
  const Module m = tests::lowered(p, a);
  RC_LOG() << print(m);
  RC_ASSERT(tests::wrong_outputs(p, m) == "");
}

// 256 x 128 in blocks of 128 x 64, four steps through two stages.
std::string document(std::string_view mapping = R"("m":{"per_thread":128},"n":{"threads":2,"per_thread":32})",
                     std::string_view more = R"(,"copy":{"A":"tma","B":"tma"},"box":{"A":64,"B":64})") {
  return R"({"arch":"b200","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{"m":256,"n":128,"k":256},)"
         R"("dtype":"f16","tiles":{"smem":{"m":128,"n":64,"k":64}},"mapping":{)" +
         std::string(mapping) + R"(},"mma":{"name":"tcgen05.f16","m":"m","n":"n","k":"k"},"num_stages":2)" +
         std::string(more) + R"(}],"edges":[]})";
}

class PlantedInTensorMemory : public testing::Test {
 protected:
  std::string result() const { return tests::interpreter_result(program_, module_); }
  // What the checks of documents find.
  std::vector<std::string> mistakes(const arch::ArchSpec& chip = b200()) const {
    base::Diagnostics diags;
    const auto read = read_kernels(to_document(module_, "", {}, false), chip, diags);
    EXPECT_TRUE(!read || read->module == module_);
    return diags.sentences();
  }
  std::vector<WarpRole>& roles() { return std::get<WarpSpecialized>(module_.kernels[0].body.back().what).roles; }
  // Of the roles that read results, and that multiply.
  std::vector<Statement>& reads() { return roles()[0].body; }
  std::vector<Statement>& multiplies() { return roles()[2].body; }
  template <class Kind>
  static std::vector<Statement>::iterator first(std::vector<Statement>& body) {
    return std::find_if(body.begin(), body.end(),
                        [](const Statement& s) { return std::holds_alternative<Kind>(s.what); });
  }

  tile::RProgram program_ = tests::program(document(), b200());
  Module module_ = tests::lowered(program_, b200());
};

TEST_F(PlantedInTensorMemory, NothingIsWrongAtFirst) {
  EXPECT_EQ(result(), "");
  EXPECT_THAT(mistakes(), IsEmpty());
  EXPECT_EQ(module_.kernels[0].threads, 256 + 2 * 32) << "a warp that copies, and one that issues products";
  EXPECT_EQ(tensor_columns(module_.kernels[0]), 64);
  EXPECT_THAT(print(module_), HasSubstr("tensor    C_sums[64] f32 at column 0"));
  EXPECT_THAT(print(module_), HasSubstr("by one thread's tcgen05.f16, 128x64x16, from 0 unless"));
}

TEST_F(PlantedInTensorMemory, SumsThatAreReadBeforeTheCommitAreFound) {
  reads().erase(first<MbarrierWait>(reads()));
  EXPECT_THAT(result(), HasSubstr("is read"));
  EXPECT_THAT(mistakes(), Contains(HasSubstr("reads sums before it has waited for a commit behind their products")));
}

TEST_F(PlantedInTensorMemory, SumsOfWhichOneStepIsLackingAreFound) {
  std::get<MbarrierWait>(first<MbarrierWait>(reads())->what) = {1, {{}, 0}};  // the first step's tiles are read
  EXPECT_NE(result(), "");
}

TEST_F(PlantedInTensorMemory, ProductsThatNoCommitEndsAreFound) {
  multiplies().erase(first<Tcgen05Commit>(multiplies()));
  EXPECT_THAT(result(), HasSubstr("wait for each other"));
  EXPECT_THAT(mistakes(), Contains(HasSubstr("reads sums before it has waited for a commit behind their products")));
}

TEST_F(PlantedInTensorMemory, TilesThatAreFreeBeforeProductsReadThemAreFound) {
  tests::each_body(module_.kernels[0].body, [&](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (const auto* c = std::get_if<Tcgen05Commit>(&s.what); c != nullptr && c->mbarrier == 1)
        s.what = MbarrierArrive{c->mbarrier, c->phase};
  });
  EXPECT_THAT(result(), HasSubstr("an arrival while products may still read the scratchpad"));
  EXPECT_THAT(mistakes(), Contains(HasSubstr("arrives while products may still read the scratchpad")));
}

TEST_F(PlantedInTensorMemory, WarpsThatReadOtherLanesAreFound) {
  roles()[0].first_thread += 32;
  roles()[0].threads = 128;
  EXPECT_THAT(mistakes(), Contains(HasSubstr("a role that begins at thread 32")));
}

TEST_F(PlantedInTensorMemory, LanesOfAWarpThatReadOtherColumnsAreFound) {
  auto& load = std::get<Tcgen05Load>(first<Tcgen05Load>(reads())->what);
  load.from.offset = {{{kThreadIndex, 1}}, 0};
  load.elements = 1;
  EXPECT_THAT(result(), HasSubstr("lanes of one warp that read other columns"));
}

TEST_F(PlantedInTensorMemory, SumsThatBeginWithWhatWasThereAreFound) {
  tests::each_body(module_.kernels[0].body, [&](std::vector<Statement>& body) {
    for (Statement& s : body)
      if (auto* m = std::get_if<Tcgen05Mma>(&s.what)) m->adds.clear();
  });
  EXPECT_THAT(result(), HasSubstr("is added to and no product wrote it"));
}

TEST_F(PlantedInTensorMemory, ChipsRefuseWhatTheyLack) {
  EXPECT_THAT(mistakes(tests::h100()), Contains(HasSubstr("tcgen05.f16: h100_pcie has none of that name")));
  arch::ArchSpec without = b200();
  std::erase_if(without.memory, [](const arch::Level& l) { return std::holds_alternative<arch::TensorLevel>(l); });
  EXPECT_THAT(mistakes(without), Contains(HasSubstr("has no tensor memory")));
  const arch::ArchSpec small = tests::chip("b200", {{"memory.tmem.capacity", "16 KiB"},
                                                    {"compute.tcgen05.f16.shape.max_n", "32"},
                                                    {"compute.tcgen05.bf16.shape.max_n", "32"},
                                                    {"compute.tcgen05.f8e4m3.shape.max_n", "32"},
                                                    {"compute.tcgen05.f8e5m2.shape.max_n", "32"}});
  EXPECT_THAT(mistakes(small), Contains(HasSubstr("C_sums of 64 columns at column 0: b200 has 32")));
  base::Diagnostics diags;
  EXPECT_FALSE(tile::check_fit(program_.simt()[0], small, diags, {}));
  EXPECT_THAT(diags.sentences(), Contains(HasSubstr("columns of tensor memory a block: needs 64 for its sums")));
}

std::vector<std::string> refusals(const std::string& text) {
  if (std::vector<std::string> of_document = tests::refusals(text, b200()); !of_document.empty()) return of_document;
  base::Diagnostics diags;
  check_lowerable(tests::program(text, b200()).simt()[0], b200(), diags, {});
  return diags.sentences();
}

TEST(TensorSums, ProgramsAreRefusedThatAreNoInstructions) {
  EXPECT_THAT(refusals(document()), IsEmpty());
  EXPECT_THAT(refusals(document(R"("m":{"threads":2,"per_thread":64},"n":{"per_thread":64})")),
              Contains(HasSubstr("64 along m are no whole fragments of 128")));
  EXPECT_THAT(refusals(document(R"("m":{"per_thread":128},"n":{"threads":2,"per_thread":32})", "")),
              Contains(HasSubstr("is not copied by TMA in every step")));
}

}  // namespace
}  // namespace tilescope::lower
