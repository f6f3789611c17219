// SPDX-License-Identifier: Apache-2.0
// Sweeps that escalate: what is simulated is the front of plain loops, a control and what the band does not tell apart,
// with the times of a sweep that simulates all; nothing depends on threads or on where the sweep was stopped.

#include "experiments/sweep/sweep.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/explore/pareto.h"
#include "experiments/multi_fidelity/point.h"
#include "experiments/report/report.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Without the last line.
const std::string kSweep =
    "sweep: MultiFidelityResult\nbase: v100\naxes:\n"
    "  memory.smem.banks: {from: 16, to: 128, times: 2}\n"
    "  core.count: [4, 6, 8, 12, 16]\n"
    "workloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=128,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n";
const std::string kCost = "cost: memory.smem.banks * core.count";

std::string with_simulation(const std::string& sim) { return kSweep + "evaluator: {model: all, sim: {" + sim + "}}\n"; }

class MultiFidelitySweepTest : public tests::Stores {
 protected:
  SweepRun run(
      const std::string& text, const std::string& store, int jobs = 2,
      const std::function<bool()>& stop = [] { return false; },
      const std::function<void(const SweepProgress&)>& tell = [](const SweepProgress&) {}) {
    write("sweep.yaml", text);
    base::Diagnostics diags;
    auto out = sweep({path("sweep.yaml"), path(store), "test", jobs}, stop, tell, diags);
    tests::require_no_errors(diags);
    notes_.clear();
    for (const base::Diagnostic& n : diags.notes())
      notes_.push_back(diags.format(n).substr(folder_.string().size() + 1));
    return std::move(out.value());
  }
  // All that is said of a sweep: its table, its state, its report.
  std::string said(const std::string& name) const {
    const Store s = store(name);
    const StoredSweep sweep = s.sweeps().front();
    return table(name) + base::to_json(to_document(state_of(s, sweep, 5))) +
           base::to_json(report_document(s, sweep, "store", "test"));
  }

  std::vector<std::string> notes_;
};

struct Seen {
  double predicted = 0, simulated = 0;
  std::size_t simulations = 0;
  double cost = 0;
  Chosen chosen = Chosen::kNot;
  bool is_base = false;
};

std::map<std::size_t, Seen> seen_in(const Store& s) {
  std::map<std::size_t, Seen> out;
  s.each_row(s.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    Seen& seen = out[p.ordinal];
    seen.predicted += w.weight * r->prediction->predicted_us;
    seen.simulated += r->simulation ? w.weight * r->simulation->simulated_us : 0;
    seen.simulations += r->simulation ? 1 : 0;
    seen.cost = p.at[0].number.value_or(0) * p.at[1].number.value_or(0);
    seen.chosen = p.chosen;
    seen.is_base = p.is_base;
  });
  return out;
}

