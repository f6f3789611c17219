// SPDX-License-Identifier: Apache-2.0
// Shards of a sweep by the command line: --shard, merge, what status says of stores beside one another, and --slurm
// with an sbatch of the test's own, which runs the tasks at once or refuses them.

#include <csignal>
#include <optional>
#include <random>
#include <sys/resource.h>
#include <thread>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kShardedSweep =
    "sweep: Small\nbase: v100\naxes:\n  memory.smem.banks: [3, 16, 32, 64]\n  core.count: [40, 60]\n"
    "workloads:\n  - {op: 'O[i] = A[i] + B[i]', size: i=1000000, id: add, weight: 2}\n";

// Runs an array's tasks one after another, or the one script; the first one is killed once and queued again.
constexpr const char* kSbatch = R"(#!/bin/bash
echo "$*" >> submitted
for last; do :; done
tasks=$(sed -n 's/.*--array=0-\([0-9]*\)%.*/\1/p' <<< "$*")
log=$(sed -n 's/.*--output=\([^ ]*\).*/\1/p' <<< "$*")
if [ -n "$tasks" ]; then
  for ((i = 0; i <= tasks; ++i)); do
    SLURM_ARRAY_TASK_ID=$i SLURM_JOB_ID=10$i bash "$last" > "${log/\%a/$i}" 2>&1
  done
  echo 'sbatch: warning: this cluster is a test' >&2
  echo '100;test'
else
  bash "$last" > "$log" 2>&1
  echo 101
fi
)";

class Shards : public Cli {
 protected:
  Shards() { write("small.yaml", kShardedSweep); }

  std::string table(const std::string& store) const {
    EXPECT_EQ(run({"export", store, "-o", "t.csv"}).status, 0);
    return text_of_file(path("t.csv"));
  }
  void shard(std::size_t i, std::size_t n) const {
    const std::string store = "s." + std::to_string(i) + ".db";
    const CliResult r =
        run({"sweep", "small.yaml", "--store", store, "--shard", std::to_string(i) + "/" + std::to_string(n)});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("Small (small.yaml, model, shard " + std::to_string(i) + "/" + std::to_string(n)));
  }
  // A program of that name on a PATH that has it first.
  std::string path_with(const std::string& program, const std::string& text) {
    std::filesystem::create_directories(path("bin"));
    write("bin/" + program, text);
    std::filesystem::permissions(path("bin/" + program), std::filesystem::perms::owner_all);
    return path("bin").string() + ":/usr/bin:/bin";
  }
};

TEST_F(Shards, MergedTheyAreTheWholeSweep) {
  ASSERT_EQ(run({"sweep", "small.yaml", "--store", "whole.db"}).status, 0);
  for (const std::size_t i : {0, 2}) shard(i, 3);
  const CliResult part = run({"merge", "s.db", "s.2.db", "s.0.db"});
  EXPECT_EQ(part.status, 1);
  EXPECT_THAT(part.out, StartsWith("s.db: Small, 2 of 3 shards, 6 of 9 points; "));
  EXPECT_EQ(part.err, "shards missing: 1 of 3; totals are partial\n");
  const CliResult said = run({"status", "s.db"});
  EXPECT_THAT(said.out, HasSubstr("Small (small.yaml, model, 2 of 3 shards): 5 points of 1 operators: "));
  EXPECT_THAT(said.out, HasSubstr("Small: 2 of 3 shards done, 2 begun; 6 of 9 points, "));
  EXPECT_THAT(said.out, HasSubstr("not begun: 1\n"));
  EXPECT_THAT(said.err, HasSubstr("shards missing: 1 of 3"));
  shard(1, 3);
  const Json document = json({"merge", "s.db", "s.1.db", "s.2.db"});
  EXPECT_THAT(keys_of(document), ElementsAre("store", "sweep", "shards", "points", "rows", "seconds"));
  EXPECT_EQ(document.at("shards"),
            Json::parse(R"({"count":3,"points":9,"here":[0,1,2],"complete":[0,1,2],"missing":[]})"));
  EXPECT_THAT(keys_of(document.at("rows")), ElementsAre("read", "added"));
  EXPECT_EQ(table("s.db"), table("whole.db"));
}

rlim_t longest_file = 0;

