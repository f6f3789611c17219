// SPDX-License-Identifier: Apache-2.0
// What a plan may ask besides values and times (loops, graphs, energy), and what the program does besides measuring.

#include <gmock/gmock.h>

#include "tests/unit/cuda_device/worker.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A graph is recorded once and launched as one, in every repeat and before them.
TEST_F(Worker, RunsLaunchesInLoopsAndGraphs) {
  ASSERT_TRUE(run(task("a", "copy", "time warm 0 2 1\nloop 3 stream\n")).ok());
  std::vector<std::string> all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "launch copy"), 2 + 5 * 3)
      << "values; a trial, then two repeats with one ahead of each";
  ASSERT_TRUE(run(task("b", "copy", "time warm 0 2 1\nloop 3 graph\n")).ok());
  all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "launch copy"), 2) << "values";
  EXPECT_EQ(std::count(all.begin(), all.end(), "record copy"), 3);
  EXPECT_EQ(std::count(all.begin(), all.end(), "cuGraphLaunch 3"), 5);
  ASSERT_THAT(rows(), SizeIs(2));
  // Events are a hundredth of a millisecond apart: a third of it is one run's.
  for (const std::string& row : rows()) EXPECT_THAT(row, testing::ContainsRegex(R"("measured_us":3\.[3-9])"));
}

TEST_F(Worker, ReadsPowerWhileTheDeviceWorksAndWhileItRests) {
  ASSERT_TRUE(run(task("a", "copy", "energy 0.3\n") + "task idle\nenergy 0.3\n", {"FAKE_DRIVER_LAUNCH_MS=1"}).ok());
  ASSERT_THAT(rows(), SizeIs(2));
  // 400 W, of moves of the counter that are seen up to a batch of runs late.
  const auto number = [&](std::size_t row, const std::string& key) {
    return std::stod(rows()[row].substr(rows()[row].find("\"" + key + "\":") + key.size() + 3));
  };
  for (const std::size_t row : {0, 1}) EXPECT_NEAR(number(row, "power_w"), 400, 120);
  EXPECT_NEAR(number(0, "run_mj"), number(0, "power_w") * number(0, "loop_us") / 1e3, 1e-3);
  EXPECT_GT(number(0, "loop_us"), 1000) << "a launch takes a millisecond";
  EXPECT_THAT(rows()[0], HasSubstr(R"("temperature_c":34)"));
  EXPECT_THAT(rows()[1], Not(HasSubstr("run_mj")));
  ASSERT_TRUE(run("task idle\nenergy 0.2\n", {"FAKE_DRIVER_ENERGY=0"}).ok());
  EXPECT_THAT(rows()[2], HasSubstr("the device's energy did not move twice within 0.2 s"));
}

TEST_F(Worker, RunsEveryLaunchOnceForAProfiler) {
  const cuda::Finished done = run(task("a", "copy", "time cold 3 50 1\n") + task("b", "copy_wrong"), {}, {"--once"});
  ASSERT_TRUE(done.ok()) << done.output;
  const std::string fill = "launch tilescope_fill";
  EXPECT_THAT(those_of(calls(), "launch"), ElementsAre(fill, "launch copy", fill, "launch copy_wrong"));
  EXPECT_THAT(rows(), IsEmpty());
  const cuda::Finished failed = run(task("a", "copy") + task("b", "fails"), {}, {"--once"});
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.output, HasSubstr("b: cuCtxSynchronize: an illegal memory access"));
}

TEST_F(Worker, TakesItsLimitFromTheCaller) {
  ASSERT_TRUE(run("limit 100\n" + task("a", "hangs"), {}, {"--limit", "0.5"}).ok());
  EXPECT_THAT(rows()[0], HasSubstr(R"("error":"no answer within 0.5 s")"));
  EXPECT_EQ(run(task("a", "copy"), {}, {"--limit", "0"}).status, 2);
  // A task that is asked to go on for longer may.
  ASSERT_TRUE(run("task idle\nenergy 0.6\n", {}, {"--limit", "0.3"}).ok());
  EXPECT_THAT(rows().back(), HasSubstr("power_w"));
}

TEST_F(Worker, ShowsWhatTheBoardReports) {
  const cuda::Finished done = run(task("a", "copy"));
  EXPECT_THAT(done.output, HasSubstr(R"("power_limit_w":700,"power_w":71.5,"max_core_mhz":1980,"max_memory_mhz":2619,)"
                                     R"("temperature_c":34,"utilization_percent":0,"compute_processes":1,"ecc":"on")"));
}

}  // namespace
}  // namespace tilescope::tests
