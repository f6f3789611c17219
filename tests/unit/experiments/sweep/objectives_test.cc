// SPDX-License-Identifier: Apache-2.0
// Sweeps with objectives: fronts and violations beside sums over the rows and the chip's own area and price; plans
// beside the grid, and the same for any number of threads and wherever they were stopped.

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/load.h"
#include "energy/area.h"
#include "energy/price.h"
#include "experiments/objectives/stored.h"
#include "experiments/sweep/sensitivity.h"
#include "experiments/sweep/sweep.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kJudgedWorkloads =
    "workloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=128,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n";
const std::string kAxes =
    "base: v100\naxes:\n  memory.smem.banks: {from: 8, to: 128, times: 2}\n"
    "  core.count: {from: 4, to: 40, step: 4}\n";

std::string sweep_text(const std::string& rest, const std::string& axes = kAxes) {
  return "sweep: Objectives\n" + axes + kJudgedWorkloads + rest;
}

class ObjectivesSweepTest : public tests::Stores {
 protected:
  SweepRun run(
      const std::string& text, const std::string& store = "r.db", int jobs = 2,
      const std::function<bool()>& stop = [] { return false; }) {
    write("sweep.yaml", text);
    base::Diagnostics diags;
    auto out = sweep({path("sweep.yaml"), path(store), "test", jobs}, stop, [](const SweepProgress&) {}, diags);
    tests::require_no_errors(diags);
    notes_.clear();
    for (const base::Diagnostic& n : diags.notes()) notes_.push_back(n.text);
    return std::move(out.value());
  }
  std::vector<std::string> errors(const std::string& text) {
    write("sweep.yaml", text);
    base::Diagnostics diags;
    const auto out =
        sweep({path("sweep.yaml"), path("e.db"), "test", 1}, [] { return false; }, [](const auto&) {}, diags);
    EXPECT_FALSE(out && diags.ok()) << text;
    std::vector<std::string> lines;
    for (const std::string& e : diags.formatted_errors()) lines.push_back(e.substr(folder_.string().size() + 1));
    return lines;
  }
  std::vector<std::string> notes_;
};

struct SeenTimes {
  double us = 0, uj = 0;
  std::size_t rows = 0;
  bool is_base = false;
  std::string place;
};

std::map<std::size_t, SeenTimes> seen_in(const Store& s) {
  std::map<std::size_t, SeenTimes> out;
  s.each_row(s.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    SeenTimes& seen = out[p.ordinal];
    seen.is_base = p.is_base;
    seen.place = p.at[0].text + " " + p.at[1].text;
    if (r == nullptr) return;
    ++seen.rows;
    seen.us += w.weight * r->prediction->predicted_us;
    seen.uj += w.weight * r->prediction->energy->energy_uj;
  });
  return out;
}

struct Cost {
  double mm2 = 0, usd = 0;
};

Cost cost_of(const std::string& banks, const std::string& cores) {
  base::Diagnostics diags;
  const auto chip = arch::load_arch("v100", {{"memory.smem.banks", banks}, {"core.count", cores}}, diags);
  const auto technology = energy::Technology::read(diags);
  const auto area = energy::area_of(*chip, *technology, {}, diags);
  const auto price = energy::price_of(*chip, *area, *technology, diags);
  tests::require_no_errors(diags);
  return {area->total_mm2, price->total_usd};
}

TEST_F(ObjectivesSweepTest, TheFrontIsThatOfSumsOverTheRows) {
  const SweepRun done = run(sweep_text("objectives: [time, energy, area, {of: price * time, name: value}]\n"));
  const Store s = store("r.db");
  const StoredSweep sweep = s.sweeps().front();
  const std::vector<Judgement> judgements = judgements_of(s, sweep);
  const std::map<std::size_t, SeenTimes> seen = seen_in(s);
  std::map<std::size_t, std::array<double, 4>> expected;
  for (const auto& [ordinal, p] : seen) {
    if (p.is_base) continue;
    const Cost cost = cost_of(p.place.substr(0, p.place.find(' ')), p.place.substr(p.place.find(' ') + 1));
    expected[ordinal] = {p.us, p.uj, cost.mm2, cost.usd * p.us};
  }
  ASSERT_EQ(judgements.size(), seen.size());
  std::size_t on_front = 0;
  for (const auto& [ordinal, values] : expected) {
    const Judgement& j = judgements[ordinal];
    for (std::size_t o = 0; o < 4; ++o)
      EXPECT_NEAR(*j.values[o] / (values[o] * (o == 1 ? 1e6 : 1)), 1, 1e-9) << ordinal << " " << o;
    bool beaten = false;
    for (const auto& [other, v] : expected) {
      bool worse = false, better = false;
      for (std::size_t o = 0; o < 4; ++o) worse = worse || v[o] > values[o], better = better || v[o] < values[o];
      beaten = beaten || (better && !worse);
    }
    EXPECT_EQ(j.on_front, !beaten) << ordinal;
    on_front += beaten ? 0 : 1;
  }
  EXPECT_FALSE(judgements[0].on_front) << "the base is none of the points";
  EXPECT_EQ(done.state.front->size, on_front);
  EXPECT_EQ(done.state.front->best.size(), 4);
  EXPECT_THAT(table("r.db"), AllOf(HasSubstr("objective.time_us,objective.energy_j,objective.area_mm2,objective.value,"
                                             "violation_ratio,on_front,workload"),
                                   HasSubstr(",true,mm,")));
}

