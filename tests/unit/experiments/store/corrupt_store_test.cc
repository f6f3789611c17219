// SPDX-License-Identifier: Apache-2.0
// Values that SQLite reads and that are not what was written: each reader names them as a user knows them, and
// what is said to help does.

#include <SQLiteCpp/SQLiteCpp.h>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/store/merge.h"
#include "experiments/sweep/state.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kStoredSweep =
    "sweep: Parts\nbase: v100\naxes: {core.count: [4, 6]}\nworkloads:\n"
    "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=128,n=128,k=64', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n";

class DamageTest : public tests::Stores {
 protected:
  DamageTest() { write("sweep.yaml", kStoredSweep); }

  void execute(const std::string& store, const std::string& sql) const {
    SQLite::Database(path(store), SQLite::OPEN_READWRITE).exec(sql);
  }
  // What a row of the operator mm at that point holds; of a multi-fidelity sweep the simulated one.
  void damage(const std::string& store, std::size_t point, const std::string& column, const std::string& value,
              const std::string& request = "request") const {
    execute(store, fmt::format("UPDATE rows SET {} = {} WHERE chip = (SELECT chip FROM points WHERE ordinal = {}) AND "
                               "request = (SELECT {} FROM points WHERE ordinal = {}) AND workload = (SELECT workload "
                               "FROM sweep_workloads WHERE name = 'mm')",
                               column, value, point, request, point));
  }
  static std::string damaged_by(const std::function<void()>& read) {
    try {
      read();
    } catch (const DamagedError& e) {
      return e.what();
    }
    ADD_FAILURE() << "nothing was said";
    return "";
  }
  // Does what the text says: sqlite3 FILE 'SQL'.
  void follow(const std::string& store, const std::string& text) const {
    const std::size_t first = text.rfind("'DELETE ") + 1;
    execute(store, text.substr(first, text.rfind('\'') - first));
  }
};

struct Damaged {
  std::string name, column, value;
};
void PrintTo(const Damaged& d, std::ostream* out) { *out << d.column << " = " << d.value; }

class DamagedRow : public DamageTest, public testing::WithParamInterface<Damaged> {};

TEST_P(DamagedRow, IsNamedAndComputedAnewOnceItIsDeleted) {
  sweep_into("r.db");
  const std::string whole = table("r.db");
  damage("r.db", 1, GetParam().column, GetParam().value);
  const std::string text = damaged_by([&] { table("r.db"); });
  EXPECT_THAT(text,
              StartsWith(fmt::format("{0}: {1} in the row of point 1 on v100, operator mm, of 'Parts' is no longer "
                                     "what was written; delete the row and sweep again: sqlite3 {0} 'DELETE ",
                                     path("r.db"), GetParam().column)));
  follow("r.db", text);
  EXPECT_EQ(sweep_into("r.db").computed, 1U);
  EXPECT_EQ(table("r.db"), whole);
}

INSTANTIATE_TEST_SUITE_P(
    Columns, DamagedRow,
    testing::Values(Damaged{"CutOff", "numbers", "substr(numbers, 1, length(numbers) - 1)"},
                    Damaged{"OneLess", "numbers", "substr(numbers, 9)"},
                    Damaged{"OneMore", "numbers", "numbers || x'0000000000000000'"},
                    Damaged{"NoNumbers", "numbers", "NULL"}, Damaged{"Empty", "numbers", "x''"},
                    Damaged{"Text", "numbers", "hex(numbers)"},
                    Damaged{"Infinite", "numbers", "CAST(x'000000000000f07f' || substr(numbers, 9) AS BLOB)"},
                    Damaged{"NotANumber", "numbers", "CAST(x'010000000000f87f' || substr(numbers, 9) AS BLOB)"},
                    Damaged{"NoNames", "names", "NULL"}, Damaged{"NamesOfNone", "names", "1000"},
                    Damaged{"TextOfNames", "names", "'l2'"}, Damaged{"Time", "predicted_us", "'fast'"},
                    Damaged{"NoEnd", "predicted_us", "9e999"}, Damaged{"Negative", "predicted_us", "-5"},
                    Damaged{"Band", "low_us", "x'00'"}, Damaged{"Ratio", "occupancy_ratio", "'half'"},
                    Damaged{"Waves", "waves", "'many'"}, Damaged{"Blocks", "blocks", "'few'"},
                    Damaged{"Bottleneck", "bottleneck", "x'00'"}, Damaged{"NoRatio", "occupancy_ratio", "NULL"},
                    Damaged{"NoWaves", "waves", "NULL"}, Damaged{"NoBlocks", "blocks", "NULL"},
                    Damaged{"NoRegisters", "registers_per_thread", "NULL"},
                    Damaged{"NoBottleneck", "bottleneck", "NULL"}, Damaged{"Measured", "measured_us", "'soon'"},
                    Damaged{"Simulation", "simulation", "'{}'"}),
    [](const auto& d) { return d.param.name; });