TEST_F(MultiFidelitySweepTest, TheFrontOfPlainLoopsAndTheControlAreSimulated) {
  const SweepRun r = run(with_simulation("front: true, validation_sample: 3, neighbours: 0, " + kCost), "r.db");
  EXPECT_TRUE(r.state.complete());
  EXPECT_FALSE(r.stopped);
  const std::map<std::size_t, Seen> seen = seen_in(store("r.db"));
  std::map<Chosen, std::size_t> counts;
  std::size_t front = 0;
  for (const auto& [i, p] : seen) {
    ++counts[p.chosen];
    EXPECT_EQ(p.simulations, p.chosen == Chosen::kNot ? 0U : 2U) << i;
    if (p.is_base) continue;
    bool beaten = false;
    for (const auto& [j, q] : seen)
      beaten = beaten || (!q.is_base && q.cost <= p.cost && q.predicted <= p.predicted &&
                          (q.cost < p.cost || q.predicted < p.predicted));
    EXPECT_EQ(p.chosen == Chosen::kFront, !beaten) << i;
    front += beaten ? 0 : 1;
  }
  EXPECT_GT(front, 2U);
  EXPECT_EQ(counts[Chosen::kBase], 1U);
  EXPECT_EQ(counts[Chosen::kValidation], 3U);
  EXPECT_EQ(counts[Chosen::kNeighbour], 0U);
  EXPECT_EQ(r.state.multi_fidelity->validation.n, 3U);
  EXPECT_THAT(r.state.multi_fidelity->no_claims, HasSubstr("a validation sample of 9 or more"));
  for (const Difference& d : r.state.multi_fidelity->differences) EXPECT_FALSE(d.beyond);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(MultiFidelitySweepTest, WhatNoSimulationIsOfIsBeatenBeyondTheBand) {
  const SweepRun r = run(with_simulation("validation_sample: 9, " + kCost), "r.db");
  const MultiFidelityResult& e = r.state.multi_fidelity.value();
  ASSERT_TRUE(e.validation.covers());
  EXPECT_EQ(e.beaten, e.predicted_alone);
  EXPECT_GT(std::count_if(e.differences.begin(), e.differences.end(), [](const Difference& d) { return d.beyond; }), 0);
}

// The same rows under another name: what is asked of a program is asked once.
// A chip that is slower and smaller is told from the front by its area too.
TEST_F(MultiFidelitySweepTest, OfObjectivesWhatNoSimulationIsOfIsBeatenInAllOfThem) {
  const std::string objectives = "objectives: [time, energy, area]\n";
  std::string text = objectives + with_simulation("validation_sample: 9");
  const std::string cores = "[4, 6, 8, 12, 16]";
  text.replace(text.find(cores), cores.size(), "{from: 4, to: 24, step: 2}");  // more than the sample draws
  run(text, "r.db");
  const Store s = store("r.db");
  const StoredSweep sweep = s.sweeps().front();
  std::vector<JudgedPoint> points = judged_points(s, sweep);
  set_ranges(s, sweep, points);
  std::size_t beaten = 0, neighbours = 0;
  for (const JudgedPoint& p : points) {
    neighbours += p.chosen == Chosen::kNeighbour ? 1 : 0;
    if (p.chosen != Chosen::kNot || points[p.same_as].chosen != Chosen::kNot || p.is_base || !p.range) continue;
    const auto beats = [&](const JudgedPoint& q) {
      return !q.is_base && q.range && dominates({q.range->high, 0}, {p.range->low, 0});
    };
    EXPECT_TRUE(std::any_of(points.begin(), points.end(), beats)) << p.name;
    ++beaten;
  }
  EXPECT_GT(beaten + neighbours, 0U);
}

TEST_F(MultiFidelitySweepTest, TimesAreThoseOfASweepThatSimulatesAll) {
  run(with_simulation("validation_sample: 4, seed: 5, " + kCost), "some.db");
  run(kSweep + "evaluator: sim\n", "all.db");
  const std::map<std::size_t, Seen> some = seen_in(store("some.db")), all = seen_in(store("all.db"));
  std::size_t compared = 0;
  for (const auto& [i, p] : some) {
    EXPECT_EQ(p.predicted, all.at(i).predicted) << i;
    if (p.simulations == 0) continue;
    EXPECT_EQ(p.simulated, all.at(i).simulated) << i;
    ++compared;
  }
  EXPECT_GT(compared, 6U);
  EXPECT_EQ(run(with_simulation("validation_sample: 4, seed: 5, " + kCost), "all.db").computed, 21U * 2)
      << "the model's rows, and no simulation";
}

TEST_F(MultiFidelitySweepTest, ItSaysTheSameWhereverItWasStoppedAndOnAnyThreads) {
  const std::string text = with_simulation("validation_sample: 9, " + kCost);
  run(text, "one.db", 1);
  run(text, "three.db", 3);
  EXPECT_EQ(said("one.db"), said("three.db"));
  std::size_t rounds = 0;
  for (bool stopped = true; stopped; ++rounds) {
    ASSERT_LT(rounds, 100U);
    int left = 5;
    const SweepRun part = run(
        text, "parts.db", 2, [&] { return left <= 0; },
        [&](const SweepProgress& p) { left -= p.done > p.known ? 1 : 0; });
    stopped = part.stopped;
    EXPECT_EQ(stopped, !part.state.complete());
  }
  EXPECT_GT(rounds, 4U);
  EXPECT_EQ(said("one.db"), said("parts.db"));
}

TEST_F(MultiFidelitySweepTest, WithoutACostTheFrontIsWhatIsFastest) {
  run(with_simulation("neighbours: 0"), "r.db");
  const std::map<std::size_t, Seen> seen = seen_in(store("r.db"));
  double least = 1e30;
  for (const auto& [i, p] : seen)
    if (!p.is_base) least = std::min(least, p.predicted);
  for (const auto& [i, p] : seen)
    if (!p.is_base) {
      EXPECT_EQ(p.chosen == Chosen::kFront, p.predicted == least) << i;
    }
}

TEST_F(MultiFidelitySweepTest, AValidationSampleOfMoreThanThereAreIsAll) {
  const SweepRun r = run(with_simulation("front: false, validation_sample: 500"), "r.db");
  EXPECT_EQ(r.state.multi_fidelity->validation.n, 20U);
  EXPECT_EQ(r.state.multi_fidelity->validation.population, 20U);
  EXPECT_THAT(
      notes_,
      ElementsAre("sweep.yaml:9:64: validation_sample: 500 requested, and 20 chips lie beyond the front; all of them "
                  "are simulated"));
}

TEST_F(MultiFidelitySweepTest, ASeedDrawsAnotherControlAndKeepsWhatIsKnown) {
  const auto control = [&] {
    std::set<std::size_t> out;
    for (const auto& [i, p] : seen_in(store("r.db")))
      if (p.chosen == Chosen::kValidation) out.insert(i);
    return out;
  };
  run(with_simulation("front: false, validation_sample: 5, seed: 1"), "r.db");
  const auto first = control();
  run(with_simulation("front: false, validation_sample: 5, seed: 2"), "r.db");
  EXPECT_NE(control(), first);
  EXPECT_EQ(run(with_simulation("front: false, validation_sample: 5, seed: 1"), "r.db").computed, 0U);
  EXPECT_EQ(control(), first);
}

// As a simulator leaves it that cannot run the operator: no chip is known that the model takes and the simulator does
// not.
TEST_F(MultiFidelitySweepTest, AnOperatorThatTheSimulatorCannotRunIsNamedWithItsPlace) {
  const std::string text = with_simulation("validation_sample: 9, " + kCost);
  run(text, "r.db");
  SQLite::Database(path("r.db"), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE rows SET simulation = NULL, simulated_us = NULL, error = 'no such unit' WHERE simulation IS NOT NULL "
          "AND workload = (SELECT workload FROM sweep_workloads WHERE name = 'add')");
  const SweepRun r = run(text, "r.db");
  EXPECT_EQ(r.computed, 0U);
  EXPECT_FALSE(r.stopped);
  EXPECT_GT(r.state.rows_failed, 0U);
  EXPECT_THAT(r.state.multi_fidelity->simulated, IsEmpty());
  EXPECT_EQ(r.state.multi_fidelity->validation.n, 0U);
  EXPECT_THAT(
      notes_,
      ElementsAre(testing::MatchesRegex("sweep.yaml:8:5: add is not simulated at [0-9]+ points: no such unit")));
  const Store s = store("r.db");
  EXPECT_TRUE(s.totals(s.sweeps().front()).at(1).weighted_us.has_value()) << "the predicted times stand";
}

TEST_F(MultiFidelitySweepTest, AnotherModeIsAnotherQuestion) {
  const std::string few = "front: false, validation_sample: 2, ";
  run(with_simulation(few + "mode: sampled"), "r.db");
  const SweepRun full = run(with_simulation(few + "mode: full"), "r.db");
  EXPECT_EQ(full.computed, 2U * 2 + 2) << "of the control and the base";
  EXPECT_EQ(full.state.multi_fidelity->asked.mode, "full");
}

}  // namespace
}  // namespace tilescope::experiments
