// SPDX-License-Identifier: Apache-2.0
// tilescope sweep, status, export: their contract, and that a sweep which is killed, interrupted or runs out of room
// ends with the very table of one that was left alone.

#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kSmallSweep =
    "sweep: Small\nbase: v100\naxes:\n  memory.smem.banks: [16, 32]\n  core.count: [2000, 8]\n"
    "constraints: [core.count < 2000 || memory.smem.banks > 16]\n"
    "workloads:\n  - {op: 'O[i] = A[i] + B[i]', size: i=1000000, id: add, weight: 2}\n";

// Some seconds of work.
const std::string kLong =
    "sweep: Long\nbase: v100\naxes:\n  core.count: {from: 40, to: 100, step: 10}\n  program.padding: [best, none]\n"
    "programs: [construct, fixed]\n"
    "workloads:\n  - {suite: roller, only: [C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, M0, M1, D0, D1, P0, R0, E0]}\n";

// A second or two of work, most of it simulation.
const std::string kEscalated =
    "sweep: MultiFidelityResult\nbase: v100\naxes:\n  memory.smem.banks: {from: 16, to: 128, times: 2}\n"
    "  core.count: [4, 6, 8, 12, 16]\n"
    "workloads:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=512,n=256,k=128', id: mm, weight: 3}\n"
    "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n"
    "evaluator: {model: all, sim: {front: true, validation_sample: 9, cost: memory.smem.banks * core.count}}\n";

class Sweep : public Cli {
 protected:
  Sweep() {
    write("small.yaml", kSmallSweep);
    write("multi_fidelity.yaml", kEscalated);
    write("long.yaml", kLong);
  }

