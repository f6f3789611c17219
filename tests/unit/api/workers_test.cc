// SPDX-License-Identifier: Apache-2.0
// Worker processes: order, exceptions, crashes, and the death of their parent.

#include "api/common/workers.h"

#include <array>
#include <csignal>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/silent.h"

namespace tilescope::api {
namespace {

using tests::kSilent;

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

// Kills a process that waits for a worker; the worker holds the writing end of a pipe, which closes when it ends.
TEST(Workers, AWorkerEndsWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto job = [&](std::size_t) -> std::string {
      const bool told = ::write(ends[1], "+", 1) == 1;
      while (told) ::pause();
      return {};
    };
    run_in_workers(1, 1, job, kSilent);
    ::_exit(0);
  }
  ASSERT_GT(parent, 0);
  ::close(ends[1]);
  char started = 0;
  EXPECT_EQ(::read(ends[0], &started, 1), 1);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 10'000), 1) << "the worker runs on";
  ::close(ends[0]);
}

}  // namespace
}  // namespace tilescope::api