TEST_F(ObjectivesSweepTest, ChipsBeyondABoundAreKeptWithoutPrograms) {
  const double bound = cost_of("32", "20").mm2;
  const SweepRun done =
      run(sweep_text(fmt::format("constraints: ['area <= {:.6f} mm2', 'core.count != 8']\n", bound + 1e-3)));
  const Store s = store("r.db");
  const std::vector<StoredPoint> points = s.points(s.sweeps().front());
  const auto seen = seen_in(s);
  std::size_t pruned = 0;
  EXPECT_EQ(points.size(), 1 + 5 * 9) << "a constraint on paths leaves points out";
  for (const StoredPoint& p : points) {
    const double area = cost_of(p.at[0].text, p.at[1].text).mm2;
    const bool beyond = !p.is_base && area > bound + 1e-3;
    pruned += beyond ? 1 : 0;
    EXPECT_EQ(!p.pruned.empty(), beyond) << p.ordinal;
    EXPECT_EQ(seen.at(p.ordinal).rows, beyond ? 0 : 2);
    if (beyond) {
      EXPECT_THAT(p.pruned, HasSubstr(fmt::format("mm2: {:.6g} mm2", area)));
    }
  }
  EXPECT_GT(pruned, 5);
  EXPECT_EQ(done.state.front->pruned, pruned);
  EXPECT_EQ(done.state.front->infeasible, pruned);
  EXPECT_TRUE(done.state.complete());
  EXPECT_EQ(done.state.done, 45);
  for (const RankedPoint& p : done.state.best)
    EXPECT_LE(cost_of(p.point.at[0].text, p.point.at[1].text).mm2, bound + 1e-3);
}

TEST_F(ObjectivesSweepTest, TheNearestMissIsNamedWhereNothingIsFeasible) {
  const SweepRun done = run(sweep_text("constraints: ['time <= 1 us', 'max(time of mm) >= 0.1 us']\n"));
  const SweepFront& f = *done.state.front;
  EXPECT_EQ(f.feasible, 0);
  EXPECT_THAT(f.points, IsEmpty());
  EXPECT_THAT(done.state.best, IsEmpty());
  double least = 1e300;
  for (const auto& [ordinal, p] : seen_in(store("r.db")))
    if (!p.is_base) least = std::min(least, p.us);
  ASSERT_TRUE(f.nearest);
  EXPECT_NEAR(*f.nearest->violation, least - 1, 1e-9);
  EXPECT_EQ(f.nearest_misses, fmt::format("time <= 1 us: {:.6g} us", least));
}

const std::string kSmallPlan =
    "objectives: [time, energy, area]\nplan: {nsga2: {evaluations: 24, population: 8, seed: 3}}\n";

TEST_F(ObjectivesSweepTest, APlanJudgesPointsAsTheGridDoes) {
  run(sweep_text("objectives: [time, energy, area]\n"), "grid.db");
  const std::string grid = table("grid.db", TableForm::kJsonLines);
  const auto without_front = [](std::string line) {
    const std::size_t at = line.find("\"on_front\"");
    return line.erase(at, line.find(',', at) - at);
  };
  std::set<std::string> lines;
  std::istringstream all(grid);
  for (std::string line; std::getline(all, line);) lines.insert(without_front(line));
  for (const std::string plan : {"refine", "{nsga2: {evaluations: 24, population: 8}}"}) {
    const SweepRun done = run(sweep_text("objectives: [time, energy, area]\nplan: " + plan + "\n"), "p.db");
    EXPECT_TRUE(done.state.complete());
    EXPECT_THAT(notes_, testing::Contains(HasSubstr("plan: the grid has 50 points of 2 operators")));
    std::istringstream some(table("p.db", TableForm::kJsonLines));
    std::size_t rows = 0;
    for (std::string line; std::getline(some, line); ++rows) EXPECT_TRUE(lines.contains(without_front(line))) << line;
    EXPECT_EQ(rows, 2 * (done.state.points + 1));
    EXPECT_LT(done.state.points, 50);
    if (plan != "refine") {
      EXPECT_EQ(done.state.points, 24);
    }
    std::filesystem::remove(path("p.db"));
  }
}