  static Args sweep(const std::string& file, const std::string& store, const Args& more = {}) {
    return with({"sweep", file, "--store", store}, more);
  }
  std::string table(const std::string& store) const {
    EXPECT_EQ(run({"export", store, "-o", "t.csv"}).status, 0);
    return text_of_file(path("t.csv"));
  }
  // What `status` says of a store's only sweep; nothing before there is one.
  Json state(const std::string& store) const {
    const CliResult r = run({"status", store, "--json"}, "status_out");
    if (r.status != 0) return {};
    const Json all = Json::parse(text_of_file(path("status_out")));
    return all.at("sweeps").empty() ? Json() : all.at("sweeps").at(0);
  }
  std::size_t rows_done(const std::string& store) const {
    const Json s = state(store);
    return s.is_null() ? 0 : s.at("rows").at("done").get<std::size_t>();
  }
  // Waits until a sweep has committed rows.
  void wait_for_rows(const std::string& store) const {
    for (int i = 0; i < 1000 && rows_done(store) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_GT(rows_done(store), 0U);
  }
};

// The second operator reads what the first has left in a cache that holds it, as compile --suite --sequence says.
TEST_F(Sweep, OfASequenceHasTheTimesOfTheSequence) {
  const std::string first = "op: 'Y[i] = X[i] + 1'", second = "op: 'Z[i] = Y[i] * 2'";
  write("sequence.yaml",
        "sweep: Sequence\nbase: a100\naxes:\n  memory.l2.capacity: [10 MiB, 160 MiB]\nworkloads:\n  - {" + first +
            ", size: i=4194304, id: first}\n  - {" + second + ", size: i=4194304, id: second}\nsequence: true\n");
  write("suite.yaml", "operators:\n  - {id: first, " + first + ", sizes: {i: 4194304}}\n  - {id: second, " + second +
                          ", sizes: {i: 4194304}}\n");
  ASSERT_EQ(run(sweep("sequence.yaml", "store")).status, 0);
  ASSERT_EQ(run({"export", "store", "-o", "rows.jsonl"}).status, 0);
  std::map<std::string, double> swept;
  std::istringstream lines(text_of_file(path("rows.jsonl")));
  for (std::string line; std::getline(lines, line);)
    if (const Json row = Json::parse(line); row.at("workload") == "second" && row.at("is_base") == false)
      swept[fmt::format("{} MiB", row.at("memory.l2.capacity_bytes").get<std::int64_t>() >> 20)] =
          row.at("predicted_us").get<double>();
  ASSERT_EQ(swept.size(), 2U);
  for (const auto& [capacity, predicted_us] : swept) {
    const Json compiled = json({"compile", "--arch", "a100", "--set", "memory.l2.capacity=" + capacity, "--suite",
                                "suite.yaml", "--sequence"});
    EXPECT_DOUBLE_EQ(compiled.at("operators").at(1).at("programs").at(0).at("predicted_us").get<double>(), predicted_us)
        << capacity;
  }
  EXPECT_LT(swept.at("160 MiB"), 0.6 * swept.at("10 MiB"));
}

TEST_F(Sweep, DocumentBearsTheContractsNames) {
  const Json document = json_of_noted(sweep("small.yaml", "r.db"));
  EXPECT_THAT(keys_of(document),
              ElementsAre("store", "sweep", "file", "evaluator", "points", "rows", "bases", "best", "refused", "failed",
                          "computed", "stopped", "seconds", "cpu_seconds", "construct_cpu_seconds"));
  EXPECT_EQ(document.at("points"), Json::parse(R"({"all":3,"done":3,"refused":0,"failed":0})"));
  EXPECT_EQ(document.at("computed"), 4);
  EXPECT_EQ(document.at("stopped"), false);
  const Json& best = document.at("best").at(0);
  EXPECT_THAT(keys_of(best), ElementsAre("point", "base", "at", "weighted_us", "base_ratio"));
  EXPECT_EQ(best.at("at"), Json::parse(R"({"memory.smem.banks":"32","core.count":"2000"})"));

  const Json status = json({"status", "r.db"});
  EXPECT_THAT(keys_of(status), ElementsAre("store", "tool_version", "running_process", "sweeps"));
  EXPECT_TRUE(status.at("running_process").is_null());
  EXPECT_EQ(status.at("sweeps").at(0).at("best"), document.at("best"));

  EXPECT_EQ(json({"export", "r.db", "-o", "r.jsonl"}), Json::parse(R"({"sweep":"Small","file":"r.jsonl","rows":4})"));
  std::istringstream lines(text_of_file(path("r.jsonl")));
  std::string line;
  std::getline(lines, line);
  const Json row = Json::parse(line);
  EXPECT_EQ(row.at("is_base"), true);
  EXPECT_EQ(row.at("core.count"), 80);
  EXPECT_EQ(row.at("workload"), "add");
}

TEST_F(Sweep, TablesForPeople) {
  const CliResult r = run(sweep("small.yaml", "r.db"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("Small (small.yaml, model): 3 points of 1 operators: 3 done; 4 rows computed in "));
  EXPECT_THAT(
      r.out,
      HasSubstr(
          "\n# base memory.smem.banks core.count weighted total     of base\n0 v100                32         80 "));
  EXPECT_THAT(run(sweep("small.yaml", "r.db")).out, HasSubstr("; nothing was left to compute\n"));
  EXPECT_THAT(run({"status", "r.db"}).out, HasSubstr("; no sweep is running\n\nSmall (small.yaml, model): 3 points"));
}

TEST_F(Sweep, WrongInputIsNamed) {
  EXPECT_THAT(bad_input({"sweep", "nowhere.yaml", "--store", "r.db"}), HasSubstr("nowhere.yaml: cannot be read"));
  EXPECT_THAT(bad_input({"sweep", "small.yaml"}), HasSubstr("--store"));
  EXPECT_THAT(bad_input({"status", "no.db"}),
              HasSubstr("no.db: no such store; tilescope sweep SPEC.yaml --store no.db"));
  write("text.db", "not a database, and long enough to be looked at as one: " + std::string(4096, '.'));
  EXPECT_THAT(bad_input({"status", "text.db"}), HasSubstr("text.db: cannot be read as a store of sweeps"));
  EXPECT_THAT(bad_input(sweep("small.yaml", "text.db")), HasSubstr("text.db: cannot be written"));
  run(sweep("small.yaml", "r.db"));
  EXPECT_THAT(bad_input({"export", "r.db", "-o", "r.txt"}), HasSubstr("expected a file that ends in .csv or .jsonl"));
  EXPECT_THAT(bad_input({"export", "r.db", "-o", "r.csv", "--sweep", "Smal"}), HasSubstr("did you mean 'Small'?"));
  write("other.yaml",
        "sweep: Other\nbase: v100\naxes: {core.count: [1]}\n" + kSmallSweep.substr(kSmallSweep.find("workloads")));
  run(sweep("other.yaml", "r.db"));
  EXPECT_THAT(bad_input({"export", "r.db", "-o", "r.csv"}), HasSubstr("choose one by --sweep: 'Small', 'Other'"));
  EXPECT_EQ(run({"export", "r.db", "-o", "r.csv", "--sweep", "Other"}).status, 0);
}

TEST_F(Sweep, SchemaIsTheOneOfTheTree) {
  EXPECT_EQ(run({"sweep", "--schema"}).out, text_of_file(source_path("experiments/sweep/schema.json")));
  const EnvironmentVariable home("TILESCOPE_HOME", path("nowhere").string());
  EXPECT_THAT(bad_input({"sweep", "--schema"}), HasSubstr("nowhere/experiments/sweep/schema.json: cannot be read"));
}

TEST_F(Sweep, AFailedOperatorIsAFailureThatIsKept) {
  write("block.yaml",
        "sweep: Block\nbase: v100\naxes: {program.block: [3x5]}\n" + kSmallSweep.substr(kSmallSweep.find("workloads")));
  const CliResult r = run(sweep("block.yaml", "r.db"));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("1 rows failed: add: "));
  EXPECT_THAT(run(sweep("block.yaml", "r.db")).out, HasSubstr("nothing was left to compute"));
}

TEST_F(Sweep, KilledAtAnyMomentItEndsAsIfLeftAlone) {
  ASSERT_EQ(run(sweep("long.yaml", "alone.db")).status, 0);
  const std::string alone = table("alone.db");
  const std::size_t all = state("alone.db").at("rows").at("all");

  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::size_t kills = 0, before = 0, stores = 0;
  while (kills < 20) {
    const std::string store = "killed" + std::to_string(stores) + ".db";
    const pid_t child = start(sweep("long.yaml", store));
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(0, 1200)(random)));
    kill(child, SIGKILL);
    const CliResult r = end_of(child);
    if (r.status == 128 + SIGKILL) ++kills;
    const std::size_t done = rows_done(store);
    EXPECT_GE(done, before) << "a row that was there is lost";
    before = done;
    if (done < all) continue;
    EXPECT_EQ(table(store), alone);
    ++stores;
    before = 0;
  }
  const std::string store = "killed" + std::to_string(stores) + ".db";
  EXPECT_EQ(run(sweep("long.yaml", store)).status, 0);
  EXPECT_EQ(table(store), alone);
}

