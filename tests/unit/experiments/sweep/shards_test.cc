// SPDX-License-Identifier: Apache-2.0
// Shards of a sweep: what they store is what the whole sweep stores, and merged in any order, any number of times, they
// are the whole one's table; what does not belong together is refused at its file.

#include <SQLiteCpp/SQLiteCpp.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/store/merge.h"
#include "experiments/sweep/sweep.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;

const std::string kShardedWorkloads =
    "workloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=512,k=128', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=1000000, id: add}\n";

// Two bases, neighbours along two axes, refused points, an axis of programs, restrictions.
const std::string kShardedSweep =
    "sweep: Parts\nbase: [v100, a100]\naxes:\n  memory.smem.banks: [16, 32, 64]\n  core.max_threads: [1024, 2000]\n"
    "  program.padding: [best, none]\nprograms: [construct, fixed]\n" +
    kShardedWorkloads;

class ShardsTest : public tests::Stores {
 protected:
  ShardsTest() { write("sweep.yaml", kShardedSweep); }

  std::optional<SweepRun> run(const std::string& store, std::optional<Shard> shard, base::Diagnostics& diags,
                              const std::string& version = "test", const std::string& file = "sweep.yaml") const {
    SweepRequest request{path(file), path(store), version, 2};
    request.shard = shard;
    return sweep(request, [] { return false; }, [](const SweepProgress&) {}, diags);
  }
  SweepRun run(const std::string& store, std::optional<Shard> shard = {}) const { return sweep_into(store, shard); }
  std::string why_unsupported(const std::string& store, std::optional<Shard> shard, const std::string& version = "test",
                              const std::string& file = "sweep.yaml") const {
    base::Diagnostics diags;
    EXPECT_FALSE(run(store, shard, diags, version, file));
    return diags.formatted_errors().at(0);
  }
  // The stores of all shards of n.
  std::vector<std::string> shards(std::size_t n, const std::string& store = "s") const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < n; ++i) {
      out.push_back(fmt::format("{}{}.{}.db", store, n, i));
      run(out.back(), Shard{i, n});
    }
    return out;
  }
  std::vector<std::string> paths(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    for (const std::string& name : names) out.push_back(path(name));
    return out;
  }
  // Writes over the page of a store that its rows begin with.
  void damage_rows(const std::string& name) const {
    SQLite::Database file(path(name), SQLite::OPEN_READONLY);
    const int page = file.execAndGet("SELECT rootpage FROM sqlite_master WHERE name = 'rows'").getInt();
    const int bytes = file.execAndGet("PRAGMA page_size").getInt();
    std::fstream out(path(name), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(std::streamoff{page - 1} * bytes);
    out << std::string(static_cast<std::size_t>(bytes), 'x');
  }
  // Gives the contents in a table other ids, by SQL of `id`, wherever a (table, column) has them.
  void renumber(const std::string& store, const std::string& contents, const std::string& new_id,
                const std::vector<std::pair<std::string, std::string>>& where) const {
    SQLite::Database file(path(store), SQLite::OPEN_READWRITE);
    file.exec(fmt::format("CREATE TEMP TABLE ids AS SELECT id, {} AS new FROM {}", new_id, contents));
    for (const auto& [table, column] : where)  // by way of negative ones, which are nobody's
      file.exec(
          fmt::format("UPDATE {0} SET {1} = -{1}; "
                      "UPDATE {0} SET {1} = (SELECT new FROM ids WHERE ids.id = -{0}.{1})",
                      table, column));
  }
  Merged merged(const std::string& out, const std::vector<std::string>& names) const {
    base::Diagnostics diags;
    auto done = merge(path(out), paths(names), diags);
    tests::require_no_errors(diags);
    return done.value();
  }
  std::string merge_refusal(const std::string& out, const std::vector<std::string>& names) const {
    base::Diagnostics diags;
    EXPECT_FALSE(merge(path(out), paths(names), diags));
    return diags.formatted_errors().at(0);
  }
  // Every row that a store has, with the contents that name it, every byte.
  std::set<std::string> rows(const std::string& name) const {
    SQLite::Database file(path(name), SQLite::OPEN_READONLY);
    SQLite::Statement s(
        file,
        "SELECT c.hash, c.name, c.document, q.hash, q.document, w.hash, w.document, g.hash, "
        "g.document, r.predicted_us, r.low_us, r.high_us, r.simulated_us, r.measured_us, r.bottleneck, "
        "r.occupancy_ratio, r.occupancy_limit, r.registers_per_thread, r.blocks, r.waves, n.document, "
        "hex(r.numbers), r.simulation, r.error FROM rows r JOIN chips c ON c.id = r.chip JOIN requests q ON "
        "q.id = r.request JOIN workloads w ON w.id = r.workload LEFT JOIN programs g ON g.id = "
        "r.program LEFT JOIN names n ON n.id = r.names");
    std::set<std::string> out;
    while (s.executeStep()) {
      std::string row;
      for (int c = 0; c < s.getColumnCount(); ++c) {
        const SQLite::Column v = s.getColumn(c);
        row += v.isFloat() ? fmt::format("{}|", v.getDouble()) : fmt::format("{}|", v.getString());
      }
      out.insert(row);
    }
    return out;
  }
};

