// SPDX-License-Identifier: Apache-2.0
// Products with scales that many iterations share: which factors are scales, what a tile reads of them, and which
// programs a matrix instruction has for them.

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "tests/support/build.h"
#include "tile/fit.h"
#include "tile/microkernel/wgmma.h"
#include "tile/program_json.h"

namespace tilescope::tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const TileSpace> space_of(const std::string& op) {
  const expr::Expression e = tests::expression(op, "m=512,n=512,k=1024", {}, base::Dtype::kF8E4M3);
  return make_space(e, no_collapse(e.stages.front()));
}

std::vector<std::string> names(const TileSpace& s) {
  std::vector<std::string> out;
  for (const Operand& o : s.inputs) out.push_back(o.name);
  return out;
}

TEST(Scales, StandBehindTheFactors) {
  const auto s = space_of("C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]");
  EXPECT_EQ(s->scale_depth, 128);
  EXPECT_EQ(s->values, 2U);
  EXPECT_EQ(s->scales(), 2U);
  EXPECT_THAT(names(*s), ElementsAre("A", "B", "S", "T"));
  EXPECT_TRUE(is_matrix_product(*s, 0, 1, 2));
  EXPECT_THAT(names(*space_of("C[m,n] +=! S[m] * A[m,k] * B[n,k] * T[k/32]")), ElementsAre("A", "B", "S", "T"));
}

TEST(Scales, OfSeveralDepthsAreSharedByTheGreatestCommonOne) {
  EXPECT_EQ(space_of("C[m,n] +=! A[m,k] * S[m,k/96] * B[n,k] * T[n,k/128]")->scale_depth, 32);
}

// Each is a product of other factors, no product, or has no step in which scales stay.
TEST(Scales, AreNotSeenInOtherStages) {
  for (const char* op : {"C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[m,k] * S[m] * B[n,k]",
                         "C[m,n] +=! A[m,k] * S[m,k/128]", "C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * D[k]",
                         "C[m,n] max=! A[m,k] * S[m,k/128] * B[n,k]", "C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] + 1",
                         "C[m,n] +=! A[m,k] * S[m,k%128] * B[n,k]", "C[m,n] +=! A[m,k] * S[m,(k+1)/128] * B[n,k]"}) {
    const auto s = space_of(op);
    EXPECT_EQ(s->scale_depth, 0) << op;
    EXPECT_EQ(s->values, s->inputs.size()) << op;
    for (std::size_t i = 1; i < s->inputs.size(); ++i)
      EXPECT_LT(s->inputs[i - 1].reads.front(), s->inputs[i].reads.front()) << op;
  }
}

// Of 128 rows and 256 columns in a step of 128 along k: a scale for each row, and two for the columns.
TEST(Scales, OfATileAreThoseThatItsIterationsShare) {
  const auto s = space_of("C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]");
  EXPECT_THAT(data_tile(s->inputs[2], {128, 256, 128}), ElementsAre(128, 1));
  EXPECT_THAT(data_tile(s->inputs[3], {128, 256, 128}), ElementsAre(2, 1));
  EXPECT_THAT(data_tile(s->inputs[3], {128, 256, 1024}), ElementsAre(2, 8));
  EXPECT_EQ(touched_elements(s->inputs[2], {512, 512, 1024}), 512 * 8) << "every one once";
}

std::string error(const char* mma, const char* columns, const char* step, const std::string& more = "",
                  const std::string& op = "C[m,n] +=! A[m,k] * S[m,k/128] * B[n,k] * T[n/128,k/128]") {
  const std::string text = R"({"arch":"h200","nodes":[{"expr":")" + op +
                           R"(","sizes":{"m":256,"n":512,"k":1024},"dtype":"f8e4m3","dtypes":{"C":"bf16","S":"f32",
    "T":"f32"},"accumulate":"f32","tiles":{"smem":{"m":128,"n":)" +
                           columns + R"(,"k":)" + step + R"(}},"mapping":{"m":{"threads":2,"per_thread":64},"n":
    {"per_thread":)" + columns +
                           R"(}},"mma":{"name":")" + mma + R"(","m":"m","n":"n","k":"k"})" + more + R"(}],"edges":[]})";
  base::Diagnostics diags;
  const auto document = base::read_json(text, diags.add_source("program"), diags);
  EXPECT_TRUE(document.has_value());
  const arch::ArchSpec& chip = tests::chip("h200");
  if (const auto p = read_program(*document, chip, diags)) check_fit(p->simt().front(), chip, diags);
  return diags.errors().empty() ? std::string() : diags.errors().front().text;
}

TEST(Scales, AreOfWholeStepsAndOfThreadTilesUnderOne) {
  EXPECT_EQ(error("wgmma.f8e4m3", "128", "128"), "");
  EXPECT_EQ(error("wgmma.f8e4m3", "64", "128"), "");
  EXPECT_THAT(error("wgmma.f8e4m3", "128", "64"),
              HasSubstr("128 iterations along k share their scales, and a step has 64, in fragments of 32"));
  EXPECT_THAT(error("wgmma.f8e4m3", "128", "256"), HasSubstr("and a step has 256"));
  EXPECT_THAT(error("wgmma.f8e4m3", "256", "128"), HasSubstr("results lie under several scales along one axis"));
  EXPECT_THAT(error("wgmma.f8e4m3", "128", "128", R"(,"split":{"k":3})"), HasSubstr("have no multiple"));
  EXPECT_THAT(error("wgmma.f8e4m3", "128", "128", R"(,"cached":{"A":"smem","B":"smem","S":"smem"})"),
              HasSubstr("S scales products, is read from memory, and is cached"));
}

}  // namespace
}  // namespace tilescope::tile
