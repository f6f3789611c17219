// SPDX-License-Identifier: Apache-2.0
// The parts of a sweep, each without the others: which points are chosen from rows that are written by hand, how rows
// come about without a choice, and what is written and counted of rows that nothing computed.

#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/sweep/detail/chooser.h"
#include "experiments/sweep/detail/evaluator.h"
#include "experiments/sweep/detail/row_writer.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

const std::string kText =
    "sweep: Parts\nbase: v100\naxes:\n  core.count: [4, 8, 16, 20, 32, 40, 64]\n"
    "workloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=128,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n";

MadeRow row_of(double us) {
  MadeRow out;
  out.row.prediction.emplace().predicted_us = us;
  return out;
}

// All parts over one store, whose sweep is put already.
struct Parts {
  Parts(const std::string& file, const std::string& store_path)
      : spec(read_sweep(file, 1, diags).value()),
        points(plan(spec, request, diags).value()),
        store(StoreWriter::open(store_path, "test", diags).value()),
        tasks(spec, points, store, std::size_t{1} << 24),
        rows(spec, points, tasks, store, request, tell),
        evaluator(spec, of_files, tasks, rows, 1),
        chooser(spec, points, store_path) {
    EXPECT_TRUE(tasks.put({}, request.stop));
  }

  // The rows that the store lacks of tasks that are new.
  std::vector<Unit> new_rows() {
    std::vector<Unit> out;
    for (; expected < tasks.all().size(); ++expected) {
      const std::vector<Unit> missing = rows.expect(expected);
      tasks.expect_searches(missing);
      out.insert(out.end(), missing.begin(), missing.end());
    }
    rows.report_expected();
    return out;
  }

  base::Diagnostics diags;
  bool stop = false;
  PlanRequest request{{}, 1, [this] { return stop; }};
  SweepProgress seen;
  RowWriter::Tell tell = [this](const SweepProgress& p) { seen = p; };
  FilePrograms of_files;
  SweepSpec spec;
  SweepPlan points;
  StoreWriter store;
  SweepTasks tasks;
  RowWriter rows;
  RowEvaluator evaluator;
  PointChooser chooser;
  std::size_t expected = 0;  // tasks whose rows were looked for
};

class SweepPartsTest : public tests::Stores {
 protected:
  Parts parts(const std::string& text, const std::string& store = "r.db") const {
    write("sweep.yaml", text);
    return Parts(path("sweep.yaml"), path(store));
  }
};

TEST_F(SweepPartsTest, AWriterCountsRowsOfItsOwnAndOfTheStore) {
  {
    Parts p = parts(kText);
    const std::vector<Unit> missing = p.new_rows();
    EXPECT_THAT(missing, SizeIs(16)) << "two operators at the base and at seven points";
    EXPECT_EQ(p.seen.all, 16);
    EXPECT_EQ(p.seen.points_all, 7);
    for (std::size_t i = 0; i < 4; ++i) p.rows.add(missing[i], row_of(i < 2 ? 10 : 20));
    EXPECT_EQ(p.seen.done, 4);
    EXPECT_EQ(p.seen.points_done, 1);
    EXPECT_EQ(p.seen.best, "2.000 of v100 at core.count 4");
    MadeRow failed;
    failed.row.error = "no program";
    p.rows.add(missing[4], failed);
    p.rows.add(missing[5], row_of(1e-3));
    EXPECT_EQ(p.seen.points_done, 2);
    EXPECT_EQ(p.seen.best, "2.000 of v100 at core.count 4") << "a point without a time is not the best one";
    p.rows.lose(missing[6], "killed");
    EXPECT_THAT(p.rows.lost(), ElementsAre("mm at core.count 16: killed"));
    EXPECT_EQ(p.rows.computed(), 6);
    EXPECT_FALSE(p.rows.has_all());
    p.rows.commit();
  }
  Parts p = parts(kText);
  EXPECT_THAT(p.new_rows(), SizeIs(10));
  EXPECT_EQ(p.seen.known, 6);
  EXPECT_EQ(p.seen.points_known, 2);
  EXPECT_EQ(p.rows.computed(), 0);
  EXPECT_EQ(p.seen.best, "2.000 of v100 at core.count 4");
}