TEST_F(ShardsTest, AShardStoresItsPointsAsTheWholeSweepDoes) {
  run("whole.db");
  const std::set<std::string> whole = rows("whole.db");
  std::map<std::size_t, std::string> of_points;
  const Store all = store("whole.db");
  all.each_row(all.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    of_points[p.ordinal] += fmt::format("{} {} {} {} {}\n", w.name, p.chip, p.refused, r == nullptr ? "" : r->program,
                                        r == nullptr || !r->time_us() ? 0 : *r->time_us());
  });
  constexpr std::size_t kShards = 3;
  std::set<std::string> together;
  std::size_t seen = 0;
  for (const std::string& name : shards(kShards)) {
    const std::set<std::string> own = rows(name);
    EXPECT_THAT(own, IsSubsetOf(whole)) << name;
    EXPECT_LT(own.size(), whole.size()) << name << " computed what others are for";
    together.insert(own.begin(), own.end());
    const Store s = store(name);
    std::map<std::size_t, std::string> here;
    s.each_row(s.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
      here[p.ordinal] += fmt::format("{} {} {} {} {}\n", w.name, p.chip, p.refused, r == nullptr ? "" : r->program,
                                     r == nullptr || !r->time_us() ? 0 : *r->time_us());
    });
    const std::size_t index = s.sweeps().front().shards.value().here.at(0);
    for (const auto& [ordinal, text] : here) {
      EXPECT_EQ(ordinal % kShards, index) << name;
      EXPECT_EQ(text, of_points.at(ordinal)) << name << ", point " << ordinal;
    }
    seen += here.size();
  }
  EXPECT_EQ(seen, of_points.size());
  EXPECT_EQ(together, whole);
}

TEST_F(ShardsTest, MergedInAnyOrderTheyAreTheWholeSweep) {
  run("whole.db");
  const std::string csv = table("whole.db"), lines = table("whole.db", TableForm::kJsonLines);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (std::size_t n = 1; n <= 5; ++n) {
    std::vector<std::string> names = shards(n);
    const std::string out = fmt::format("out{}.db", n), piecemeal = fmt::format("piecemeal{}.db", n);
    for (int time = 0; time < 2; ++time) {
      std::shuffle(names.begin(), names.end(), random);
      const Merged m = merged(out, names);
      EXPECT_TRUE(m.complete());
      EXPECT_EQ(m.added == 0, time == 1) << "merging again adds nothing";
      EXPECT_EQ(table(out), csv) << n;
      EXPECT_EQ(table(out, TableForm::kJsonLines), lines) << n;
      for (const std::string& name : names) merged(piecemeal, {name});
      EXPECT_EQ(table(piecemeal), csv) << n;
    }
    EXPECT_EQ(rows(out), rows("whole.db"));
    EXPECT_EQ(run(out).computed, 0U) << "a whole sweep goes on in it";
    EXPECT_TRUE(merged(out, names).complete()) << "and it takes its shards still";
    EXPECT_EQ(table(out), csv);
    EXPECT_FALSE(fs::exists(path(out + "-merging")));
    EXPECT_EQ(SQLite::Database(path(out), SQLite::OPEN_READONLY).execAndGet("PRAGMA integrity_check").getString(),
              "ok");
  }
}