TEST_F(ObjectivesSweepTest, APlanGoesOnToTheSameEndFromAnyPlaceAndForAnyThreads) {
  for (const std::string& plan : {kSmallPlan, std::string("objectives: [time, area]\nplan: refine\n")}) {
    run(sweep_text(plan), "whole.db", 1);
    const std::string whole = table("whole.db");
    run(sweep_text(plan), "threads.db", 4);
    EXPECT_EQ(table("threads.db"), whole);
    int steps = 0, stops = 0;
    bool complete = false;
    for (; !complete && stops < 60; ++stops) {
      int left = steps += 120;
      const SweepRun part = run(sweep_text(plan), "parts.db", 1 + stops % 3, [&] { return --left < 0; });
      complete = part.planned && part.state.complete();
      EXPECT_EQ(part.stopped, !complete);
    }
    EXPECT_TRUE(complete);
    EXPECT_GT(stops, 2);
    EXPECT_EQ(table("parts.db"), whole);
    const SweepRun again = run(sweep_text(plan), "whole.db");
    EXPECT_EQ(again.computed, 0) << "nothing is judged twice";
    for (const char* name : {"whole.db", "threads.db", "parts.db"}) std::filesystem::remove(path(name));
  }
}

TEST_F(ObjectivesSweepTest, APlanTakesConstraintsAndOtherAxes) {
  const std::string axes =
      "base: [v100, h100_pcie]\naxes:\n  core.count: [60, 70, 80]\n  program.padding: [best, none]\n"
      "  memory.l2.capacity: [4 MiB, 6 MiB]\n";
  const SweepRun done =
      run(sweep_text("programs: [construct, fixed]\nobjectives: [time, energy]\n"
                     "constraints: [area <= 900 mm2]\nplan: {nsga2: {evaluations: 30}}\n",
                     axes));
  EXPECT_EQ(done.state.points, 30);
  EXPECT_TRUE(done.state.complete());
  EXPECT_EQ(done.state.rows_failed, 0);
}

TEST_F(ObjectivesSweepTest, NamesThePlaceOfAMistake) {
  const auto of = [&](const std::string& rest) { return errors(sweep_text(rest)); };
  EXPECT_THAT(of("objectives: [tim]\n"),
              ElementsAre("sweep.yaml:9:14: the chip has no number 'tim'; did you mean 'time'?"));
  EXPECT_THAT(of("objectives: [time, time]\n"),
              ElementsAre(HasSubstr("sweep.yaml:9:20: objectives: 'time' stands here a second time")));
  EXPECT_THAT(of("objectives: []\n"), ElementsAre(HasSubstr("sweep.yaml:9:13: objectives: none; name one at least")));
  EXPECT_THAT(of("objectives: [2 * 3]\n"), ElementsAre(HasSubstr("sweep.yaml:9:14: '2 * 3' is the same everywhere")));
  EXPECT_THAT(of("objectives: [max(time of mmm)]\n"),
              ElementsAre("sweep.yaml:9:14: no operator is called 'mmm'; did you mean 'mm'?"));
  EXPECT_THAT(of("constraints: [area >= 700 mm2, area <= 600 mm2]\n"),
              ElementsAre(HasSubstr("sweep.yaml:9:15: no point's area is at least 700 and at most 600")));
  EXPECT_THAT(
      of("plan: {nsga2: {evaluations: 51}}\n"),
      ElementsAre(
          "sweep.yaml:9:29: evaluations: 51, and the sweep has 50 points; leave `plan` out, and all are judged"));
  EXPECT_THAT(of("plan: {nsga2: {}}\n"), ElementsAre(HasSubstr("evaluations")));
  EXPECT_THAT(of("plan: random\n"),
              ElementsAre(HasSubstr("sweep.yaml:9:7: plan: expected one of grid, refine, got 'random'")));
  EXPECT_THAT(of("plan: {around: front}\n"), testing::Contains(HasSubstr("sweep.yaml:9:8: ")));
  const std::string no_energy = "base: a10\naxes:\n  core.count: [60, 70]\n";
  EXPECT_THAT(errors(sweep_text("objectives: [energy]\n", no_energy)),
              ElementsAre(AllOf(HasSubstr("sweep.yaml:8:14: energy: a10 lacks power: what the board draws at rest"),
                                HasSubstr("docs/energy.md"))));
  const std::string no_die = "base: ipu_gc200\naxes:\n  core.count: [1000, 1200]\n";
  EXPECT_THAT(errors(sweep_text("constraints: [price <= 700 USD]\n", no_die)),
              ElementsAre(HasSubstr("sweep.yaml:8:15: price: ipu_gc200: ")));
}