TEST_F(SweepPartsTest, ARowThatOutlastsAStopIsNotStored) {
  Parts p = parts(kText);
  const std::vector<Unit> missing = p.new_rows();
  int calls = 0;
  p.rows.when_overdue([&] { ++calls; });
  p.rows.add(missing[0], row_of(10));
  p.rows.begin(missing[1]);
  p.stop = true;
  const auto begin = std::chrono::steady_clock::now();
  for (; calls == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60);
       std::this_thread::sleep_for(std::chrono::milliseconds(50)))
    p.rows.tick();
  EXPECT_EQ(calls, 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << "rows in progress have a second";
  p.stop = false;
  EXPECT_TRUE(p.rows.stopped());
  p.rows.add(missing[1], row_of(20));
  p.rows.tick();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(p.rows.computed(), 1);
  EXPECT_TRUE(p.store.find(p.tasks.key_of(missing[0])));
  EXPECT_FALSE(p.store.find(p.tasks.key_of(missing[1])));
}

// What a plan chooses where rows have the times of a function of their point, call by call.
std::vector<std::vector<std::size_t>> chosen_in(Parts& p, const std::function<double(std::size_t)>& us_of) {
  std::vector<std::vector<std::size_t>> out;
  for (std::vector<Unit> missing = p.new_rows();; missing = p.new_rows()) {
    for (const Unit& u : missing) p.rows.add(u, row_of(us_of(p.tasks[u.task].points.front())));
    p.rows.commit();
    out.push_back(p.chooser.next());
    if (out.back().empty()) return out;
    EXPECT_TRUE(read_chips(p.spec, p.points, out.back(), p.request));
    EXPECT_TRUE(p.tasks.add(out.back(), p.request.stop));
  }
}

TEST_F(SweepPartsTest, AChooserTakesEachPointOnceAndTheSameAgain) {
  const auto us_of = [](std::size_t point) { return 1.0 + static_cast<double>(point > 6 ? point - 6 : 6 - point); };
  for (const std::string plan : {"refine", "{nsga2: {evaluations: 6, population: 4, seed: 3}}"}) {
    const std::string text = kText + "objectives: [time]\nplan: " + plan + "\n", store = plan.substr(1, 5) + ".db";
    std::vector<std::vector<std::size_t>> first;
    {
      Parts p = parts(text, store);
      first = chosen_in(p, us_of);
    }
    std::set<std::size_t> points;
    std::size_t count = 0;
    for (const auto& call : first) {
      points.insert(call.begin(), call.end());
      count += call.size();
    }
    EXPECT_EQ(points.size(), count) << "no point twice";
    EXPECT_GE(*points.begin(), 1) << "no base";
    EXPECT_LE(*points.rbegin(), 7);
    EXPECT_EQ(plan == "refine" ? points.contains(6) : points.size() == 6, true) << plan;
    Parts again = parts(text, store);
    const auto refuse = [](std::size_t point) -> double { throw std::logic_error(fmt::format("{} is new", point)); };
    EXPECT_EQ(chosen_in(again, refuse), first) << "all rows are in the store";
  }
}

TEST_F(SweepPartsTest, AnEvaluatorMakesTheRowsThatItIsAskedFor) {
  const std::string text = kText + "programs: [construct, fixed]\n";
  Parts p = parts(text);
  constexpr std::size_t kPoint = 5;  // and 6, the same chip with the base's programs
  std::vector<Unit> asked, others;
  for (const Unit& u : p.new_rows()) {
    const Task& t = p.tasks[u.task];
    const bool is_of = !t.points.empty() && (t.points.front() == kPoint || t.points.front() == kPoint + 1);
    (t.is_reference || is_of ? asked : others).push_back(u);
  }
  p.evaluator.evaluate(asked);
  p.rows.commit();
  for (const Unit& u : others) EXPECT_FALSE(p.store.find(p.tasks.key_of(u)));
  sweep_into("whole.db");
  std::map<std::pair<std::size_t, std::string>, double> expected;
  const Store whole = store("whole.db");
  whole.each_row(whole.sweeps().front(), [&](const StoredPoint& at, const StoredWorkload& w, const StoredRow* r) {
    expected[{at.ordinal, w.name}] = r->time_us().value();
  });
  std::size_t rows = 0;
  for (const Unit& u : asked) {
    const Task& t = p.tasks[u.task];
    const auto row = p.store.find(p.tasks.key_of(u));
    ASSERT_TRUE(row);
    if (t.points.empty()) continue;
    EXPECT_EQ(row->time_us, (expected.at({t.points.front(), p.spec.workloads[u.workload].name})));
    ++rows;
  }
  EXPECT_EQ(rows, 6) << "of both points and of the base, whose programs the second one takes";
}

}  // namespace
}  // namespace tilescope::experiments