TEST_F(ShardsTest, StoresOfMergedShardsAreMerged) {
  run("whole.db");
  shards(4);
  merged("low.db", {"s4.0.db", "s4.1.db"});
  merged("high.db", {"s4.3.db", "s4.2.db"});
  EXPECT_TRUE(merged("out.db", {"high.db", "low.db"}).complete());
  EXPECT_EQ(table("out.db"), table("whole.db"));
  EXPECT_THAT(merge_refusal("out.db", {"high.db", "s4.2.db"}), HasSubstr("s4.2.db: has shard 2/4, which "));
}

TEST_F(ShardsTest, MissingOnesAreNamedAndTotalsArePartial) {
  run("whole.db");
  shards(4);
  const Merged m = merged("out.db", {"s4.3.db", "s4.1.db"});
  EXPECT_FALSE(m.complete());
  EXPECT_THAT(m.shards.here, ElementsAre(1, 3));
  EXPECT_THAT(m.shards.missing(), ElementsAre(0, 2));
  const Store s = store("out.db"), all = store("whole.db");
  const SweepState part = state_of(s, s.sweeps().front(), 100), whole = state_of(all, all.sweeps().front(), 100);
  EXPECT_FALSE(part.complete());
  EXPECT_LT(part.points, whole.points);
  for (const RankedPoint& p : part.best) {
    const auto same = std::find_if(whole.best.begin(), whole.best.end(),
                                   [&](const RankedPoint& q) { return q.point.ordinal == p.point.ordinal; });
    ASSERT_NE(same, whole.best.end());
    EXPECT_EQ(p.total.weighted_us, same->total.weighted_us);
    EXPECT_EQ(p.total.base_ratio.has_value(), p.point.base == "a100") << "v100 is point 0, which is not here";
    if (p.total.base_ratio) {
      EXPECT_EQ(p.total.base_ratio, same->total.base_ratio);
    }
  }
  EXPECT_EQ(run("out.db").state.complete(), true) << "the whole sweep computes what is missing";
  EXPECT_EQ(table("out.db"), table("whole.db"));
}

TEST_F(ShardsTest, AShardThatWasInterruptedIsNamedAndGoesOn) {
  SweepRequest request{path("sweep.yaml"), path("s.0.db"), "test", 1};
  request.shard = Shard{0, 2};
  base::Diagnostics diags;
  std::size_t rows_done = 0;
  const auto part =
      sweep(request, [&] { return rows_done >= 3; }, [&](const SweepProgress& p) { rows_done = p.done; }, diags);
  tests::require_no_errors(diags);
  ASSERT_TRUE(part && part->stopped && part->planned);
  run("s.1.db", Shard{1, 2});
  const Merged m = merged("out.db", {"s.0.db", "s.1.db"});
  EXPECT_FALSE(m.complete());
  EXPECT_THAT(m.shards.missing(), IsEmpty());
  EXPECT_THAT(m.shards.complete, ElementsAre(1));
  run("s.0.db", Shard{0, 2});
  EXPECT_TRUE(merged("out.db", {"s.0.db"}).complete());
  run("whole.db");
  EXPECT_EQ(table("out.db"), table("whole.db"));
}

TEST_F(ShardsTest, AStoreGoesOnWithItsOwnShardAlone) {
  run("s.0.db", Shard{0, 2});
  EXPECT_EQ(run("s.0.db", Shard{0, 2}).computed, 0U);
  EXPECT_THAT(why_unsupported("s.0.db", Shard{1, 2}),
              HasSubstr("s.0.db: is the store of shard 0/2 of 'Parts'; --shard 0/2 goes on with it; give 1/2 a store"));
  EXPECT_THAT(why_unsupported("s.0.db", Shard{0, 3}), HasSubstr("; give 0/3 a store of its own by --store"));
  EXPECT_THAT(why_unsupported("s.0.db", {}),
              HasSubstr("is the store of shard 0/2 of 'Parts'; --shard 0/2 goes on with it, and "
                        "tilescope merge OUT.db "));
  write("other.yaml", "sweep: Other\n" + kShardedSweep.substr(kShardedSweep.find("base:")));
  EXPECT_THAT(why_unsupported("s.0.db", Shard{0, 2}, "test", "other.yaml"),
              HasSubstr("is the store of shard 0/2 of 'Parts', and this is 'Other'"));
  run("whole.db");
  EXPECT_THAT(why_unsupported("whole.db", Shard{0, 2}), HasSubstr("whole.db: is no store of a shard"));
  EXPECT_THAT(merge_refusal("s.0.db", {"s.0.db"}), HasSubstr("s.0.db: is the store that the shards go into"));
}

