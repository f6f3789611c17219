// SPDX-License-Identifier: Apache-2.0
// What stores may lie at and what becomes of them where a command refuses: pipes and devices, links, damaged rows.

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kStoredSweep =
    "sweep: Small\nbase: v100\naxes:\n  core.count: [40, 60]\n"
    "workloads:\n  - {op: 'O[i] = A[i] + B[i]', size: i=1000000, id: add}\n";

class StoreFiles : public Cli {
 protected:
  StoreFiles() { write("small.yaml", kStoredSweep); }

  CliResult sweep(const std::string& store, const Args& more = {}) const {
    return run(with({"sweep", "small.yaml", "--store", store}, more));
  }
  // Stores of both shards: s.0.db, s.1.db.
  void sweep_shards() const {
    for (const std::string i : {"0", "1"}) ASSERT_EQ(sweep("s." + i + ".db", {"--shard", i + "/2"}).status, 0);
  }
};

struct NoFile {
  std::string name;
  void (*make)(const fs::path& at);
};

void PrintTo(const NoFile& n, std::ostream* out) { *out << n.name; }

class StoreThatIsNoFile : public StoreFiles, public testing::WithParamInterface<NoFile> {};

// Who opens a pipe to read it waits for who writes to it.
void end_soon() {
  constexpr unsigned kSeconds = 30;
  alarm(kSeconds);
}

TEST_P(StoreThatIsNoFile, IsRefusedAtOnce) {
  sweep_shards();
  GetParam().make(path("no.db"));
  const Args commands[] = {{"merge", "o.db", "s.0.db", "no.db"},
                           {"merge", "no.db", "s.0.db", "s.1.db"},
                           {"sweep", "small.yaml", "--store", "no.db"},
                           {"sweep", "small.yaml", "--store", "no.db", "--shard", "0/2"},
                           {"sweep", "small.yaml", "--store", "no.db", "--slurm", "--dry-run"},
                           {"export", "no.db", "-o", "t.csv"},
                           {"status", "no.db"}};
  for (const Args& command : commands) {
    const CliResult r = end_of(start(command, "stdout", end_soon));
    EXPECT_EQ(r.status, 2) << testing::PrintToString(command);
    EXPECT_EQ(r.err, "no.db: is a " + GetParam().name + ", and a store is a file; give the store another name\n")
        << testing::PrintToString(command);
  }
  for (const char* file : {"o.db", "o.db-lock", "no.db-lock", "no.db-merging"}) EXPECT_FALSE(fs::exists(path(file)));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, StoreThatIsNoFile,
    testing::Values(NoFile{"folder", [](const fs::path& at) { fs::create_directory(at); }},
                    NoFile{"pipe", [](const fs::path& at) { ASSERT_EQ(mkfifo(at.c_str(), 0600), 0); }},
                    NoFile{"socket", [](const fs::path& at) { ASSERT_EQ(mknod(at.c_str(), S_IFSOCK | 0600, 0), 0); }},
                    NoFile{"device", [](const fs::path& at) { fs::create_symlink("/dev/null", at); }}),
    [](const auto& kind) { return kind.param.name; });

TEST_F(StoreFiles, LinksInACircleAreRefused) {
  sweep_shards();
  fs::create_symlink("circle.db", path("circle.db"));
  const Args commands[] = {{"merge", "circle.db", "s.0.db"},
                           {"merge", "o.db", "circle.db"},
                           {"merge", "o.db", "s.0.db", "circle.db"},
                           {"sweep", "small.yaml", "--store", "circle.db"},
                           {"sweep", "small.yaml", "--store", "circle.db", "--shard", "0/2"},
                           {"export", "circle.db", "-o", "t.csv"},
                           {"status", "circle.db"}};
  for (const Args& command : commands)
    EXPECT_EQ(bad_input(command),
              "circle.db: cannot be reached: Too many levels of symbolic links; give the store another name\n")
        << testing::PrintToString(command);
  for (const char* file : {"o.db", "o.db-lock", "o.db-merging"}) EXPECT_FALSE(fs::exists(path(file)));
}

TEST_F(StoreFiles, ALinkThatLeadsToNothingIsFollowed) {
  sweep_shards();
  fs::create_directory(path("there"));
  fs::create_symlink("there/o.db", path("o.db"));
  ASSERT_EQ(run({"merge", "o.db", "s.0.db", "s.1.db"}).status, 0);
  EXPECT_TRUE(fs::is_symlink(path("o.db")));
  EXPECT_TRUE(fs::is_regular_file(path("there/o.db")));
  // One lock of one file, by whatever name.
  EXPECT_TRUE(fs::exists(path("there/o.db-lock")));
  for (const char* file : {"o.db-lock", "o.db-merging", "there/o.db-merging"}) EXPECT_FALSE(fs::exists(path(file)));
  fs::create_symlink("there/w.db", path("w.db"));
  ASSERT_EQ(sweep("w.db").status, 0);
  EXPECT_TRUE(fs::is_symlink(path("w.db")));
  EXPECT_TRUE(fs::exists(path("there/w.db-lock")));
  EXPECT_FALSE(fs::exists(path("w.db-lock")));
}

TEST_F(StoreFiles, AMergeThatDidNothingSaysSoByItsStatus) {
  sweep_shards();
  ASSERT_EQ(run({"merge", "o.db", "s.0.db"}).status, 1);
  const int lock = open(path("o.db-lock").c_str(), O_RDWR);
  struct flock all{};
  all.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(lock, F_SETLK, &all), 0);
  EXPECT_THAT(bad_input({"merge", "o.db", "s.1.db"}),
              StartsWith("o.db: another sweep is writing to it (process " + std::to_string(getpid()) + "); wait"));
  close(lock);
  EXPECT_EQ(run({"merge", "o.db", "s.1.db"}).status, 0);
}

TEST_F(StoreFiles, AMergeThatTookSomeShardsSaysSoByItsStatus) {
  Args merge = {"merge", "o.db"};
  for (int i = 0; i < 10; ++i) {
    merge.push_back("s." + std::to_string(i) + ".db");
    ASSERT_EQ(sweep(merge.back(), {"--shard", std::to_string(i) + "/10"}).status, 0);
  }
  ASSERT_EQ(run({"merge", "o.db", "s.0.db"}).status, 1);
  // A table that lacks a column, which only a merge of its rows finds.
  std::string last = text_of_file(path("s.9.db"));
  last.replace(last.find("simulated_us REAL"), 12, "simulated_ms");
  write("s.9.db", last);
  const CliResult r = run(merge);
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, StartsWith("o.db: no such column: "));
  EXPECT_THAT(r.err, HasSubstr("; 8 of 10 shards are merged, and the same command goes on from there\n"));
  fs::remove(path("o.db"));
  EXPECT_THAT(bad_input(merge), StartsWith("o.db: no such column: "));
}

}  // namespace
}  // namespace tilescope::tests
