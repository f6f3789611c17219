// SPDX-License-Identifier: Apache-2.0
// Published times: retyped tables that cover what they claim to, and errors of our best programs.

#include "experiments/accuracy/published.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "api/workload.h"
#include "base/dtype.h"
#include "expr/suites.h"
#include "tests/support/build.h"

namespace tilescope::experiments {
namespace {

std::optional<PublishedTimes> load(std::string_view device, const std::string& suite) {
  api::Workload workload;
  workload.suite = suite;
  base::Diagnostics diags;
  auto times = load_published(device, workload, diags);
  tests::require_no_errors(diags);
  return times;
}

class PublishedSuite : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(PublishedSuite, HasATimePerColumnOfItsOperators) {
  const auto [name, operators] = GetParam();
  const auto times = load("v100", name);
  ASSERT_TRUE(times.has_value());
  EXPECT_TRUE(times->column(kPublishedColumn).has_value());
  EXPECT_EQ(times->rows_us.size(), operators);
  base::Diagnostics diags;
  const auto suite = expr::load_suite(name, base::Dtype::kF32, diags);
  tests::require_no_errors(diags);
  for (const auto& [id, row] : times->rows_us) {
    EXPECT_TRUE(std::any_of(suite->begin(), suite->end(), [&](const expr::SuiteOperator& o) { return o.id == id; }))
        << id;
    ASSERT_EQ(row.size(), times->columns.size()) << id;
    for (const double us : row) EXPECT_GT(us, 0) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(OnV100, PublishedSuite,
                         testing::Values(std::pair("roller", 119U), std::pair("roller-scaleout", 13U),
                                         std::pair("roller-small", 2U), std::pair("roller-irregular", 6U)));

TEST(Published, IsInMicroseconds) {
  const auto times = load("v100", "roller");
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->rows_us.at("C0")[times->column("roller_top10").value()], 2747);
  EXPECT_EQ(times->column("roller_top11"), std::nullopt);
}

// The best of ten includes the first: it is never slower, but for what the figure rounds.
TEST(Published, TheBestOfTenIsNoSlowerThanTheFirst) {
  const auto times = load("v100", "roller");
  ASSERT_TRUE(times.has_value());
  const std::size_t first = times->column("roller_top1").value(), best = times->column("roller_top10").value();
  for (const auto& [id, row] : times->rows_us) EXPECT_LE(row[best], row[first] * 1.001) << id;
}

TEST(Published, IsNoErrorWhereThereIsNone) {
  EXPECT_FALSE(load("k80", "roller").has_value());
  EXPECT_FALSE(load("v100", "examples").has_value());
}

api::CompiledOperator compiled(const std::string& id, const std::string& kind,
                               const std::vector<double>& predicted_us) {
  api::CompiledOperator op;
  op.id = id;
  op.kind = kind;
  for (const double us : predicted_us) op.programs.emplace_back().prediction.predicted_us = us;
  return op;
}

TEST(PublishedErrors, AreOfTheBestProgramByKind) {
  const PublishedTimes published{
      "chip", "suite", {"other", "roller_top10"}, {{"a", {1, 10}}, {"b", {1, 20}}, {"c", {1, 5}}}};
  const std::vector<api::CompiledOperator> operators = {compiled("b", "pool", {40, 30}), compiled("a", "conv", {9, 12}),
                                                        compiled("c", "conv", {4}), compiled("d", "conv", {4}),
                                                        compiled("a", "none found", {})};
  EXPECT_DOUBLE_EQ(compared(operators[0], published)->published_us, 20);
  EXPECT_DOUBLE_EQ(compared(operators[0], published)->error_ratio, 0.5);
  EXPECT_FALSE(compared(operators[3], published)) << "not published";
  EXPECT_FALSE(compared(operators[4], published)) << "no program";
  const auto kinds = errors_by_kind(operators, published);
  ASSERT_EQ(kinds.size(), 3U);
  EXPECT_EQ(kinds[0].kind, "conv");
  EXPECT_EQ(kinds[0].errors.compared, 2U);
  EXPECT_NEAR(kinds[0].errors.bias_ratio, -0.15, 1e-12);
  EXPECT_EQ(kinds[1].kind, "pool");
  EXPECT_EQ(kinds[2].kind, "all");
  EXPECT_EQ(kinds[2].errors.compared, 3U);
}

TEST(PublishedErrors, AreNoneWithoutTheColumn) {
  EXPECT_TRUE(errors_by_kind({compiled("a", "conv", {9})}, {"chip", "suite", {"other"}, {{"a", {1}}}}).empty());
}

}  // namespace
}  // namespace tilescope::experiments
