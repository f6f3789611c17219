// SPDX-License-Identifier: Apache-2.0
// The store of sweeps: what is put is what is read, also by SQLite alone; nothing is kept twice; one writer at a time;
// what is no store is refused.

#include "experiments/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/store/detail/lock.h"
#include "experiments/store/writer.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kVersion = "1.2.3";

class StoreTest : public tests::Stores {
 protected:
  std::string path(const std::string& name = "r.db") const { return Stores::path(name); }
  StoreWriter writer(const std::string& version = kVersion) const {
    base::Diagnostics diags;
    auto out = StoreWriter::open(path(), version, diags);
    tests::require_no_errors(diags);
    return std::move(out.value());
  }
  Store reader() const { return store("r.db"); }
  std::string why_unsupported() const {
    base::Diagnostics diags;
    EXPECT_FALSE(Store::open(path(), diags));
    return diags.formatted_errors().at(0);
  }
};

api::Prediction prediction(double us) {
  api::Prediction p;
  p.predicted_us = us;
  p.band = api::TimeBand{0.9 * us, 1.25 * us};
  p.bottleneck = "device cache";
  p.terms = {{"issue", 0.5 * us}, {"device cache", us}};
  p.levels = {{"dram", 4096, 128, 1, 0.1}, {"l2", 8192, 256, 1.5, 1.0 / 3}};
  p.occupancy_ratio = 0.375;
  p.occupancy_limit = "registers";
  p.registers_per_thread = 97;
  p.blocks = 8192;
  p.waves = 8.53;
  return p;
}

// Parts that may be absent, with numbers by name of their own.
api::Prediction prediction_with_energy(double us) {
  api::Prediction p = prediction(us);
  p.counts = api::WorkCounts{
      1e6, {{"mma.f16", 2e9}}, {{"tensor", 3e5}}, {{"dram", 4096, 512}, {"l2", 8192, 64}}, 77, 1e4, 12, 640};
  p.energy = api::EnergyRow{20, 250, {{"rest", 5}, {"dram", 15}}, 1260, 1.1 * us, {}};
  return p;
}

StoredRow row(double us) {
  StoredRow r;
  r.prediction = prediction(us);
  return r;
}

StoredRow failure(const std::string& why) {
  StoredRow r;
  r.error = why;
  return r;
}

base::Value document(const std::string& name) { return base::Map{{"name", name}}; }

// A sweep of one axis: a base, two chips and one that is refused, two operators of weights 1 and 2.
struct SmallSweep {
  explicit SmallSweep(StoreWriter& to) {
    base = to.chip("base", "v100", document("v100"));
    changed = to.chip("changed", "v100", document("v100"));
    request = to.request(base::Map{{"programs", "construct"}});
    first = to.workload(document("first"));
    second = to.workload(document("second"));
    to.put_sweep(sweep,
                 {point(0, true, {{"32", 32.0}}, base), point(1, false, {{"32", 32.0}}, base),
                  point(2, false, {{"64", 64.0}}, changed), refused()},
                 {{"a", "matmul", 1, first}, {"b", "pool", 2, second}});
  }

  NewPoint point(std::size_t ordinal, bool is_base, std::vector<StoredValue> at, Content chip) const {
    NewPoint out;
    out.point.ordinal = ordinal;
    out.point.base = "v100";
    out.point.is_base = is_base;
    out.point.at = std::move(at);
    if (out.point.at[0].text == "64") out.point.differences = {{"memory.smem.banks", "32", "64"}};
    out.chip = chip;
    out.request = request;
    return out;
  }
  NewPoint refused() const {
    NewPoint out;
    out.point.ordinal = 3;
    out.point.base = "v100";
    out.point.at = {{"3", 3.0}};
    out.point.refused = "banks: no power of two";
    return out;
  }

  StoredSweep sweep{0, "Banks", "banks.yaml", "sweep: Banks\n", "model", {{"memory.smem.banks", "", 0}}, {}};
  Content base{}, changed{}, request{}, first{}, second{};
};

struct SeenRow {
  std::size_t point;
  std::string workload;
  std::optional<double> us;
  std::string error;

  bool operator==(const SeenRow&) const = default;
};

