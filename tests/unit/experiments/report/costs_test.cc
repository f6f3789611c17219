// SPDX-License-Identifier: Apache-2.0
// What a report says of objectives, budgets and costs, beside the chips' own areas and sums over the stored rows.

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "arch/load.h"
#include "energy/area.h"
#include "energy/price.h"
#include "experiments/report/report.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCostSweep =
    "sweep: Costs\nbase: a100_pcie\naxes:\n  core.count: [54, 108]\n  memory.l2.capacity: [20 MiB, 40 MiB]\n"
    "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n";

class ReportedCosts : public tests::Stores {
 protected:
  Json report(const std::string& rest) {
    write("sweep.yaml", kCostSweep + rest);
    sweep_into("r.db");
    const Store s = store("r.db");
    return Json::parse(base::to_json(report_document(s, s.sweeps().front(), "r.db", "test")));
  }
};

// Of a chip, the sum of all parts of one cost.
double sum_of(const Json& document, const std::string& cost, std::size_t chip) {
  double sum = 0;
  for (const Json& c : document.at("chips").at("parts"))
    if (c.at("name") == cost)
      for (const Json& part : c.at("parts")) sum += part.at("values").at(chip).get<double>();
  return sum;
}

const Json& named(const Json& list, const std::string& name) {
  for (const Json& item : list)
    if (item.at("name") == name) return item;
  throw std::runtime_error("the document has no " + name);
}

constexpr double kPartFigure = 2e-4;  // the document has five digits, a part each

TEST_F(ReportedCosts, OfPartsAreThoseOfTheChipAndOfItsRows) {
  const Json document = report("");
  EXPECT_FALSE(document.contains("objectives"));
  EXPECT_FALSE(document.at("chips").contains("violation"));
  const Store s = store("r.db");
  std::map<std::size_t, double> joules;
  s.each_row(s.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* row) {
    joules[p.ordinal] += 1e-6 * w.weight * row->prediction.value().energy.value().energy_uj;
  });
  base::Diagnostics diags;
  const auto technology = energy::Technology::read(diags).value();
  const std::vector<std::pair<const char*, const char*>> chips = {
      {"108", "40 MiB"}, {"54", "20 MiB"}, {"54", "40 MiB"}, {"108", "20 MiB"}, {"108", "40 MiB"}};
  for (std::size_t i = 0; i < chips.size(); ++i) {
    std::vector<arch::Override> changes;
    if (i > 0) changes = {{"core.count", chips[i].first}, {"memory.l2.capacity", chips[i].second}};
    const arch::ArchSpec chip = tests::chip("a100_pcie", changes);
    const auto area = energy::area_of(chip, technology, {}, diags);
    const auto price = energy::price_of(chip, area.value(), technology, diags);
    EXPECT_NEAR(sum_of(document, "area", i) / area->total_mm2, 1, kPartFigure) << i;
    EXPECT_NEAR(sum_of(document, "price", i) / price.value().total_usd, 1, kPartFigure) << i;
    EXPECT_NEAR(sum_of(document, "energy", i) / joules.at(i), 1, kPartFigure) << i;
    EXPECT_NEAR(named(document.at("chips").at("quantities"), "area").at("values").at(i).get<double>() / area->total_mm2,
                1, kPartFigure);
  }
}

TEST_F(ReportedCosts, OfObjectivesAndBudgetsAreThoseOfTheSweep) {
  const Json document = report(
      "objectives: [time, {of: 1 / price, name: value, goal: max}]\n"
      "constraints: [area <= 700 mm2, energy >= 1 uJ, time * area <= 1e9]\n");
  const Json& objectives = document.at("objectives");
  EXPECT_EQ(named(objectives, "time").at("better"), "less");
  EXPECT_EQ(named(objectives, "value").at("better"), "more");
  const Json& time = named(objectives, "time");
  const Json& totals = document.at("chips").at("totals").at(0).at("total_us");
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (!totals.at(i).is_null()) {
      EXPECT_EQ(time.at("values").at(i), totals.at(i)) << i;
    }
  EXPECT_EQ(document.at("constraints").size(), 2) << "a bound on an expression draws no budget";
  const Json& area = named(document.at("constraints"), "area");
  EXPECT_EQ(area.at("bound"), 700);
  EXPECT_EQ(area.at("unit"), "mm2");
  EXPECT_EQ(area.at("at_most"), true);
  EXPECT_NEAR(named(document.at("constraints"), "energy").at("bound").get<double>(), 1e-6, 1e-12);
  const Json& violation = document.at("chips").at("violation");
  for (std::size_t i = 0; i < violation.size(); ++i) {
    const double mm2 = sum_of(document, "area", i);
    EXPECT_NEAR(violation.at(i).get<double>(), std::max(0.0, mm2 / 700 - 1), 2 * kPartFigure) << i << ": " << mm2;
  }
}

}  // namespace
}  // namespace tilescope::experiments
