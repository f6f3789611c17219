// SPDX-License-Identifier: Apache-2.0
// Work on several threads: every number once, and an exception of a worker is the caller's.

#include "api/common/parallel.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace tilescope::api {
namespace {

TEST(ParallelFor, CallsAWorkerOnceWithEveryNumber) {
  for (const int jobs : {0, 1, 2, 5, 64}) {
    std::vector<int> calls(23);
    parallel_for(calls.size(), jobs, [&] { return [&](std::size_t i) { ++calls[i]; }; });
    EXPECT_EQ(calls, std::vector<int>(23, 1)) << jobs << " jobs";
  }
  parallel_for(0, 2, [] { return [](std::size_t) { FAIL() << "there is no work"; }; });
}

TEST(ParallelFor, ThrowsAgainWhatAWorkerThrew) {
  const auto fail = [](std::size_t i) {
    if (i == 3) throw std::runtime_error("three");
  };
  for (const int jobs : {1, 3}) EXPECT_THROW(parallel_for(10, jobs, [&] { return fail; }), std::runtime_error);
}

TEST(ParallelFor, ThrowsAgainWhatTheMakingOfAWorkerThrew) {
  const auto make = []() -> void (*)(std::size_t) { throw std::runtime_error("no worker"); };
  EXPECT_THROW(parallel_for(10, 2, make), std::runtime_error);
}

}  // namespace
}  // namespace tilescope::api
