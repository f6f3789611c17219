// Worker processes: order, exceptions, crashes.

#include "experiments/workers.h"

#include <csignal>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tilescope::experiments {
namespace {

const Progress kSilent = [](std::size_t, std::size_t) {};

TEST(Workers, AnswersComeInOrderWhateverTheirNumber) {
  const auto job = [](std::size_t i) {
    if (i % 3 == 0) ::usleep(2000);                             // the first one started is not the first one done
    return std::string(i * 20000, 'a' + static_cast<char>(i));  // more than a pipe holds
  };
  for (const int jobs : {1, 2, 5}) {
    const auto results = run_in_workers(9, jobs, job, kSilent);
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(results[i].text, job(i));
      EXPECT_EQ(results[i].error, "");
      EXPECT_GT(results[i].peak_bytes, 0U);
    }
  }
}

TEST(Workers, AJobThatFailsLosesItsOwnRowAlone) {
  const auto job = [](std::size_t i) -> std::string {
    if (i == 1) throw std::runtime_error("why");
    if (i == 2) std::raise(SIGKILL);
    if (i == 3) ::_exit(7);
    return "done";
  };
  std::size_t told = 0;
  const auto results = run_in_workers(5, 2, job, [&](std::size_t done, std::size_t) { told = done; });
  EXPECT_EQ(results[0].text, "done");
  EXPECT_EQ(results[1].error, "why");
  EXPECT_NE(results[2].error.find("signal 9"), std::string::npos) << results[2].error;
  EXPECT_NE(results[3].error.find("status 7"), std::string::npos) << results[3].error;
  EXPECT_EQ(results[4].text, "done");
  EXPECT_EQ(told, 5U);
}

}  // namespace
}  // namespace tilescope::experiments