std::vector<SeenRow> rows_of(const Store& store) {
  std::vector<SeenRow> out;
  const StoredSweep sweep = store.sweeps().at(0);
  store.each_row(sweep, [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    out.push_back({p.ordinal, w.name, r == nullptr ? std::nullopt : r->time_us(), r == nullptr ? "-" : r->error});
  });
  return out;
}

TEST_F(StoreTest, WhatIsPutIsWhatIsRead) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  to.add({s.base, s.request, s.first}, RowTexts(row(10), R"({"nodes":[]})"));
  to.add({s.base, s.request, s.second}, RowTexts(row(20), R"({"nodes":[]})"));
  to.add({s.changed, s.request, s.first}, RowTexts(row(5), R"({"nodes":[1]})"));
  to.commit();

  const Store store = reader();
  EXPECT_EQ(store.tool_version(), kVersion);
  ASSERT_THAT(store.sweeps(), SizeIs(1));
  const StoredSweep sweep = store.sweeps().front();
  EXPECT_EQ(sweep.title, "Banks");
  EXPECT_EQ(sweep.file, "banks.yaml");
  EXPECT_EQ(sweep.text, "sweep: Banks\n");
  EXPECT_EQ(sweep.evaluator, "model");
  ASSERT_THAT(sweep.axes, SizeIs(1));
  EXPECT_EQ(sweep.axes[0].name, "memory.smem.banks");
  EXPECT_EQ(sweep.axes[0].group, 0U);
  ASSERT_THAT(sweep.workloads, SizeIs(2));
  EXPECT_EQ(sweep.workloads[1].name, "b");
  EXPECT_EQ(sweep.workloads[1].weight, 2);
  EXPECT_EQ(base::to_json(sweep.workloads[1].document), R"({"name":"second"})");

  const std::vector<StoredPoint> points = store.points(sweep);
  ASSERT_THAT(points, SizeIs(4));
  EXPECT_TRUE(points[0].is_base);
  EXPECT_EQ(points[2].at.at(0).text, "64");
  EXPECT_EQ(points[2].at.at(0).number, 64);
  EXPECT_EQ(points[2].differences.at(0).to, "64");
  EXPECT_EQ(base::to_json(store.chip(points[2].chip)), R"({"name":"v100"})");
  EXPECT_EQ(points[3].refused, "banks: no power of two");
  EXPECT_EQ(points[3].chip, "");

  EXPECT_THAT(rows_of(store), ElementsAre(SeenRow{0, "a", 10, ""}, SeenRow{0, "b", 20, ""}, SeenRow{1, "a", 10, ""},
                                          SeenRow{1, "b", 20, ""}, SeenRow{2, "a", 5, ""}, SeenRow{2, "b", {}, "-"},
                                          SeenRow{3, "a", {}, "-"}, SeenRow{3, "b", {}, "-"}));
}

TEST_F(StoreTest, KeepsEveryFigureOfARow) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  StoredRow full = row(1.0 / 3);
  full.measured_us = 0.4;
  api::Simulation simulation;
  simulation.simulated_us = 0.35;
  simulation.cycles = 483;
  simulation.stalls = {{"issue", 400}, {"tail", 83}};
  simulation.levels = {{"l2", 1, 2, 3, 4, 5}};
  simulation.exact = false;
  full.simulation = simulation;
  to.add({s.base, s.request, s.first}, RowTexts(full, R"({"nodes":[]})"));
  to.commit();

  const Store store = reader();
  bool seen = false;
  store.each_row(store.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    if (p.ordinal != 0 || w.name != "a") return;
    seen = true;
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(base::to_json(to_entries(*r->prediction)), base::to_json(to_entries(*full.prediction)));
    EXPECT_EQ(base::to_json(to_entries(*r->simulation)), base::to_json(to_entries(simulation)));
    EXPECT_EQ(r->measured_us, 0.4);
    EXPECT_EQ(r->time_us(), 0.35);
    EXPECT_EQ(base::to_json(store.program(r->program)), R"({"nodes":[]})");
  });
  EXPECT_TRUE(seen);
}

