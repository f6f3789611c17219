// SPDX-License-Identifier: Apache-2.0
// Values of objectives and constraints at a point beside plain arithmetic, and the places of mistakes.

#include "experiments/objectives/objectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/build.h"

namespace tilescope::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<StoredWorkload> kOperators = {
    {"net: conv1", "", 2, {}}, {"net: conv2", "", 1, {}}, {"add", "", 5, {}}};

OperatorResult result(double us, double pj) {
  OperatorResult out;
  out.values[static_cast<std::size_t>(Quantity::kTime)] = us;
  out.values[static_cast<std::size_t>(Quantity::kEnergy)] = pj;
  out.values[static_cast<std::size_t>(Quantity::kPower)] = 1e-6 * pj / us;
  return out;
}

const std::vector<std::optional<OperatorResult>> kResults = {result(10, 3e9), result(30, 5e9), result(4, 1e9)};
// Of all three.
constexpr double kTime = 2 * 10 + 30 + 5 * 4, kEnergy = 2 * 3e9 + 5e9 + 5 * 1e9;

Judgement judged(const std::vector<std::string>& objectives, const std::vector<std::string>& constraints = {},
                 const std::vector<std::optional<OperatorResult>>& results = kResults) {
  StoredObjectives asked;
  for (const std::string& f : objectives) asked.objectives.push_back({f, f});
  asked.constraints = constraints;
  asked.inputs = {"area", "price", "core.count"};
  return Objectives(asked, kOperators).judge({600, 5000, 80}, results);
}

double judged_value(const std::string& formula) { return judged({formula}).values.front().value(); }

TEST(Objectives, AreSumsOfWeightTimesThatOfEachOperator) {
  EXPECT_DOUBLE_EQ(judged_value("time"), kTime);
  EXPECT_DOUBLE_EQ(judged_value("energy"), kEnergy);
  EXPECT_DOUBLE_EQ(judged_value("power"), kEnergy * 1e-6 / kTime);
  EXPECT_DOUBLE_EQ(judged_value("edp"), kTime * kEnergy);
  EXPECT_DOUBLE_EQ(judged_value("time * price / core.count"), kTime * 5000 / 80);
  EXPECT_DOUBLE_EQ(judged_value("area > 500 mm2 ? price : 0"), 5000);
}

TEST(Objectives, ReduceTheOperatorsOfAPattern) {
  EXPECT_EQ(judged_value("max(time of *)"), 30);
  EXPECT_EQ(judged_value("min(time of net: conv*)"), 10);
  EXPECT_EQ(judged_value("sum(time of net*)"), 2 * 10 + 30);
  EXPECT_DOUBLE_EQ(judged_value("mean(time of net*)"), (2 * 10 + 30) / 3.0);
  EXPECT_EQ(judged_value("max(sum(time of net*), sum(time of add))"), 50);
  EXPECT_DOUBLE_EQ(judged_value("max(power of add)"), 1e-6 * 1e9 / 4);
  // Of eight occurrences, five take 4 us, two 10 and one 30.
  EXPECT_EQ(judged_value("quantile(0.6, time of *)"), 4);
  EXPECT_EQ(judged_value("quantile(0.65, time of *)"), 10);
  EXPECT_EQ(judged_value("quantile(0.875, time of *)"), 10);
  EXPECT_EQ(judged_value("quantile(0.9, time of *)"), 30);
  EXPECT_EQ(judged_value("quantile(1, time of *) + 1"), 31);
}

// Of 5 nJ, 2 rest: in three times the time they are 3 + 3 * 2.
TEST(Objectives, OfAnotherTimeKeepTheEnergyThatDoesNotRest) {
  OperatorResult r = result(10, 5e3);
  r.resting_energy = 2e3;
  r.values[static_cast<std::size_t>(Quantity::kTimeAtLimit)] = 20;
  r.values[static_cast<std::size_t>(Quantity::kEnergyAtLimit)] = 10e3;
  const OperatorResult off = with_time_times(r, 3);
  const auto at = [&](Quantity q) { return off.values[static_cast<std::size_t>(q)].value(); };
  EXPECT_DOUBLE_EQ(at(Quantity::kTime), 30);
  EXPECT_DOUBLE_EQ(at(Quantity::kEnergy), 9e3);
  EXPECT_DOUBLE_EQ(at(Quantity::kPower), 1e-6 * 9e3 / 30);
  EXPECT_DOUBLE_EQ(at(Quantity::kTimeAtLimit), 60);
  EXPECT_DOUBLE_EQ(at(Quantity::kEnergyAtLimit), 18e3);
  EXPECT_DOUBLE_EQ(with_time_times(off, 1.0 / 3).values[static_cast<std::size_t>(Quantity::kEnergy)].value(), 5e3);
  EXPECT_EQ(with_time_times(OperatorResult{}, 2).values, QuantityValues());
}

TEST(Objectives, MatchNamesAsShellsDo) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(matches("a*b*c", "a1b2b3"));
  EXPECT_TRUE(matches("?1*", "a1"));
  EXPECT_FALSE(matches("?1", "a1b"));
  EXPECT_FALSE(matches(std::string(40, '*') + "b", std::string(5000, 'a'))) << "and in no time";
}

TEST(Objectives, OfAPointWithoutAllResultsAreNotKnown) {
  auto some = kResults;
  some[1].reset();
  const Judgement j = judged({"time", "area", "max(time of add)"}, {"time <= 1 us", "area <= 300 mm2"}, some);
  EXPECT_THAT(j.values, ElementsAre(std::nullopt, 600.0, 4.0));
  EXPECT_EQ(j.violation(), 1) << "of the area, which is known";
  EXPECT_FALSE(judged({"time"}, {"time <= 1 us"}, some).violation()) << "it may still meet it";
  EXPECT_EQ(judged({"1 / (area - 600)"}).lacks, "'1 / (area - 600)' is no number there");
}