TEST_F(ShardsTest, WhatDoesNotBelongTogetherIsRefusedAtItsFile) {
  write("chip.yaml", "extends: v100\nname: own\nmemory: {smem: {banks: 16}}\n");
  const std::string of_file = "sweep: Parts\nbase: chip.yaml\naxes:\n  core.count: [40, 80]\n" + kShardedWorkloads;
  write("sweep.yaml", of_file);
  run("a.db", Shard{0, 3});
  run("b.db", Shard{1, 3});
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "nowhere.db"}), HasSubstr("nowhere.db: no such store"));
  run("whole.db");
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "whole.db"}), HasSubstr("whole.db: has no shard of a sweep"));
  EXPECT_THAT(merge_refusal("whole.db", {"a.db"}), HasSubstr("whole.db: has 'Parts' as a whole, not from shards"));
  fs::copy(path("b.db"), path("again.db"));
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "b.db", "again.db"}),
              HasSubstr("again.db: has shard 1/3, which " + path("b.db") + " has too; give each shard once"));
  run("four.db", Shard{2, 4});
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "four.db"}), HasSubstr("four.db: has a shard of 4, and "));
  base::Diagnostics diags;
  ASSERT_TRUE(run("newer.db", Shard{2, 3}, diags, "newer"));
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "newer.db"}),
              HasSubstr("newer.db: was computed by tilescope newer, and "));
  write("sweep.yaml", of_file + "# a line more\n");
  run("edited.db", Shard{2, 3});
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "edited.db"}), HasSubstr("they differ from line 8 on"));
  write("sweep.yaml", of_file);
  write("chip.yaml", "extends: v100\nname: own\nmemory: {smem: {banks: 64}}\n");
  run("changed.db", Shard{2, 3});
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "changed.db"}),
              HasSubstr("changed.db: has other points or operators than"));
  EXPECT_FALSE(fs::exists(path("o.db"))) << "nothing was merged";
  merged("o.db", {"a.db"});
  EXPECT_THAT(merge_refusal("o.db", {"changed.db"}), HasSubstr("o.db: has other points or operators than"));
  write("title.yaml", "sweep: Other\nbase: v100\naxes: {core.count: [1]}\n" + kShardedWorkloads);
  ASSERT_TRUE(run("title.db", Shard{2, 3}, diags, "test", "title.yaml"));
  EXPECT_THAT(merge_refusal("o.db", {"a.db", "title.db"}), HasSubstr("title.db: has a shard of 'Other', and "));
}

// Else the store could not be merged itself: which of its sweeps was meant?
TEST_F(ShardsTest, AStoreTakesShardsOfOneSweep) {
  const std::string small = "base: v100\naxes: {core.count: [40, 60]}\n" + kShardedWorkloads;
  write("sweep.yaml", "sweep: Parts\n" + small);
  const std::vector<std::string> parts = shards(2);
  merged("o.db", {parts[0]});
  const std::string before = table("o.db");
  write("sweep.yaml", "sweep: Other\n" + small);
  const std::vector<std::string> others = shards(2, "other");
  EXPECT_THAT(merge_refusal("o.db", others), HasSubstr("o.db: has shards of 'Parts', and " + path(others[0]) +
                                                       " has a shard of 'Other'; merge each sweep into a store of"));
  EXPECT_THAT(store("o.db").sweeps(), testing::SizeIs(1));
  EXPECT_EQ(table("o.db"), before);
  // A sweep as a whole is no shard of anything: it may be there, before and after.
  run("o.db");
  EXPECT_TRUE(merged("o.db", {parts[1]}).complete());
  EXPECT_TRUE(merged("again.db", {"o.db"}).complete());
  run("whole.db");
  EXPECT_EQ(merged("whole.db", parts).title, "Parts");
  EXPECT_EQ(merged("again.db", {"whole.db"}).added, 0U);
}