TEST_F(StoreTest, TotalsAreThereWhenAllOperatorsAre) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  to.add({s.base, s.request, s.first}, RowTexts(row(10), "{}"));
  to.add({s.base, s.request, s.second}, RowTexts(row(20), "{}"));
  to.add({s.changed, s.request, s.first}, RowTexts(row(5), "{}"));
  to.commit();
  const Store store = reader();
  const StoredSweep sweep = store.sweeps().front();
  std::vector<PointTotal> totals = store.totals(sweep);
  ASSERT_THAT(totals, SizeIs(4));
  EXPECT_EQ(totals[0].weighted_us, 10 + 2 * 20);
  EXPECT_EQ(totals[0].base_ratio, 1);
  EXPECT_EQ(totals[1].weighted_us, 50);
  EXPECT_EQ(totals[2].done, 1U);
  EXPECT_FALSE(totals[2].weighted_us);
  EXPECT_EQ(totals[3].done, 0U);
  EXPECT_THAT(best_points(store.points(sweep), totals), ElementsAre(1));

  to.add({s.changed, s.request, s.second}, RowTexts(row(10), "{}"));
  to.commit();
  const Store later = reader();
  totals = later.totals(sweep);
  EXPECT_EQ(totals[2].weighted_us, 25);
  EXPECT_EQ(totals[2].base_ratio, 0.5);
  EXPECT_THAT(best_points(later.points(sweep), totals), ElementsAre(2, 1));
}

TEST_F(StoreTest, APointWithAFailureHasNoTotal) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  to.add({s.changed, s.request, s.first}, RowTexts(row(5), "{}"));
  to.add({s.changed, s.request, s.second}, RowTexts(failure("nothing fits"), ""));
  EXPECT_FALSE(to.find({s.changed, s.request, s.second}).value().time_us);
  to.commit();
  const Store store = reader();
  const PointTotal total = store.totals(store.sweeps().front()).at(2);
  EXPECT_EQ(total.done, 2U);
  EXPECT_EQ(total.failed, 1U);
  EXPECT_FALSE(total.weighted_us);
  EXPECT_EQ(rows_of(store).at(5), (SeenRow{2, "b", {}, "nothing fits"}));
}

TEST_F(StoreTest, NothingIsKeptTwice) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  const RowKey key{s.base, s.request, s.first};
  EXPECT_FALSE(to.find(key));
  to.add(key, RowTexts(row(10), "{}"));
  to.add(key, RowTexts(row(11), "{}"));
  EXPECT_EQ(to.find(key).value().time_us, 10);
  EXPECT_EQ(to.program_of(key), "{}");
  EXPECT_EQ(to.chip("base", "v100", document("another")), s.base);
  EXPECT_EQ(to.workload(document("first")), s.first);
  to.add({s.base, s.request, s.second}, RowTexts(row(20), "{}"));
  to.commit();
  SQLite::Database file(path(), SQLite::OPEN_READONLY);
  EXPECT_EQ(file.execAndGet("SELECT count(*) FROM rows").getInt(), 2);
  EXPECT_EQ(file.execAndGet("SELECT count(*) FROM programs").getInt(), 1);
  EXPECT_EQ(file.execAndGet("SELECT count(*) FROM chips").getInt(), 2);
  EXPECT_EQ(file.execAndGet("SELECT predicted_us FROM results WHERE point = 1 AND workload = 'a'").getDouble(), 10);
  EXPECT_EQ(file.execAndGet("PRAGMA integrity_check").getString(), "ok");
}

TEST_F(StoreTest, AnEnlargedSweepTakesTheOnesPlaceAndKeepsItsRows) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  to.add({s.base, s.request, s.first}, RowTexts(row(10), "{}"));
  StoredSweep larger = s.sweep;
  larger.text = "sweep: Banks\n# larger\n";
  to.put_sweep(larger, {s.point(0, true, {{"32", 32.0}}, s.base)}, {{"a", "matmul", 3, s.first}});
  const Store store = reader();
  ASSERT_THAT(store.sweeps(), SizeIs(1));
  EXPECT_EQ(store.sweeps().front().text, larger.text);
  EXPECT_THAT(rows_of(store), ElementsAre(SeenRow{0, "a", 10, ""}));
  EXPECT_EQ(store.totals(store.sweeps().front()).at(0).weighted_us, 30);
}

