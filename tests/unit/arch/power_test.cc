// SPDX-License-Identifier: Apache-2.0
#include "arch/power.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> errors_with(const std::string& path, const std::string& value) {
  return load("a100_pcie", {{path, value}}).errors;
}

TEST(VoltageCurve, IsStraightBetweenPointsAndFlatBelowTheFirst) {
  base::Diagnostics diags;
  const auto curve = arch::voltage_curve_of({"0.7 V at 1 GHz", "900 mV at 1.4 GHz"}, diags);
  ASSERT_TRUE(curve);
  EXPECT_DOUBLE_EQ(curve->at({500'000'000})->v, 0.7);
  EXPECT_DOUBLE_EQ(curve->at({1'000'000'000})->v, 0.7);
  EXPECT_DOUBLE_EQ(curve->at({1'100'000'000})->v, 0.75);
  EXPECT_DOUBLE_EQ(curve->at({1'400'000'000})->v, 0.9);
  EXPECT_FALSE(curve->at({1'400'000'001}));
  EXPECT_EQ(arch::texts_of(*curve).back(), "0.9 V at 1400 MHz");
}

RC_GTEST_PROP(VoltageCurve, NeverFalls, ()) {
  const arch::VoltageCurve curve = chip_of("a100_pcie").power.value().curve;
  const std::int64_t last = curve.points.back().clock.n;
  const auto a = *rc::gen::inRange<std::int64_t>(1, last), b = *rc::gen::inRange<std::int64_t>(1, last);
  RC_ASSERT(curve.at({std::min(a, b)})->v <= curve.at({std::max(a, b)})->v);
}

TEST(Power, RefusesCurvesThatFallAndPointsThatAreNone) {
  EXPECT_THAT(errors_with("power.curve", "[0.7 V at 1 GHz, 0.6 V at 1.2 GHz]"),
              ElementsAre(HasSubstr("power.curve: '0.6 V at 1.2 GHz' is below '0.7 V at 1000 MHz'; voltages do not")));
  EXPECT_THAT(errors_with("power.curve", "[0.7 V at 1 GHz, 0.8 V at 900 MHz]"), ElementsAre(HasSubstr("clocks rise")));
  EXPECT_THAT(errors_with("power.curve", "[1 GHz]"),
              ElementsAre(HasSubstr("expected a point such as '0.706 V at 1065 MHz', got '1 GHz'")));
}

TEST(Power, RefusesALimitThatTheBoardExceedsAtRest) {
  EXPECT_THAT(errors_with("power.limit", "40 W"),
              ElementsAre(testing::AllOf(HasSubstr("power.limit: 40 W is no more than"), HasSubstr("at rest"))));
  EXPECT_TRUE(load("a100_pcie", {{"core.count", "1080"}}).chip) << "no mistake of the limit";
}

TEST(Power, IsOfNoTime) {
  EXPECT_TRUE(chip_of("v100", {{"power.limit", "200 W"}}).error_bands_hold);
  EXPECT_TRUE(chip_of("v100", {{"energy.instruction", "20 pJ"}}).error_bands_hold);
  EXPECT_FALSE(chip_of("v100", {{"core.count", "79"}}).error_bands_hold);
}

TEST(EnergyKeys, NameInstructionsAndLevelsOfTheChip) {
  EXPECT_THAT(errors_with("energy.operations.mma.b16.operation", "1 pJ"),
              ElementsAre(HasSubstr("no instruction of `compute`; did you mean 'mma.f16'?")));
  EXPECT_THAT(errors_with("energy.levels.l3.byte", "1 pJ/B"), ElementsAre(HasSubstr("did you mean 'l2'?")));
  EXPECT_THAT(errors_with("energy.levels.l2.activate", "1 pJ"), ElementsAre(HasSubstr("the level is no DRAM")));
  EXPECT_THAT(errors_with("energy.levels.l2.byte", "1 pJ"),
              ElementsAre(HasSubstr("expected an energy of a byte such as '1.4 pJ/B'")));
  EXPECT_THAT(errors_with("energy.link", "1 pJ/B"), ElementsAre(HasSubstr("not linked with each other")));
}

}  // namespace
}  // namespace tilescope::tests