// Shards meet programs, names and operators in orders of their own; with gaps, where something was interrupted.
TEST_F(ShardsTest, ContentsHaveAnyIds) {
  std::string many = "sweep: Parts\nbase: v100\naxes: {core.count: [40, 60, 80]}\n" + kShardedWorkloads;
  for (int i = 1; i < 10; ++i)
    many += fmt::format("  - {{op: 'O[i] = A[i] + B[i]', size: i={}000, id: add{}}}\n", i, i);
  for (const std::string& sweep : {kShardedSweep, many}) {
    write("sweep.yaml", sweep);
    run("whole.db");
    for (const char* id : {"100 - id", "100 - 3 * id", "id + (id % 2) * 100"}) {
      const std::vector<std::string> all = shards(3);
      for (const std::string& shard : {all[1], all[2]}) {
        renumber(shard, "names", id, {{"names", "id"}, {"rows", "names"}});
        renumber(shard, "workloads", id, {{"workloads", "id"}, {"rows", "workload"}, {"sweep_workloads", "workload"}});
      }
      EXPECT_EQ(merged("o.db", all).lacking, 0U) << id;
      EXPECT_EQ(rows("o.db"), rows("whole.db")) << id;
      EXPECT_EQ(table("o.db"), table("whole.db")) << id;
      for (const std::string& store : all) fs::remove(path(store));
      fs::remove(path("o.db"));
    }
    fs::remove(path("whole.db"));
  }
}

// The place where a new store is written is no shard's.
TEST_F(ShardsTest, AShardIsNotWrittenOver) {
  write("sweep.yaml", "sweep: Parts\nbase: v100\naxes: {core.count: [40, 80]}\n" + kShardedWorkloads);
  run("a.db", Shard{0, 2});
  run("o.db-merging", Shard{1, 2});
  EXPECT_THAT(merge_refusal("o.db", {"o.db-merging", "a.db"}), HasSubstr("o.db is written before it is whole"));
  EXPECT_TRUE(fs::exists(path("o.db-merging")));
}

// A shard that says that it is complete and is not.
TEST_F(ShardsTest, RowsThatAreMissingAreCounted) {
  write("sweep.yaml", "sweep: Parts\nbase: v100\naxes: {core.count: [40, 60, 80]}\n" + kShardedWorkloads);
  const std::vector<std::string> all = shards(2);
  EXPECT_EQ(merged("whole.db", all).lacking, 0U);
  SQLite::Database(path(all[1]), SQLite::OPEN_READWRITE)
      .exec("DELETE FROM rows WHERE chip = (SELECT max(chip) FROM rows)");
  const Merged less = merged("less.db", all);
  EXPECT_EQ(less.lacking, rows("whole.db").size() - rows("less.db").size());
  EXPECT_GT(less.lacking, 0U);
  EXPECT_FALSE(less.complete());
}