// Sweeping again would find the same list.
TEST_F(DamageTest, AListOfNamesIsNamedAlsoWhereAnotherOneFits) {
  const std::string named = ": a list of names in the table names is no longer what was written; sweep into another ";
  for (const char* value : {"'{'", "x'00'", "replace(document, 'l2', 'l9')"}) {
    fs::remove(path("r.db"));
    sweep_into("r.db");
    execute("r.db", fmt::format("UPDATE names SET document = {}", value));
    EXPECT_THAT(damaged_by([&] { table("r.db"); }), StartsWith(path("r.db") + named)) << value;
  }
}

TEST_F(DamageTest, TheStoreIsOneWordOfTheCommandThatDeletes) {
  sweep_into("a store.db");
  damage("a store.db", 1, "numbers", "NULL");
  const std::string text = damaged_by([&] { table("a store.db"); });
  EXPECT_THAT(text, HasSubstr(fmt::format("sqlite3 '{}' 'DELETE ", path("a store.db"))));
  follow("a store.db", text);
  EXPECT_EQ(sweep_into("a store.db").computed, 1U);
}

// SQLite would sum it as 0.
TEST_F(DamageTest, ATimeThatIsNoNumberIsNotSummed) {
  sweep_into("r.db");
  damage("r.db", 2, "predicted_us", "'fast'");
  const std::string named = path("r.db") + ": predicted_us in the row of point 2 on v100, operator mm, of 'Parts' ";
  const Store s = store("r.db");
  EXPECT_THAT(damaged_by([&] { s.totals(s.sweeps().front()); }), StartsWith(named));
  const std::string text = damaged_by([&] { sweep_into("r.db"); });
  EXPECT_THAT(text, StartsWith(named));
  EXPECT_THAT(text, testing::Not(HasSubstr("goes on from there"))) << "it would say the same again";
}

TEST_F(DamageTest, TheTotalsOfASweepNameARowOfIt) {
  sweep_into("r.db");
  std::string others = kStoredSweep;
  others.replace(others.find("Parts"), 5, "Others").replace(others.find("[4, 6]"), 6, "[5, 7]");
  write("sweep.yaml", others);
  sweep_into("r.db");
  execute("r.db", "UPDATE rows SET predicted_us = 'fast' WHERE chip IN (SELECT chip FROM points WHERE NOT is_base)");
  const Store s = store("r.db");
  for (const StoredSweep& sweep : s.sweeps())
    EXPECT_THAT(damaged_by([&] { s.totals(sweep); }), HasSubstr(fmt::format(", of '{}' is no longer", sweep.title)));
}

TEST_F(DamageTest, ASimulationOfAnEscalatedSweepIsNamed) {
  write("sweep.yaml", kStoredSweep + "evaluator: {model: all, sim: {front: true, validation_sample: 1}}\n");
  sweep_into("r.db");
  damage("r.db", 0, "simulation", "'{\"cycles\":'", "simulated_request");
  const std::string text = damaged_by([&] { table("r.db"); });
  EXPECT_THAT(text, StartsWith(path("r.db") + ": simulation in the row of point 0 on v100, operator mm, of 'Parts' "));
  follow("r.db", text);
  EXPECT_EQ(sweep_into("r.db").computed, 1U);
  table("r.db");
}

TEST_F(DamageTest, MergeTakesNoShardWithATimeThatIsNoNumber) {
  sweep_into("s.0.db", Shard{0, 2});
  sweep_into("s.1.db", Shard{1, 2});
  const auto merge_both = [&] {
    base::Diagnostics diags;
    merge(path("o.db"), {path("s.0.db"), path("s.1.db")}, diags);
    tests::require_no_errors(diags);
  };
  damage("s.1.db", 1, "predicted_us", "'fast'");
  const std::string text = damaged_by(merge_both);
  EXPECT_THAT(text,
              StartsWith(path("s.1.db") + ": predicted_us in the row of point 1 on v100, operator mm, of 'Parts' "));
  EXPECT_FALSE(fs::exists(path("o.db")));
  follow("s.1.db", text);
  EXPECT_EQ(sweep_into("s.1.db", Shard{1, 2}).computed, 1U);
  // The rest of a row is not looked at by a merge: who reads it names it.
  damage("s.1.db", 1, "numbers", "x'00'");
  merge_both();
  EXPECT_THAT(damaged_by([&] { table("o.db"); }), StartsWith(path("o.db") + ": numbers in the row of point 1 on v100"));
}

