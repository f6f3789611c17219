// SPDX-License-Identifier: Apache-2.0
// Programs that are started and waited for.

#include "backends/cuda/process.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::cuda {
namespace {

using testing::HasSubstr;

TEST(RunProgram, ReturnsStatusAndOutput) {
  const Finished f = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_TRUE(f.started);
  EXPECT_EQ(f.status, 3);
  EXPECT_EQ(f.output, "out\nerr\n");
  EXPECT_FALSE(f.ok());
}

TEST(RunProgram, NamesTheSignal) {
  const Finished f = run_program({"sh", "-c", "kill -SEGV $$"});
  EXPECT_FALSE(f.ok());
  EXPECT_THAT(f.output, HasSubstr("ended by signal 11 (Segmentation fault"));
}

TEST(RunProgram, SaysWhatIsNotThere) {
  const Finished f = run_program({"no-such-program"});
  EXPECT_FALSE(f.started);
  EXPECT_EQ(f.output, "no-such-program: No such file or directory");
}

TEST(RunPrograms, KeepsTheOrder) {
  std::vector<std::vector<std::string>> all;
  for (int i = 0; i < 9; ++i) all.push_back({"sh", "-c", "exit " + std::to_string(i)});
  const auto finished = run_programs(all, 4);
  ASSERT_EQ(finished.size(), all.size());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(finished[static_cast<std::size_t>(i)].status, i);
}

// mkdir fails where another program is between its mkdir and its rmdir.
TEST(RunPrograms, RunsNoMoreAtATimeThanItMay) {
  const TemporaryFolder folder;
  const std::string alone = folder.file("alone");
  const std::vector<std::string> program = {"sh", "-c", "mkdir " + alone + " && sleep 0.05 && rmdir " + alone};
  for (const Finished& f : run_programs({3, program}, 1)) EXPECT_TRUE(f.ok()) << f.output;
  int failed = 0;
  for (const Finished& f : run_programs({3, program}, 3)) failed += f.ok() ? 0 : 1;
  EXPECT_GT(failed, 0) << "side by side where they may";
}

TEST(TemporaryFolder, IsThereForAsLongAsItLives) {
  std::string path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_TRUE(write_file(folder.file("a"), "bytes"));
    EXPECT_EQ(file_bytes(folder.file("a")), "bytes");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(write_file(path + "/a", ""));
}

}  // namespace
}  // namespace tilescope::cuda
