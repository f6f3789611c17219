// SPDX-License-Identifier: Apache-2.0
// Prices: yield against hand arithmetic, its laws, and what is refused.

#include <cmath>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/energy/costs.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

// 814 mm2 at .1 defects a cm2: (1 + .814 / 3)^-3 = .487; 132 of 144 cores of 451 mm2 almost always work, and the other
// 363 mm2 do with (1 + .363 / 3)^-3 = .710.
TEST(Price, YieldOfAGh100ByHand) {
  EXPECT_NEAR(energy::yield_of(814, 0.1, 3), 0.487, 0.001);
  EXPECT_NEAR(energy::yield_with_salvage(814, {144, 132, 451.0 / 144}, 0.1, 3), 0.710, 0.001);
  EXPECT_NEAR(energy::gross_dies(814, 300), 63.5, 0.1);
  EXPECT_NEAR(16988 / energy::gross_dies(814, 300) / 0.710, 377, 1);
  EXPECT_GT(cost_of("h100_sxm").price.yield_with_salvage, 0.70) << "the parts are smaller than the published die";
}

TEST(Price, SalvageByHand) {
  // Two cores of 100 mm2, one needed, no rest: each works with y = (1 + .1 / 3)^-3, one of them with 1 - (1 - y)^2.
  const double y = std::pow(1 + 0.1 / 3, -3);
  EXPECT_NEAR(energy::yield_with_salvage(200, {2, 1, 100}, 0.1, 3), 1 - (1 - y) * (1 - y), 1e-12);
  EXPECT_DOUBLE_EQ(energy::yield_with_salvage(200, {2, 2, 100}, 0.1, 3), energy::yield_of(200, 0.1, 3));
}

RC_GTEST_PROP(PriceProperty, YieldsAreSharesAndSalvageNeverLowersThem, ()) {
  const double mm2 = *rc::gen::inRange(1, 900), defects = *rc::gen::inRange(1, 100) / 100.0;
  const int built = *rc::gen::inRange(1, 200), needed = *rc::gen::inRange(0, built + 1);
  const double core = mm2 * *rc::gen::inRange(0, 101) / 100.0 / built;
  const double whole = energy::yield_of(mm2, defects, 3);
  const double salvaged = energy::yield_with_salvage(mm2, {built, needed, core}, defects, 3);
  RC_ASSERT(whole > 0);
  RC_ASSERT(salvaged >= whole);
  RC_ASSERT(salvaged <= 1);
  if (needed > 0) RC_ASSERT(energy::yield_with_salvage(mm2, {built, needed - 1, core}, defects, 3) >= salvaged);
  RC_ASSERT(energy::yield_of(mm2 + 10, defects, 3) < whole);
  RC_ASSERT(energy::yield_of(mm2, defects + 0.1, 3) < whole);
}

TEST(Price, GrowsWithWhatIsBuilt) {
  const double base = cost_of("a100").price.total_usd;
  EXPECT_GT(cost_of("a100", {{"memory.l2.capacity", "100 MiB"}}).price.total_usd, base);
  EXPECT_GT(cost_of("a100", {{"memory.dram.capacity", "80 GiB"}}).price.total_usd, base);
  EXPECT_GT(cost_of("a100", {{"core.count", "124"}, {"die.cores", "128"}}).price.total_usd, base) << "fewer spares";
  EXPECT_GT(cost_of("a100_80gb").price.total_usd, base);
  EXPECT_LT(cost_of("a100", {{"core.count", "54"}}).price.total_usd, base);
}

TEST(Price, IsPrintedByPart) {
  const energy::ChipPrice price = cost_of("h200").price;
  ASSERT_EQ(price.parts.size(), 3U);
  EXPECT_EQ(price.parts[1].part, "dram");
  EXPECT_NEAR(price.parts[1].usd, 141 * 15, 1e-9);
  EXPECT_THAT(price.parts[0].rule, HasSubstr("1 x 16988 USD a wafer / "));
  EXPECT_THAT(price.yield_rule, HasSubstr("with 132 of 144 cores"));
}

TEST(Price, RefusesADieLargerThanAWafer) {
  const arch::ArchSpec a = chip_of("a100", {{"core.count", "20000"}});
  base::Diagnostics diags;
  const auto area = energy::area_of(a, technology(), {}, diags);
  ASSERT_TRUE(area);
  EXPECT_FALSE(energy::price_of(a, *area, technology(), diags));
  EXPECT_THAT(diags.sentences(), testing::ElementsAre(HasSubstr("fits a wafer of 300 mm; state more `dies`")));
}

}  // namespace
}  // namespace tilescope::tests