TEST(Objectives, ViolationsAreSharesOfTheBound) {
  EXPECT_EQ(judged({"time"}, {"area <= 600 mm2", "time >= 1 us"}).violation(), 0);
  EXPECT_DOUBLE_EQ(*judged({"time"}, {"area <= 500 mm2", "price <= 4 USD * 1000"}).violation(), 0.2 + 0.25);
  EXPECT_DOUBLE_EQ(*judged({"time"}, {"core.count >= 100"}).violation(), 0.2);
  EXPECT_DOUBLE_EQ(*judged({"time"}, {"energy <= 8 mJ"}).violation(), 1) << "16 mJ";
  EXPECT_DOUBLE_EQ(*judged({"time"}, {"power <= area / 600 * 100 W"}).violation(), kEnergy * 1e-6 / kTime / 100 - 1);
}

TEST(Objectives, NameTheWorstConstraint) {
  const std::vector<std::string> constraints = {"area <= 500 mm2", "energy <= 8 mJ", "price <= 9000 USD"};
  const Objectives o({{{"time", "time"}}, constraints, {"area", "price"}}, kOperators);
  EXPECT_EQ(o.worst_of(o.judge({600, 5000}, kResults)), "energy <= 8 mJ: 0.016 J");
  EXPECT_EQ(o.worst_of(o.judge({600, 5000}, {})), "area <= 500 mm2: 600 mm2");
  EXPECT_EQ(o.worst_of(o.judge({400, 5000}, {})), "");
}

TEST(Objectives, ShowUnitsInColumns) {
  EXPECT_EQ(shown({"energy", "energy"}).column, "objective.energy_j");
  EXPECT_EQ(shown({"worst", "max(time of net: conv*)"}).column, "objective.worst_us");
  EXPECT_EQ(shown({"late", "quantile(0.9, time of *)"}).column, "objective.late_us");
  EXPECT_EQ(shown({"x", "max(sum(time of a), sum(time of b))"}).column, "objective.x");
  EXPECT_EQ(shown({"value", "time * price"}).column, "objective.value");
  EXPECT_EQ(shown({"value", "area * max(time of *)"}).column, "objective.value") << "no time";
  EXPECT_EQ(shown({"value", "1/max(time of *)"}).column, "objective.value");
}

std::vector<std::string> bound_errors(const std::string& text) {
  base::Diagnostics diags;
  EXPECT_FALSE(parse_bound(text, {diags.add_source("f"), 3, 10}, result_names({"core.count"}), diags)) << text;
  return diags.formatted_errors();
}

TEST(Bounds, AreOfTheSideThatReadsAResult) {
  for (const char* text : {"area <= 500 mm2", "500 mm2 >= area"}) {
    base::Diagnostics diags;
    const auto bound = parse_bound(text, {diags.add_source("f"), 3, 10}, result_names({"core.count"}), diags);
    ASSERT_TRUE(bound) << text;
    EXPECT_EQ(judged({"time"}, {text}).violations.front().value(), 0.2) << text;
  }
}

TEST(Bounds, WithoutANumberAreSaid) {
  EXPECT_EQ(judged({"time"}, {"time <= sqrt(core.count - 100)"}).lacks,
            "'time <= sqrt(core.count - 100)' has no number there");
}

TEST(Bounds, PatternsHoldAnyCharacter) {
  for (const char* text : {"max(time of net: conv?) <= 20 us", "max(time of a=b) <= 20 us"}) {
    base::Diagnostics diags;
    EXPECT_TRUE(parse_bound(text, {diags.add_source("f"), 3, 10}, result_names({"core.count"}), diags)) << text;
  }
  EXPECT_NEAR(judged({"time"}, {"max(time of net: conv?) <= 20 us"}).violations.front().value(), 0.5, 1e-12);
}

TEST(Bounds, NameThePlaceOfAMistake) {
  EXPECT_THAT(bound_errors("area <= 600"),
              ElementsAre("f:3:18: area is bounded by an area such as '826 mm2', not by '600'"));
  EXPECT_THAT(bound_errors("power <= 600 mm2"),
              ElementsAre("f:3:19: power is bounded by a power such as '250 W', not by '600 mm2'"));
  EXPECT_THAT(bound_errors("max(time of *) <= 2 W"), ElementsAre(HasSubstr("f:3:28: time is bounded by a time")));
  for (const char* text :
       {"area < 600 mm2", "area == 600 mm2", "area", "1 mm2 <= area <= 2 mm2", "area <= 6 mm2 && power <= 3 W"})
    EXPECT_THAT(bound_errors(text), ElementsAre(HasSubstr("one comparison with <= or >="))) << text;
  EXPECT_THAT(bound_errors("area <= 600 mm2 * core.coun"), ElementsAre(HasSubstr("f:3:28: the chip has no number")));
  EXPECT_THAT(bound_errors("max(speed of *) <= 2"), ElementsAre(HasSubstr("f:3:10: operators have no 'speed'")));
  EXPECT_THAT(bound_errors("max(time of ) <= 2 us"), ElementsAre(HasSubstr("which operators?")));
  EXPECT_THAT(bound_errors("quantile(2, time of *) <= 2 us"), ElementsAre(HasSubstr("a share above 0, at most 1")));
}

}  // namespace
}  // namespace tilescope::experiments
