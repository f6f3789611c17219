// SPDX-License-Identifier: Apache-2.0
// Predictions against measured kernels: 352 of the trials that AutoTVM and Ansor logged on a V100, in the project so
// that a worse model is seen at once. experiments/studies/accuracy/run has all of them, and the targets.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "api/predict.h"
#include "experiments/accuracy/compare.h"
#include "experiments/accuracy/published.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"

namespace tilescope::experiments {
namespace {

const api::NamedText& trials() {
  static const api::NamedText kTrials = [] {
    const std::string path = tests::source_path("experiments/data/references/trials_v100.jsonl").string();
    std::ifstream file(path);
    return api::NamedText{path, std::string((std::istreambuf_iterator<char>(file)), {})};
  }();
  return kTrials;
}

Accuracy of_kind(const std::string& kind) {
  static const std::vector<AccuracyOfKind> all = [] {
    base::Diagnostics diags;
    CompareOptions options;
    options.min_tiles = 5;
    const auto c = compare({{}, 1, {}, trials(), {}}, tests::v100(), options, [](std::size_t, std::size_t) {}, diags);
    return accuracy_by_kind(*c);
  }();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AccuracyOfKind& f) { return f.kind == kind; });
  return *found->predicted;
}

TEST(FidelityOnMeasuredKernels, OfConvolutionsWithoutAWindow) {
  const Accuracy f = of_kind("conv 1x1");
  EXPECT_EQ(f.errors.compared, 160U);
  EXPECT_LT(f.errors.mape_ratio, 0.12);
  EXPECT_GT(f.by_tile.spearman, 0.77);
  EXPECT_GT(f.by_tile.best_of_1, 0.95);
}

TEST(FidelityOnMeasuredKernels, OfConvolutionsWithAWindow) {
  const Accuracy f = of_kind("conv KxK");
  EXPECT_EQ(f.errors.compared, 96U);
  EXPECT_LT(f.errors.mape_ratio, 0.14);
  EXPECT_GT(f.by_tile.spearman, 0.68);
}

TEST(FidelityOnMeasuredKernels, OfMatrixProducts) {
  const Accuracy f = of_kind("matmul");
  EXPECT_EQ(f.errors.compared, 96U);
  EXPECT_LT(f.errors.mape_ratio, 0.08);
  EXPECT_LT(f.errors.median_error_ratio, 0.072);
}

// The share of measured times that lie within the bands of their predictions.
double share_within(const std::vector<std::pair<api::Prediction, double>>& measured) {
  std::size_t inside = 0;
  for (const auto& [p, us] : measured) inside += p.band.value().low_us <= us && us <= p.band.value().high_us;
  return static_cast<double>(inside) / static_cast<double>(measured.size());
}

// Bands are of half of the shapes of all trials; that they no longer fit the model shows on these as well.
TEST(ErrorBands, HoldEightOfTenTrials) {
  std::vector<std::pair<api::Prediction, double>> measured;
  for (const api::PredictedRow& row :
       api::predict_batch(trials().text, trials().name, tests::v100(), 1, [](std::size_t, std::size_t) {}))
    measured.emplace_back(row.prediction.value(), row.measured_us.value());
  EXPECT_EQ(measured.size(), 352U);
  EXPECT_GT(share_within(measured), 0.75);
  EXPECT_LT(share_within(measured), 0.95);
}

// The chip's bands of these kinds are of half of ROLLER's published times.
TEST(ErrorBands, HoldEightOfTenPublishedTimes) {
  base::Diagnostics diags;
  api::Workload suite;
  suite.suite = "roller";
  const auto published = load_published("v100", suite, diags);
  const auto operators =
      api::compile(suite, tests::v100(), {api::Search::kRollerOsdi22}, 10, 2, [](std::size_t, std::size_t) {}, diags);
  std::map<std::string, std::vector<std::pair<api::Prediction, double>>> kinds;
  for (const api::CompiledOperator& op : operators.value())
    if (const auto c = compared(op, published.value()))
      kinds[op.kind].emplace_back(best_of(op).prediction, c->published_us);
  for (const auto& [kind, rows, fitted] : {std::tuple{"depthwise", 23, 12}, {"elementwise", 28, 12}, {"pool", 13, 7}}) {
    EXPECT_EQ(kinds[kind].size(), rows) << kind;
    EXPECT_EQ(tests::v100().error_bands.at(kind).rows, fitted);
    EXPECT_GE(share_within(kinds[kind]), 0.75) << kind;
    EXPECT_LE(share_within(kinds[kind]), 0.97) << kind;
  }
}

TEST(FidelityOnMeasuredKernels, TheBestIsAmongOurFirstTen) { EXPECT_GT(of_kind("all").by_tile.best_of_10, 0.995); }

}  // namespace
}  // namespace tilescope::experiments
