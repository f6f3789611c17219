// SPDX-License-Identifier: Apache-2.0
// What a cache of compiled kernels drops.

#include "backends/cuda/cache.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "backends/cuda/host_run.h"
#include "backends/cuda/process.h"
#include "tests/support/build.h"
#include "tests/unit/backends_cuda/matmul.h"

namespace tilescope::cuda {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  // A file that was last used so long ago; what it holds takes no room on the disk.
  std::string add(const std::string& name, std::uintmax_t bytes, std::chrono::hours unused) {
    EXPECT_TRUE(write_file(folder_.file(name), ""));
    fs::resize_file(folder_.file(name), bytes);
    fs::last_write_time(folder_.file(name), fs::file_time_type::clock::now() - unused);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
  std::string oldest_ = add(std::string(32, 'a') + ".o", 60, std::chrono::hours(50));
  std::string old_ = add(std::string(32, '1'), 60, std::chrono::hours(40));
  std::string recent_ = add(std::string(32, 'b'), 500, std::chrono::hours(2));
};

TEST_F(Cache, DropsTheLeastRecentlyUsedUntilTheRestFits) {
  drop_least_recently_used(folder_.path(), 620);
  EXPECT_TRUE(fs::exists(oldest_)) << "nothing is too much";
  drop_least_recently_used(folder_.path(), 619);
  EXPECT_FALSE(fs::exists(oldest_));
  EXPECT_TRUE(fs::exists(old_));
}

TEST_F(Cache, KeepsWhatWasUsedWithinADay) {
  EXPECT_TRUE(find_kept(oldest_));
  EXPECT_FALSE(find_kept(folder_.file("nowhere")));
  drop_least_recently_used(folder_.path(), 1);
  EXPECT_TRUE(fs::exists(oldest_)) << "it was looked for just now";
  EXPECT_FALSE(fs::exists(old_));
  EXPECT_TRUE(fs::exists(recent_));
}

TEST_F(Cache, LeavesFilesOfOthersAlone) {
  const std::vector<std::string> others = {
      add("runtime.lock", 9000, std::chrono::hours(90)), add(std::string(33, 'a'), 9000, std::chrono::hours(90)),
      add(std::string(31, 'a') + "g", 9000, std::chrono::hours(90)), add("a.o", 9000, std::chrono::hours(90))};
  drop_least_recently_used(folder_.path(), 620);
  EXPECT_TRUE(fs::exists(oldest_)) << "they do not count";
  drop_least_recently_used(folder_.path(), 0);
  for (const std::string& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

TEST_F(Cache, ABuildThatFinishesDropsWhatIsTooMuch) {
  HostCompiler host(tests::chip("v100"), folder_.path());
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  fs::resize_file(recent_, kMaxKeptBytes);
  host.add(tests::matmul({}));
  ASSERT_EQ(host.compile(HostBuild::kCounting, 2), std::nullopt);
  EXPECT_FALSE(fs::exists(oldest_) || fs::exists(old_));
  EXPECT_TRUE(fs::exists(recent_));
}

}  // namespace
}  // namespace tilescope::cuda