TEST_F(StoreTest, AReaderSeesOneMoment) {
  StoreWriter to = writer();
  const SmallSweep s(to);
  to.add({s.base, s.request, s.first}, RowTexts(row(10), "{}"));
  to.commit();
  const Store before = reader();
  const std::vector<SeenRow> rows = rows_of(before);
  to.add({s.base, s.request, s.second}, RowTexts(row(20), "{}"));
  StoredSweep smaller = s.sweep;
  smaller.text = "sweep: Banks\n# smaller\n";
  to.put_sweep(smaller, {s.point(0, true, {{"32", 32.0}}, s.base)}, {{"a", "matmul", 3, s.first}});
  EXPECT_EQ(rows_of(before), rows);
  EXPECT_THAT(rows_of(reader()), ElementsAre(SeenRow{0, "a", 10, ""}));
}

// SQLite would take these for something else than files.
TEST_F(StoreTest, AnyNameIsAFile) {
  const fs::path here = fs::current_path();
  fs::current_path(folder_);
  for (const char* name : {":memory:", "file:x.db"}) {
    base::Diagnostics diags;
    {
      const auto to = StoreWriter::open(name, kVersion, diags);
    }
    EXPECT_TRUE(Store::open(name, diags)) << name;
    EXPECT_TRUE(fs::exists(folder_ / name));
  }
  fs::current_path(here);
}

TEST_F(StoreTest, WhatIsNotCommittedIsGoneWithTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    StoreWriter to = writer();
    const SmallSweep s(to);
    to.add({s.base, s.request, s.first}, RowTexts(row(10), "{}"));
    to.commit();
    to.add({s.base, s.request, s.second}, RowTexts(row(20), "{}"));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(running_sweep(path()));
  EXPECT_EQ(rows_of(reader()).at(0), (SeenRow{0, "a", 10, ""}));
  EXPECT_EQ(rows_of(reader()).at(1), (SeenRow{0, "b", {}, "-"}));
  EXPECT_TRUE(writer().find({Content{1}, Content{1}, Content{1}}));
}