// The write that makes a file longer ends the process, as a signal does; or it fails, where SIGXFSZ is ignored.
void limit_files() {
  const rlimit none{0, 0}, limit{longest_file, longest_file};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Whatever it had written, the store is as before or has all of its shards; and then it goes on.
TEST_F(Shards, AMergeThatIsKilledLosesNothing) {
  ASSERT_EQ(run({"sweep", "small.yaml", "--store", "whole.db"}).status, 0);
  for (const std::size_t i : {0, 1, 2}) shard(i, 3);
  const std::string whole = table("whole.db");
  for (const bool there : {false, true}) {
    std::size_t killed = 0;
    constexpr rlim_t kFirst = 2048, kLast = 64 << 20;
    for (longest_file = kFirst; longest_file < kLast; longest_file += longest_file / 2) {
      for (const char* file : {"s.db", "s.db-wal", "s.db-shm"}) std::filesystem::remove(path(file));
      std::optional<std::string> before;
      if (there) {
        ASSERT_EQ(run({"merge", "s.db", "s.1.db"}).status, 1);
        before = table("s.db");
      }
      const int status = end_of(start({"merge", "s.db", "s.2.db", "s.0.db", "s.1.db"}, "stdout", limit_files)).status;
      if (status == 0) break;
      ASSERT_EQ(status, 128 + SIGXFSZ) << longest_file;
      ++killed;
      if (std::filesystem::exists(path("s.db")))
        EXPECT_THAT(table("s.db"), testing::AnyOf(before.value_or(whole), whole)) << longest_file;
      else
        EXPECT_FALSE(before) << longest_file;
      EXPECT_EQ(run({"merge", "s.db", "s.0.db", "s.1.db", "s.2.db"}).status, 0) << longest_file;
      EXPECT_EQ(table("s.db"), whole) << longest_file;
    }
    EXPECT_GT(killed, 5U) << "moments of a merge" << (there ? " into a store that is there" : "");
    EXPECT_FALSE(std::filesystem::exists(path("s.db-merging")));
  }
}

// Files that may not grow stand for a disk that is full.
TEST_F(Shards, AMergeWithoutRoomNamesItsStoreAndLeavesNothing) {
  for (const std::size_t i : {0, 1, 2}) shard(i, 3);
  std::size_t refused = 0;
  constexpr rlim_t kFirst = 2048, kLast = 64 << 20;
  for (longest_file = kFirst; longest_file < kLast; longest_file += longest_file / 2) {
    const CliResult r = end_of(start({"merge", "s.db", "s.0.db", "s.1.db", "s.2.db"}, "stdout", [] {
      std::signal(SIGXFSZ, SIG_IGN);
      limit_files();
    }));
    if (r.status == 0) break;
    EXPECT_EQ(r.status, 2) << longest_file;
    EXPECT_THAT(r.err, testing::MatchesRegex("s\\.db: [^\n]*disk I/O error\n")) << longest_file;
    for (const char* file : {"s.db", "s.db-merging", "s.db-merging-wal", "s.db-merging-shm"})
      EXPECT_FALSE(std::filesystem::exists(path(file))) << file << ", " << longest_file;
    ++refused;
  }
  EXPECT_GT(refused, 5U);
}

TEST_F(Shards, StatusBearsTheContractsNames) {
  shard(1, 2);
  const Json alone = json({"status", "s.db"});
  EXPECT_THAT(keys_of(alone), ElementsAre("store", "shards")) << "before there is a store of the whole";
  const Json& shards = alone.at("shards");
  EXPECT_THAT(keys_of(shards),
              ElementsAre("sweep", "count", "complete", "points", "rows_done", "stores", "waiting", "queue"));
  EXPECT_EQ(shards.at("points"), Json::parse(R"({"all":9,"done":4})"));
  EXPECT_EQ(shards.at("waiting"), Json::parse("[0]"));
  EXPECT_TRUE(shards.at("queue").is_null());
  const Json& store = shards.at("stores").at(0);
  EXPECT_THAT(keys_of(store), ElementsAre("shard", "store", "points", "rows", "complete", "running_process", "queued"));
  EXPECT_EQ(store.at("complete"), true);
  run({"merge", "s.db", "s.1.db"});
  const CliResult merged = run({"status", "s.db", "--json"});
  const Json both = Json::parse(merged.out);
  EXPECT_THAT(keys_of(both), ElementsAre("store", "tool_version", "running_process", "sweeps", "shards"));
  EXPECT_EQ(both.at("sweeps").at(0).at("shards").at("missing"), Json::parse("[0]"));
}

TEST_F(Shards, WrongInputIsNamed) {
  for (const char* text : {"3/3", "1", "/2", "1/", "-1/2", "1/2/3", "a/b", "0/0"})
    EXPECT_THAT(bad_input({"sweep", "small.yaml", "--store", "r.db", "--shard", text}),
                HasSubstr("--shard: expected I/N, the shard from 0 to N-1 and their number, at most 100000, got '" +
                          std::string(text) + "'"));
  EXPECT_THAT(bad_input({"merge", "s.db"}), HasSubstr("SHARD is required"));
  EXPECT_THAT(bad_input({"merge", "s.db", "no.db"}), HasSubstr("no.db: no such store"));
  EXPECT_THAT(bad_input({"sweep", "small.yaml", "--store", "r.db", "--limit", "3"}),
              HasSubstr("--limit requires --slurm"));
  EXPECT_THAT(bad_input({"sweep", "small.yaml", "--store", "r.db", "--slurm", "--shard", "0/2"}), HasSubstr("--slurm"));
  EXPECT_THAT(bad_input({"sweep", "no.yaml", "--store", "r.db", "--slurm", "--dry-run"}),
              HasSubstr("no.yaml: cannot be"));
}

TEST_F(Shards, ADryRunIsAScriptThatSubmitsNothing) {
  const std::string path_of_test = path_with("sbatch", kSbatch);
  const EnvironmentVariable search("PATH", path_of_test);
  const CliResult r = run({"sweep", "small.yaml", "--slurm", "--dry-run", "--store", "it's s.db", "--limit", "2",
                           "--sbatch", "--partition=long"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(std::filesystem::exists(path("submitted")));
  EXPECT_FALSE(std::filesystem::exists(path("it's s.array.sh")));
  EXPECT_THAT(r.out, HasSubstr(" --array=0-7%2 --requeue "));
  EXPECT_THAT(r.out, HasSubstr(" --partition=long "));
  EXPECT_THAT(r.out, HasSubstr(" --dependency=afterany:\"$array\" "));
  EXPECT_THAT(r.out, HasSubstr("#   bsub -r -J "));
  EXPECT_THAT(r.out, HasSubstr("#   seq 0 7 | parallel -j 2 "));
  // What it prints does what it says, whatever the names.
  write("dry.sh", r.out);
  ASSERT_EQ(std::system(("cd '" + path("").string() + "' && bash dry.sh > dry.log 2>&1").c_str()), 0)
      << text_of_file(path("dry.log"));
  ASSERT_EQ(run({"sweep", "small.yaml", "--store", "whole.db"}).status, 0);
  EXPECT_EQ(table("it's s.db"), table("whole.db")) << text_of_file(path("it's s.merge.log"));
}

TEST_F(Shards, SubmittedTheyAreMerged) {
  const EnvironmentVariable search("PATH", path_with("sbatch", kSbatch));
  const CliResult r = run({"sweep", "small.yaml", "--slurm", "--store", "s.db", "--shards", "4", "--limit", "3"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("Small: 9 points in 4 shards, at most 3 at a time: job 100; then job 101 merges them "
                                "into s.db\n"));
  EXPECT_EQ(text_of_file(path("s.jobs")), "100\n101\n");
  EXPECT_THAT(text_of_file(path("submitted")), HasSubstr("--dependency=afterany:100 s.merge.sh"));
  ASSERT_EQ(run({"sweep", "small.yaml", "--store", "whole.db"}).status, 0);
  EXPECT_EQ(table("s.db"), table("whole.db")) << text_of_file(path("s.merge.log"));
  // Going on needs no --shards; another number is refused before anything is queued.
  const Json again = json({"sweep", "small.yaml", "--slurm", "--store", "s.db", "--dry-run"});
  EXPECT_THAT(keys_of(again),
              ElementsAre("sweep", "store", "shards", "limit", "points", "scripts", "commands", "jobs"));
  EXPECT_EQ(again.at("shards"), 4);
  EXPECT_THAT(bad_input({"sweep", "small.yaml", "--slurm", "--store", "s.db", "--shards", "5"}),
              HasSubstr("s.0.db: is the store of shard 0/4; --shards 4 goes on with it, or give another --store"));
  EXPECT_THAT(bad_input({"sweep", "small.yaml", "--slurm", "--store", "whole.db"}),
              HasSubstr("whole.db: has 'Small' as a whole"));
  write("other.yaml", "sweep: Other\n" + kShardedSweep.substr(kShardedSweep.find("base:")));
  EXPECT_THAT(bad_input({"sweep", "other.yaml", "--slurm", "--store", "s.db"}),
              HasSubstr("s.0.db: is the store of a shard of 'Small', and this is 'Other'; give another --store"));
  run({"merge", "m.db", "s.0.db"});
  EXPECT_THAT(bad_input({"sweep", "other.yaml", "--slurm", "--store", "m.db"}),
              HasSubstr("m.db: has shards of 'Small', and this is 'Other'; give another --store"));
  write("small.yaml", kShardedSweep + "# edited\n");
  EXPECT_THAT(bad_input({"sweep", "small.yaml", "--slurm", "--store", "s.db"}),
              HasSubstr("s.db: has 'Small' of another text of small.yaml"));
}

TEST_F(Shards, WithoutSlurmItSaysSo) {
  const Args submit = {"sweep", "small.yaml", "--slurm", "--store", "s.db"};
  {
    const EnvironmentVariable search("PATH", path("").string());
    const CliResult r = run(submit);
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, StartsWith("tilescope: sbatch is not on the PATH"));
    EXPECT_FALSE(std::filesystem::exists(path("s.array.sh")));
  }
  const EnvironmentVariable search(
      "PATH", path_with("sbatch", "#!/bin/sh\necho 'sbatch: error: invalid partition specified: long' >&2\nexit 1\n"));
  const CliResult r = run(submit);
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err,
              StartsWith("tilescope: sbatch refused the job: sbatch: error: invalid partition specified: long; "));
  path_with("sbatch", "#!/bin/sh\ncase \"$*\" in *--array*) echo 7;; *) echo no dependency here >&2; exit 1;; esac\n");
  EXPECT_THAT(run(submit).err, HasSubstr("the shards are queued as job 7: scancel 7 takes them back"));
}

TEST_F(Shards, StatusAsksTheQueue) {
  shard(0, 2);
  write("s.jobs", "100\n101\n");
  const EnvironmentVariable search("PATH", path_with("squeue", R"(#!/bin/bash
case "$*" in
  *--jobs=100\ *) echo '1|PENDING|Resources';;
  *) echo 'N/A|PENDING|Dependency';;
esac
)"));
  EXPECT_THAT(run({"status", "s.db"}).out,
              HasSubstr("not begun: 1\nSlurm: job 100: 1 PENDING; job 101 merges: PENDING (Dependency)\n"));
  const Json queue = json({"status", "s.db"}).at("shards").at("queue");
  EXPECT_EQ(queue, Json::parse(R"({"array":"100","merge":"101","tasks":[{"shard":1,"state":"PENDING",)"
                               R"("reason":"Resources"},{"shard":null,"state":"PENDING","reason":"Dependency"}],)"
                               R"("error":null})"));
  path_with("squeue", "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n");
  EXPECT_THAT(run({"status", "s.db"}).out, HasSubstr("Slurm: job 100: has ended; job 101 merges: has ended\n"));
  path_with("squeue", "#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2\nexit 1\n");
  EXPECT_THAT(run({"status", "s.db"}).out, HasSubstr("squeue: slurm_load_jobs error: Unable to contact slurm"));
}

// Seconds of planning: a million combinations.
TEST_F(Shards, CtrlCEndsPlanningAtOnce) {
  write("large.yaml",
        "sweep: Large\nbase: v100\naxes:\n  core.count: {from: 1, to: 1000, step: 1}\n"
        "  memory.l2.capacity: {from: 1 MiB, to: 900 MiB, step: 1 MiB}\n" +
            kShardedSweep.substr(kShardedSweep.find("workloads")));
  for (const int wait_ms : {300, 1000}) {
    const pid_t child = start({"sweep", "large.yaml", "--store", "l.db"});
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    const auto asked = std::chrono::steady_clock::now();
    kill(child, SIGINT);
    const CliResult r = end_of(child);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(3));
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(r.err, "ended while the sweep was planned; nothing is computed, and l.db is as it was\n");
    EXPECT_FALSE(std::filesystem::exists(path("l.db")));
  }
}

TEST_F(Shards, KilledAtAnyMomentTheyEndAsIfLeftAlone) {
  ASSERT_EQ(run({"sweep", "small.yaml", "--store", "whole.db"}).status, 0);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = "s." + std::to_string(i) + ".db";
    for (int kills = 0; kills < 8; ++kills) {
      const pid_t child = start({"sweep", "small.yaml", "--store", name, "--shard", std::to_string(i) + "/3"});
      std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(0, 150)(random)));
      kill(child, SIGKILL);
      end_of(child);
      if (std::filesystem::exists(path(name))) run({"merge", "s.db", name});
    }
    EXPECT_THAT(run({"status", "s.db"}).err, Not(HasSubstr("cannot be read")));
    shard(i, 3);
    run({"merge", "s.db", name});
  }
  EXPECT_EQ(table("s.db"), table("whole.db"));
}

}  // namespace
}  // namespace tilescope::tests
