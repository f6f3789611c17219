// Predictions against measured kernels: 352 of the trials that AutoTVM and Ansor logged on a V100, in the project so
// that a worse model is seen at once. experiments/fidelity/run has all of them, and the targets.

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "experiments/compare.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"

namespace tilescope::experiments {
namespace {

Fidelity of_kind(const std::string& kind) {
  static const std::vector<FidelityOfClass> all = [] {
    const std::string path = tests::source_path("experiments/references/trials_v100.jsonl").string();
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    base::Diagnostics diags;
    CompareOptions options;
    options.least_tiles = 5;
    const auto c =
        compare({{}, {}, NamedText{path, text}}, tests::v100(), options, [](std::size_t, std::size_t) {}, diags);
    return fidelity_by_kind(*c);
  }();
  const auto found = std::find_if(all.begin(), all.end(), [&](const FidelityOfClass& f) { return f.kind == kind; });
  return *found->predicted;
}

TEST(FidelityOnMeasuredKernels, OfConvolutionsWithoutAWindow) {
  const Fidelity f = of_kind("conv 1x1");
  EXPECT_EQ(f.errors.compared, 160U);
  EXPECT_LT(f.errors.mape_ratio, 0.14);
  EXPECT_GT(f.by_tile.spearman, 0.94);
  EXPECT_GT(f.by_tile.best_of_1, 0.95);
}

TEST(FidelityOnMeasuredKernels, OfConvolutionsWithAWindow) {
  const Fidelity f = of_kind("conv KxK");
  EXPECT_EQ(f.errors.compared, 96U);
  EXPECT_LT(f.errors.mape_ratio, 0.17);
  EXPECT_GT(f.by_tile.spearman, 0.83);
}

TEST(FidelityOnMeasuredKernels, OfMatrixProducts) {
  const Fidelity f = of_kind("matmul");
  EXPECT_EQ(f.errors.compared, 96U);
  EXPECT_LT(f.errors.mape_ratio, 0.10);
  EXPECT_LT(f.errors.median_error_ratio, 0.08);
}

TEST(FidelityOnMeasuredKernels, TheBestIsAmongOurFirstTen) { EXPECT_GT(of_kind("all").by_tile.best_of_10, 0.995); }

}  // namespace
}  // namespace tilescope::experiments