// Where some contents of a shard are there already, each row looks up what it is of.
TEST_F(DamageTest, MergeLeavesOutNoRowOfAContentThatIsGone) {
  sweep_into("s.0.db", Shard{0, 2});
  sweep_into("s.1.db", Shard{1, 2});
  execute("s.1.db", "DELETE FROM workloads WHERE id = (SELECT workload FROM sweep_workloads WHERE name = 'mm')");
  base::Diagnostics diags;
  EXPECT_EQ(damaged_by([&] { merge(path("o.db"), {path("s.0.db"), path("s.1.db")}, diags); }),
            path("s.1.db") + ": what a row is of is no longer what was written; sweep into another store");
  const experiments::Store lacking = store("s.1.db");
  EXPECT_EQ(damaged_by([&] { lacking.sweeps(); }),
            path("s.1.db") + ": the document of operator mm is no longer what was written; sweep into another store");
}

struct DamagedShards {
  std::string column, value;
};
void PrintTo(const DamagedShards& d, std::ostream* out) { *out << d.column << " = " << d.value; }

class DamagedPart : public DamageTest, public testing::WithParamInterface<DamagedShards> {
 protected:
  void damage_part(const std::string& store) const {
    execute(store, fmt::format("UPDATE shards SET {} = {}", GetParam().column, GetParam().value));
  }
  std::string named(const std::string& store) const {
    return fmt::format(
        "{}: {} of the sweep 'Parts', in the table shards, is no longer what was written; the same "
        "sweep into this store writes it anew",
        path(store), GetParam().column);
  }
};

TEST_P(DamagedPart, IsNamedAndWrittenAnew) {
  sweep_into("s.0.db", Shard{0, 2});
  sweep_into("s.1.db", Shard{1, 2});
  base::Diagnostics diags;
  const auto merge_into = [&](const std::string& to) { merge(path(to), {path("s.0.db"), path("s.1.db")}, diags); };
  merge_into("o.db");
  for (const char* damaged : {"s.1.db", "o.db"}) damage_part(damaged);
  EXPECT_EQ(damaged_by([&] { store("s.1.db").sweeps(); }), named("s.1.db"));
  EXPECT_EQ(damaged_by([&] { merge_into("new.db"); }), named("s.1.db"));
  sweep_into("s.1.db", Shard{1, 2});
  EXPECT_EQ(store("s.1.db").sweeps().front().shards.value().complete, std::vector<std::size_t>{1});
  EXPECT_EQ(damaged_by([&] { merge_into("o.db"); }), named("o.db"));
  sweep_into("o.db");
  EXPECT_EQ(store("o.db").sweeps().size(), 1U);
  merge_into("new.db");
  tests::require_no_errors(diags);
}

INSTANTIATE_TEST_SUITE_P(Columns, DamagedPart,
                         testing::Values(DamagedShards{"shards", "'many'"}, DamagedShards{"shards", "-1"},
                                         DamagedShards{"points", "'all'"}, DamagedShards{"plan", "x'00'"},
                                         DamagedShards{"own", "'yes'"}, DamagedShards{"complete", "'no'"}),
                         [](const auto& d) { return d.param.column + std::to_string(d.index); });

TEST_F(DamageTest, AnotherSweepDoesNotWriteShardsAnew) {
  sweep_into("s.1.db", Shard{1, 2});
  execute("s.1.db", "UPDATE shards SET shards = 'many'");
  std::string others = kStoredSweep;
  others.replace(others.find("Parts"), 5, "Others");
  write("sweep.yaml", others);
  EXPECT_THAT(damaged_by([&] { sweep_into("s.1.db", Shard{1, 2}); }), StartsWith(path("s.1.db") + ": shards of the "));
}

TEST_F(DamageTest, WhatASweepIsOfIsNamedAndWrittenAnew) {
  sweep_into("r.db");
  const std::string whole = table("r.db");
  execute("r.db", "UPDATE sweeps SET axes = '['");
  EXPECT_EQ(damaged_by([&] { table("r.db"); }), path("r.db") +
                                                    ": axes of the sweep 'Parts' is no longer what was "
                                                    "written; the same sweep into this store writes it anew");
  sweep_into("r.db");
  execute("r.db", "UPDATE points SET at = x'00' WHERE ordinal = 2");
  EXPECT_THAT(damaged_by([&] { table("r.db"); }), StartsWith(path("r.db") + ": at of point 2 of 'Parts' is no longer"));
  sweep_into("r.db");
  EXPECT_EQ(table("r.db"), whole);
  execute("r.db", "UPDATE workloads SET document = 'x'");
  EXPECT_EQ(damaged_by([&] { table("r.db"); }),
            path("r.db") + ": the document of operator mm is no longer what was written; sweep into another store");
}

}  // namespace
}  // namespace tilescope::experiments