// SQLite takes a few files at a time, and what it took of a store that was there stays.
TEST_F(ShardsTest, WhatWasMergedBeforeADamagedShardIsSaid) {
  write("sweep.yaml", "sweep: Parts\nbase: v100\naxes: {core.count: [40, 60, 80]}\n" + kShardedWorkloads);
  const std::vector<std::string> all = shards(10);
  damage_rows(all[9]);
  const auto merge_into = [&](const std::string& out) {
    base::Diagnostics diags;
    merge(path(out), paths(all), diags);
  };
  EXPECT_THAT([&] { merge_into("new.db"); },
              testing::Throws<StoreError>(testing::Property(
                  &StoreError::what, testing::AllOf(HasSubstr(all[9] + ": database disk image is malformed"),
                                                    testing::Not(HasSubstr("shards are merged"))))));
  EXPECT_FALSE(fs::exists(path("new.db")));
  merged("out.db", {all[1]});
  fs::remove(path("out.db-lock"));
  EXPECT_THAT([&] { merge_into("out.db"); },
              testing::ThrowsMessage<PartlyMerged>(
                  testing::AllOf(HasSubstr(all[9] + ": database disk image is malformed"),
                                 HasSubstr("; 8 of 10 shards are merged, and the same command goes on from there"))));
  EXPECT_THAT(store("out.db").sweeps().front().shards.value().here, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_TRUE(fs::exists(path("out.db-lock"))) << "the store is written";
}

// As a task leaves it that ends before its sweep is planned.
TEST_F(ShardsTest, AShardThatWasOnlyBegunIsMissing) {
  run("s.0.db", Shard{0, 2});
  write("s.1.db", "");
  base::Diagnostics diags;
  const auto m = merge(path("out.db"), paths({"s.1.db", "s.0.db"}), diags);
  tests::require_no_errors(diags);
  EXPECT_THAT(m.value().shards.missing(), ElementsAre(1));
  EXPECT_THAT(diags.notes().at(0).text, HasSubstr("left out"));
  EXPECT_THAT(merge_refusal("none.db", {"s.1.db"}), HasSubstr("none.db: nothing to merge"));
}

TEST_F(ShardsTest, AShardWithoutPointsIsComplete) {
  write("sweep.yaml", "sweep: One\nbase: v100\naxes: {core.count: [40]}\n" + kShardedWorkloads);
  run("whole.db");
  EXPECT_TRUE(merged("out.db", shards(5)).complete());
  EXPECT_EQ(table("out.db"), table("whole.db"));
}

TEST_F(ShardsTest, ASweepWithoutAChipIsWrongInEveryShard) {
  write("sweep.yaml", "sweep: None\nbase: v100\naxes: {core.max_threads: [2000, 1000, 1001]}\n" + kShardedWorkloads);
  const std::string whole = why_unsupported("r.db", {});
  EXPECT_THAT(whole, HasSubstr("every point is refused"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(why_unsupported("r.db", Shard{i, 3}), whole);
  write("sweep.yaml", "sweep: Some\nbase: v100\naxes: {core.max_threads: [2000, 1000, 1024]}\n" + kShardedWorkloads);
  run("whole.db");
  EXPECT_TRUE(merged("out.db", shards(4)).complete());
  EXPECT_EQ(table("out.db"), table("whole.db"));
}

TEST_F(ShardsTest, TheMergedStoreOfAnEscalatedSweepEscalates) {
  write("sweep.yaml",
        "sweep: MultiFidelityResult\nbase: v100\naxes:\n  memory.smem.banks: [16, 32, 64]\n  core.count: [4, 6, 8]\n"
        "workloads:\n  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n"
        "evaluator: {model: all, sim: {front: true, validation_sample: 2, cost: memory.smem.banks * core.count}}\n");
  run("whole.db");
  const std::vector<std::string> names = shards(3);
  const Store s = store(names[1]);
  EXPECT_TRUE(state_of(s, s.sweeps().front(), 1).complete());
  EXPECT_TRUE(merged("out.db", names).complete());
  EXPECT_FALSE(state_of(store("out.db"), store("out.db").sweeps().front(), 1).complete()) << "nothing is simulated yet";
  run("out.db");
  EXPECT_EQ(table("out.db"), table("whole.db"));
  EXPECT_EQ(merged("out.db", names).added, 0U);
  EXPECT_EQ(table("out.db"), table("whole.db")) << "what was chosen stays chosen";
}

TEST_F(ShardsTest, PlanningStopsWhenItIsAsked) {
  write("sweep.yaml",
        "sweep: Large\nbase: v100\naxes:\n  core.count: {from: 1, to: 1000, step: 1}\n"
        "  memory.l2.capacity: {from: 1 MiB, to: 100 MiB, step: 1 MiB}\n" +
            kShardedWorkloads);
  for (const int asked : {0, 1, 1000, 100'100}) {
    std::atomic<int> left = asked;
    base::Diagnostics diags;
    const auto out = sweep(
        {path("sweep.yaml"), path("r.db"), "test", 2}, [&] { return left-- <= 0; }, [](const SweepProgress&) {}, diags);
    tests::require_no_errors(diags);
    ASSERT_TRUE(out);
    EXPECT_TRUE(out->stopped);
    EXPECT_FALSE(out->planned);
    EXPECT_FALSE(fs::exists(path("r.db")));
  }
}

TEST_F(ShardsTest, StoresOfShardsLieBesideTheWholeOnes) {
  EXPECT_EQ(shard_store("a/sweep.db", 12), "a/sweep.12.db");
  EXPECT_EQ(shard_store("sweep", 0), "sweep.0");
  for (const char* name : {"s.0.db", "s.10.db", "s.2.db", "s.02.db", "s.x.db", "s.1.dbx", "t.1.db", "s.db"})
    write(name, "");
  EXPECT_THAT(shard_stores(path("s.db")),
              ElementsAre(testing::Pair(0, path("s.0.db")), testing::Pair(2, path("s.2.db")),
                          testing::Pair(10, path("s.10.db"))));
  EXPECT_EQ(list_of({0, 1, 2, 5, 7, 8}), "0 to 2, 5, 7, 8");
}

}  // namespace
}  // namespace tilescope::experiments