TEST_F(StoreTest, OneWriterAtATime) {
  int held[2], finish[2];
  ASSERT_EQ(pipe(held) | pipe(finish), 0);
  const pid_t child = fork();
  if (child == 0) {
    const StoreWriter to = writer();
    char c = 'x';
    if (::write(held[1], &c, 1) == 1 && read(finish[0], &c, 1) == 1) _exit(0);
    _exit(1);
  }
  char c = 0;
  ASSERT_EQ(read(held[0], &c, 1), 1);
  EXPECT_EQ(running_sweep(path()), child);
  try {
    writer();
    ADD_FAILURE() << "two writers";
  } catch (const StoreError& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("r.db: another sweep is writing to it (process " + std::to_string(child) + "); wait"));
  }
  EXPECT_THAT(reader().sweeps(), IsEmpty());
  ASSERT_EQ(::write(finish[1], &c, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(running_sweep(path()));
  writer();
}

TEST_F(StoreTest, ARefusalLeavesNoLockThatWasNotThere) {
  SQLite::Database(path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  base::Diagnostics diags;
  EXPECT_FALSE(StoreWriter::open(path(), kVersion, diags));
  EXPECT_FALSE(fs::exists(path() + "-lock"));
  fs::remove(path());
  writer();
  EXPECT_TRUE(fs::exists(path() + "-lock")) << "a store that is written keeps it";
  EXPECT_FALSE(StoreWriter::open(path(), "1.2.4", diags));
  EXPECT_TRUE(fs::exists(path() + "-lock"));
  fs::remove(path() + "-lock");
  EXPECT_FALSE(StoreWriter::open(path(), "1.2.4", diags));
  EXPECT_FALSE(fs::exists(path() + "-lock"));
}

// Processes that make the lock's file, lock it and take it away, as refusals do: no two of them are inside at once.
TEST_F(StoreTest, NoTwoHaveTheLockThoughItsFileComesAndGoes) {
  constexpr int kProcesses = 4, kTimes = 300, kInsideUs = 100;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int got = 0; got < kTimes;) try {
        base::Diagnostics diags;
        const auto lock = StoreLock::take(path(), diags);
        const int inside = open(path("inside").c_str(), O_CREAT | O_EXCL, 0600);
        if (lock == nullptr || inside < 0) _exit(1);
        close(inside);
        usleep(kInsideUs);
        unlink(path("inside").c_str());
        ++got;
      } catch (const StoreError&) {  // another one has it
        usleep(kInsideUs);
      }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(StoreTest, ALockThatIsALinkToNothingIsRefused) {
  fs::create_symlink("nothing", path() + "-lock");
  base::Diagnostics diags;
  EXPECT_FALSE(StoreLock::take(path(), diags));
  EXPECT_THAT(diags.formatted_errors().at(0), HasSubstr("r.db-lock: No such file or directory"));
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  EXPECT_THAT(why_unsupported(), HasSubstr("r.db: no such store; tilescope sweep SPEC.yaml --store"));
  std::ofstream(path()) << "";
  EXPECT_THAT(why_unsupported(), HasSubstr("is empty: no sweep has begun here"));
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_THAT(why_unsupported(), HasSubstr("cannot be read as a store of sweeps: file is not a database"));
  fs::remove(path());
  SQLite::Database(path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  EXPECT_THAT(why_unsupported(), HasSubstr("is a database, but no store of sweeps"));
  base::Diagnostics diags;
  EXPECT_FALSE(StoreWriter::open(path(), kVersion, diags));
  EXPECT_THAT(diags.formatted_errors().at(0), HasSubstr("is a database, but no store of sweeps"));
  EXPECT_FALSE(StoreWriter::open(path("no/folder.db"), kVersion, diags));
  EXPECT_THAT(diags.formatted_errors().at(1), HasSubstr("folder.db: cannot be written"));
}

TEST_F(StoreTest, KeepsPartsOfRowsAsTheyAre) {
  {
    StoreWriter to = writer();
    const SmallSweep s(to);
    StoredRow with = row(10);
    with.prediction = prediction_with_energy(10);
    to.add({s.base, s.request, s.first}, RowTexts(with, "{}"));
    to.add({s.changed, s.request, s.first}, RowTexts(row(9), "{}"));
    to.commit();
  }
  bool seen_with = false, seen_without = false;
  const Store store = reader();
  for (const StoredSweep& sweep : store.sweeps())
    store.each_row(sweep, [&](const StoredPoint&, const StoredWorkload&, const StoredRow* r) {
      if (r == nullptr || !r->prediction) return;
      const base::Map expected = base::to_entries(r->prediction->energy ? prediction_with_energy(10) : prediction(9));
      EXPECT_EQ(base::to_json(base::to_entries(*r->prediction)), base::to_json(expected));
      (r->prediction->energy ? seen_with : seen_without) = true;
    });
  EXPECT_TRUE(seen_with && seen_without);
}

TEST_F(StoreTest, RefusesAnotherVersionButReadsItsRows) {
  writer();
  base::Diagnostics diags;
  EXPECT_FALSE(StoreWriter::open(path(), "1.2.4", diags));
  EXPECT_THAT(diags.formatted_errors().at(0),
              HasSubstr("r.db: was computed by tilescope 1.2.3, and this is 1.2.4: their times may differ"));
  EXPECT_EQ(reader().tool_version(), kVersion);
  SQLite::Database(path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 7");
  EXPECT_THAT(why_unsupported(), HasSubstr("is a store of schema version 7, and this tilescope reads version 13"));
}

TEST_F(StoreTest, IsReadWhereNothingCanBeWritten) {
  {
    StoreWriter to = writer();
    const SmallSweep s(to);
    to.add({s.base, s.request, s.first}, RowTexts(row(10), "{}"));
    to.commit();
  }
  EXPECT_FALSE(fs::exists(path() + "-wal")) << "a store that is closed is one file";
  fs::permissions(folder_, fs::perms(0555));
  const pid_t child = fork();
  if (child == 0) {  // as nobody, for root writes everywhere
    if (getuid() == 0 && setuid(65534) != 0) _exit(3);
    const bool read = rows_of(reader()).at(0) == SeenRow{0, "a", 10, ""};
    base::Diagnostics diags;
    const bool refused = !StoreWriter::open(path(), kVersion, diags) &&
                         diags.formatted_errors().at(0).find("cannot be written") != std::string::npos;
    _exit(read && refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fs::permissions(folder_, fs::perms::owner_all);
}

}  // namespace
}  // namespace tilescope::experiments
