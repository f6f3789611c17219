// SPDX-License-Identifier: Apache-2.0
// A new file is there whole or not at all.

#include "api/common/new_file.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expected.h"

namespace tilescope::api {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class NewFileTest : public testing::Test {
 protected:
  NewFileTest() { fs::create_directories(folder_); }
  ~NewFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& f : fs::directory_iterator(folder_)) names.push_back(f.path().filename());
    return names;
  }

  fs::path folder_ = testing::TempDir() + "tilescope_new_file_" + std::to_string(getpid());
};

const std::string kLong(3'000'000, 'x');  // more than a buffer

TEST_F(NewFileTest, AppearsWhenItIsFinished) {
  NewFile file(path("f"));
  file.write("begin ");
  file.write(kLong);
  EXPECT_FALSE(fs::exists(path("f")));
  file.finish();
  EXPECT_EQ(tests::text_of_file(path("f")), "begin " + kLong);
  EXPECT_THAT(files(), ElementsAre("f"));
}

TEST_F(NewFileTest, ReplacesWhatStoodThereAndFollowsLinks) {
  std::ofstream(path("f")) << "old";
  fs::create_symlink("f", path("link"));
  {
    NewFile file(path("link"));
    file.write("new");
    EXPECT_EQ(tests::text_of_file(path("f")), "old");
    file.finish();
  }
  EXPECT_EQ(tests::text_of_file(path("f")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(files().size(), 2u);
}

// As a shell's > does.
TEST_F(NewFileTest, AppearsBehindALinkThatLedToNothing) {
  fs::create_directory(path("there"));
  fs::create_symlink("there/f", path("near"));
  fs::create_symlink(path("near"), path("link"));
  NewFile file(path("link"));
  file.write("new");
  file.finish();
  EXPECT_EQ(tests::text_of_file(path("there/f")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("near")));
  EXPECT_THAT(files(), testing::UnorderedElementsAre("there", "near", "link"));
}

TEST_F(NewFileTest, LinksInACircleLeadNowhere) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_EQ(behind_links(path("a")), path("a"));
  EXPECT_THAT([&] { NewFile(path("a")); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("a: cannot be written: Too many levels")));
}

TEST_F(NewFileTest, WhyALinkLeadsNowhereIsSaid) {
  fs::create_symlink(std::string(300, 'x'), path("a"));
  EXPECT_THAT([&] { NewFile(path("a")); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("a: cannot be written: File name too")));
}

TEST_F(NewFileTest, UnfinishedLeavesNothing) {
  {
    NewFile file(path("f"));
    file.write(kLong);
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(NewFileTest, KilledLeavesNothing) {
  const int nameless = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) GTEST_SKIP() << "the file system of " << folder_ << " has no nameless files";
  close(nameless);
  const pid_t child = fork();
  if (child == 0) {
    NewFile file(path("f"));
    file.write(kLong);
    std::raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(NewFileTest, SaysWhyItCannotBeWritten) {
  const auto error = [&](const std::string& name) -> std::string {
    try {
      NewFile file(path(name));
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("nowhere/f"), path("nowhere/f") + ": cannot be written: No such file or directory");
  fs::create_directory(path("folder"));
  EXPECT_EQ(error("folder"), path("folder") + ": cannot be written: Is a directory");
}

// What is no regular file stays what it is.
TEST_F(NewFileTest, WritesToADevice) {
  NewFile file("/dev/null");
  file.write(kLong);
  file.finish();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace tilescope::api