TEST_F(Sweep, AnEscalatedOneThatIsKilledEndsAsIfLeftAlone) {
  ASSERT_EQ(run(sweep("multi_fidelity.yaml", "alone.db")).status, 0);
  const auto said = [&](const std::string& store) { return table(store) + state(store).dump(); };
  const std::string alone = said("alone.db");
  const auto kill_now = [&](pid_t child) {
    kill(child, SIGKILL);
    return end_of(child).status == 128 + SIGKILL;
  };
  const auto finish = [&](const std::string& store) {
    const CliResult last = run(sweep("multi_fidelity.yaml", store));
    EXPECT_EQ(last.status, 0) << last.err;
    EXPECT_EQ(said(store), alone);
  };

  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (std::size_t kills = 0; kills < 100; ++kills) {
    const pid_t child = start(sweep("multi_fidelity.yaml", "r.db", {"--jobs", "2"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(50, 500)(random)));
    if (!kill_now(child)) break;
  }
  finish("r.db");

  // One that has simulated a few of its chips, whatever the machine's speed.
  bool in_simulations = false;
  for (std::size_t stores = 0; stores < 10 && !in_simulations; ++stores) {
    const std::string store = "simulating" + std::to_string(stores) + ".db";
    const pid_t child = start(sweep("multi_fidelity.yaml", store, {"--jobs", "1"}));
    const auto simulated = [&] {
      const Json now = state(store);
      return now.is_null() ? 0 : now.at("multi_fidelity").at("simulated").size();
    };
    while (is_running(child) && simulated() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    in_simulations = kill_now(child);
    finish(store);
  }
  EXPECT_TRUE(in_simulations) << "no kill came between simulations";
}

TEST_F(Sweep, AnEscalatedOneSaysWhatItFound) {
  const Json document = json_of_noted(sweep("multi_fidelity.yaml", "r.db"));
  const Json& e = document.at("multi_fidelity");
  EXPECT_THAT(keys_of(e), ElementsAre("mode", "front", "validation_sample", "neighbours", "seed", "cost", "chosen",
                                      "ratio", "simulated", "differences", "not_simulated", "no_claims"));
  EXPECT_EQ(document.at("evaluator"), "multi-fidelity");
  EXPECT_EQ(e.at("ratio").at("n"), 9);
  EXPECT_EQ(json({"status", "r.db"}).at("sweeps").at(0).at("multi_fidelity"), e);
  const CliResult r = run(sweep("multi_fidelity.yaml", "r.db"));
  EXPECT_THAT(r.out, HasSubstr("simulated too (sampled, seed 1): "));
  EXPECT_THAT(r.out, HasSubstr("simulated over predicted time of the validation sample: "));
  EXPECT_THAT(r.out, HasSubstr(", n 9 of "));
  EXPECT_THAT(table("r.db"), HasSubstr(",chosen,error,"));
  const Json report = json({"report", "r.db", "--json"});
  EXPECT_EQ(report.at("multi_fidelity").at("ratio"), e.at("ratio"));
}

TEST_F(Sweep, InterruptedItSaysHowToGoOn) {
  ASSERT_EQ(run(sweep("long.yaml", "alone.db")).status, 0);
  const pid_t child = start(sweep("long.yaml", "r.db", {"--jobs", "1"}));
  // A commit beyond the points' is in the log; another run would have its own standard error in place of this one's.
  const std::filesystem::path log = path("r.db-wal");
  for (int i = 0; i < 1000 && (!std::filesystem::exists(log) || std::filesystem::file_size(log) < 200'000); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGINT);
  const CliResult r = end_of(child);
  if (r.status == 0) GTEST_SKIP() << "it was done before it could be interrupted";
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("Long (long.yaml, model): 28 points of 17 operators: "));
  EXPECT_THAT(r.err, HasSubstr(" rows; tilescope sweep long.yaml --store r.db goes on from there\n"));
  const Json document = json_of_noted(sweep("long.yaml", "r.db"));
  EXPECT_EQ(document.at("stopped"), false);
  EXPECT_LT(document.at("computed"), document.at("rows").at("all")) << "nothing was kept";
  EXPECT_EQ(table("r.db"), table("alone.db"));
}

// Three attentions one behind the other: programs for all of their stages take many seconds.
TEST_F(Sweep, ARowThatTakesLongIsNamedAndHoldsUpNoEnd) {
  std::string stages;
  for (const char* i : {"0", "1", "2"}) {
    const std::string n = i, query = n == "0" ? "Q" : n == "1" ? "O0" : "O1";
    stages += "S" + n + "[b,h,i,j] +=! " + query + "[b,h,i,d] * K" + n + "[b,h,j,d]; M" + n + "[b,h,i] max=! S" + n +
              "[b,h,i,j]; E" + n + "[b,h,i,j] = exp(S" + n + "[b,h,i,j] - M" + n + "[b,h,i]); D" + n + "[b,h,i] +=! E" +
              n + "[b,h,i,j]; P" + n + "[b,h,i,j] = E" + n + "[b,h,i,j] / D" + n + "[b,h,i]; O" + n +
              "[b,h,i,d] +=! P" + n + "[b,h,i,j] * V" + n + "[b,h,j,d]; ";
  }
  stages.resize(stages.size() - 2);
  write("slow.yaml",
        "sweep: Slow\nbase: h100_sxm\naxes:\n  core.count: [60, 80]\nworkloads:\n"
        "  - {op: 'O[i] = A[i] + B[i]', size: i=20000, id: add}\n"
        "  - {op: '" +
            stages + "', size: 'b=4,h=16,i=512,j=512,d=64', dtype: f16, id: attentions}\n");
  const pid_t child = start(sweep("slow.yaml", "r.db", {"--jobs", "2"}));
  const auto said = [&] { return text_of_file(path("stderr")); };
  for (int i = 0; i < 600 && said().find(" takes ") == std::string::npos && is_running(child); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(said(), testing::ContainsRegex("[0-9] of 6 rows.*attentions at core.count [0-9]+ takes"));
  const auto began = std::chrono::steady_clock::now();
  kill(child, SIGTERM);
  const CliResult r = end_of(child);
  // A promise of 2 s, on a machine that does other work too.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 4);
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err,
              testing::ContainsRegex("ended at [1-5] of 6 rows; tilescope sweep slow.yaml --store r.db goes on"));
  const Json state = Json::parse(run({"status", "r.db", "--json"}).out);
  EXPECT_GE(state.at("sweeps").at(0).at("rows").at("done"), 1) << "what was finished is kept";
  EXPECT_TRUE(state.at("running_process").is_null());
}

TEST_F(Sweep, AStoreHasOneSweepAtATime) {
  const pid_t child = start(sweep("long.yaml", "r.db", {"--jobs", "1"}), "sweep_out");
  wait_for_rows("r.db");
  EXPECT_EQ(Json::parse(run({"status", "r.db", "--json"}).out).at("running_process"), child);
  const CliResult second = run(sweep("small.yaml", "r.db"));
  kill(child, SIGKILL);
  end_of(child, "sweep_out");
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("r.db: another sweep is writing to it (process " + std::to_string(child) + ")"));
  EXPECT_EQ(run(sweep("small.yaml", "r.db")).status, 0);
}

TEST_F(Sweep, OutOfRoomItKeepsWhatItHas) {
  ASSERT_EQ(run(sweep("long.yaml", "alone.db")).status, 0);
  const pid_t child = start(sweep("long.yaml", "r.db"), "sweep_out", [] {
    const rlimit room{400'000, 400'000};  // of any file
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &room);
  });
  const CliResult r = end_of(child, "sweep_out");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("r.db: "));
  EXPECT_THAT(r.err, HasSubstr("; what was committed before is kept, and the same command goes on from there"));
  EXPECT_EQ(run(sweep("long.yaml", "r.db")).status, 0);
  EXPECT_EQ(table("r.db"), table("alone.db"));
}

}  // namespace
}  // namespace tilescope::tests
