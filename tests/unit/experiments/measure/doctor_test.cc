// SPDX-License-Identifier: Apache-2.0
// What works here, and a reason for what does not.

#include "experiments/measure/doctor.h"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::experiments {
namespace {

Finding finding(const std::string& part) {
  for (const Finding& f : examine())
    if (f.part == part) return f;
  ADD_FAILURE() << "nothing is said about " << part;
  return {};
}

TEST(Doctor, SaysSomethingAboutEveryPart) {
  for (const Finding& f : examine()) EXPECT_FALSE(f.detail.empty()) << f.part;
  EXPECT_TRUE(finding("devices").present);
  EXPECT_TRUE(finding("suites").present);
  EXPECT_THAT(finding("suites").detail, testing::HasSubstr("roller (119)"));
}

TEST(Doctor, SaysWhereItLookedForWhatIsAbsent) {
  setenv("TILESCOPE_SHARED", "/nowhere/at/all", 1);
  const Finding f = finding("shared data");
  unsetenv("TILESCOPE_SHARED");
  EXPECT_FALSE(f.present);
  EXPECT_EQ(f.detail, "no folder /nowhere/at/all/data; tests that read it are skipped");
}

}  // namespace
}  // namespace tilescope::experiments
