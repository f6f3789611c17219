// Published times: retyped tables that cover what they claim to.

#include "experiments/published.h"

#include <gtest/gtest.h>

#include "base/dtype.h"
#include "expr/suites.h"
#include "tests/support/build.h"

namespace tilescope::experiments {
namespace {

std::optional<PublishedTimes> load(std::string_view device, std::string_view suite) {
  base::Diagnostics diags;
  auto times = load_published(device, suite, diags);
  tests::require_no_errors(diags);
  return times;
}

TEST(Published, HasATimePerColumnOfEveryOperatorOfTheSuite) {
  const auto times = load("v100", "roller");
  ASSERT_TRUE(times.has_value());
  base::Diagnostics diags;
  const auto suite = expr::load_suite("roller", base::Dtype::kF32, diags);
  tests::require_no_errors(diags);
  ASSERT_EQ(suite->size(), 119U);
  EXPECT_EQ(times->rows_us.size(), suite->size());
  for (const expr::SuiteOperator& o : *suite) {
    const auto row = times->rows_us.find(o.id);
    ASSERT_NE(row, times->rows_us.end()) << o.id;
    ASSERT_EQ(row->second.size(), times->columns.size()) << o.id;
    for (const double us : row->second) EXPECT_GT(us, 0) << o.id;
  }
}

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

}  // namespace
}  // namespace tilescope::experiments