// On every axis, of choices and of values that move together too.
TEST_F(ObjectivesSweepTest, SensitivityIsAroundTheBasesOwnValues) {
  write("sweep.yaml", sweep_text("",
                                 "base: v100\naxes:\n  program.padding: [none, best]\n"
                                 "  memory.smem.banks, core.count: [[32, 40], [32, 80], [64, 80]]\n"));
  SensitivityRequest request;
  request.sweep = {path("sweep.yaml"), path("s.db"), "test", 2};
  request.objective = "time";
  request.samples = 4;
  base::Diagnostics diags;
  const auto found = sensitivity(request, [] { return false; }, [](const SweepProgress&) {}, diags);
  tests::require_no_errors(diags);
  EXPECT_THAT(found->centre, AllOf(HasSubstr("program.padding best"), HasSubstr("32"), HasSubstr("80")));
}

TEST_F(ObjectivesSweepTest, SensitivityIsThatOfThePlainFunction) {
  write("sweep.yaml", sweep_text(""));
  SensitivityRequest request;
  request.sweep = {path("sweep.yaml"), path("s.db"), "test", 2};
  request.objective = "core.count ^ 2 * memory.smem.banks";
  request.samples = 4096;
  base::Diagnostics diags;
  const auto found = sensitivity(request, [] { return false; }, [](const SweepProgress&) {}, diags);
  tests::require_no_errors(diags);
  const auto mean_of = [](const std::vector<double>& values, int power) {
    double sum = 0;
    for (const double v : values) sum += std::pow(v, power);
    return sum / static_cast<double>(values.size());
  };
  const std::vector<double> cores = {4, 8, 12, 16, 20, 24, 28, 32, 36, 40}, banks = {8, 16, 32, 64, 128};
  const double c2 = mean_of(cores, 2), c4 = mean_of(cores, 4), b1 = mean_of(banks, 1), b2 = mean_of(banks, 2);
  const double all = c4 * b2 - c2 * c2 * b1 * b1;
  const double of_cores = (c4 - c2 * c2) * b1 * b1 / all, of_banks = (b2 - b1 * b1) * c2 * c2 / all;
  EXPECT_EQ(found->points, 50) << "each is judged once";
  EXPECT_NEAR(found->mean / (c2 * b1), 1, 0.02);
  ASSERT_EQ(found->axes.size(), 2);
  for (const AxisSensitivity& a : found->axes) {
    const bool is_cores = a.axis == "core.count";
    EXPECT_NEAR(a.elasticity.value(), is_cores ? 2 : 1, 1e-9);
    EXPECT_NEAR(a.index.first, is_cores ? of_cores : of_banks, 0.04) << a.axis;
    EXPECT_NEAR(a.index.total, is_cores ? 1 - of_banks : 1 - of_cores, 0.04) << a.axis;
    ASSERT_EQ(a.ends.size(), 2U);
    EXPECT_NEAR(a.ends[1].objective / a.ends[0].objective, is_cores ? 100 : 16, 1e-9) << a.axis;
  }
  ASSERT_EQ(found->pairs.size(), 1U);
  EXPECT_NEAR(found->pairs[0].index, 1 - of_cores - of_banks, 0.04);

  // Banks matter up to 12 cores alone: the interaction says so.
  request.objective = "core.count <= 12 ? memory.smem.banks : 40";
  const auto on_one_side = sensitivity(request, [] { return false; }, [](const SweepProgress&) {}, diags);
  tests::require_no_errors(diags);
  ASSERT_EQ(on_one_side->pairs.size(), 1U);
  EXPECT_EQ(on_one_side->pairs[0].axis, "memory.smem.banks");
  EXPECT_EQ(on_one_side->pairs[0].where, "core.count <= 12");
  EXPECT_DOUBLE_EQ(on_one_side->pairs[0].effect, 1);
  EXPECT_NEAR(on_one_side->pairs[0].rows, 0.3, 0.02);
  write("sweep.yaml", sweep_text("constraints: [core.count != 8]\n"));
  EXPECT_FALSE(sensitivity(request, [] { return false; }, [](const SweepProgress&) {}, diags));
  EXPECT_THAT(diags.formatted_errors(), ElementsAre(HasSubstr("sweep.yaml:9:14: sensitivity takes every combination")));
}

TEST_F(ObjectivesSweepTest, ShardsTakeNoOtherPlan) {
  write("sweep.yaml", sweep_text("plan: refine\n"));
  base::Diagnostics diags;
  SweepRequest request{path("sweep.yaml"), path("s.db"), "test", 1};
  request.shard = Shard{0, 2};
  EXPECT_FALSE(sweep(request, [] { return false; }, [](const SweepProgress&) {}, diags));
  EXPECT_THAT(diags.formatted_errors(),
              ElementsAre(HasSubstr("sweep.yaml:9:7: plan: a shard has its own points alone")));
}

}  // namespace
}  // namespace tilescope::experiments
