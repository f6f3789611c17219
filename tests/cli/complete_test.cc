// SPDX-License-Identifier: Apache-2.0
// What `tilescope complete` offers, against what the commands themselves list.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Complete : public Cli {
 protected:
  // The words that may follow; the last of `words` is begun.
  std::vector<std::string> offered(std::vector<std::string> words) const {
    words.insert(words.begin(), "complete");
    std::istringstream lines(run(words).out);
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }
};

TEST_F(Complete, OffersCommandsAndTheirOptions) {
  EXPECT_THAT(offered({"comp"}), ElementsAre("compile", "compare"));
  EXPECT_THAT(offered({""}), AllOf(Contains("sweep"), Not(Contains("complete"))));
  EXPECT_THAT(offered({"arch", "sh"}), ElementsAre("show"));
  EXPECT_THAT(offered({"compile", "--ar"}), ElementsAre("--arch"));
}

TEST_F(Complete, OffersWhatAnOptionTakes) {
  EXPECT_THAT(offered({"compile", "--arch", "h20"}), ElementsAre("h20", "h200"));
  EXPECT_THAT(offered({"arch", "show", "v100_s"}), Contains("v100_sxm2"));
  EXPECT_THAT(offered({"compile", "--suite", "roller"}), Contains("roller"));
  EXPECT_THAT(offered({"explain", "--network", "bert"}), Contains("bert-base"));
  EXPECT_THAT(offered({"compile", "--fuse", ""}), ElementsAre("none", "inline", "all"));
  EXPECT_THAT(offered({"compile", "--dtype", "bf"}), ElementsAre("bf16"));
}

TEST_F(Complete, OffersPathsOfTheChip) {
  const std::vector<std::string> paths = offered({"compile", "--arch", "v100", "--set", "memory.smem."});
  EXPECT_THAT(paths, Contains("memory.smem.banks="));
  EXPECT_THAT(paths, Each(AllOf(StartsWith("memory.smem."), EndsWith("="))));
  EXPECT_THAT(offered({"compile", "--set", "memory."}), IsEmpty());
  EXPECT_THAT(offered({"compile", "--arch", "/nowhere.yaml", "--set", ""}), IsEmpty());
}

TEST_F(Complete, OffersNothingForATextOfOnesOwn) {
  EXPECT_THAT(offered({"compile", "--op", ""}), IsEmpty());
  EXPECT_THAT(offered({"nothing", "of", "this"}), IsEmpty());
}

}  // namespace
}  // namespace tilescope::tests
