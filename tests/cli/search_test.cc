// SPDX-License-Identifier: Apache-2.0
// tilescope search, and compile with searches that try programs: documents, tables, the plot, and wrong options.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Search = Cli;

Args row_sum(Args more) {
  Args args = {"search", "--arch", "v100", "--op", "O[i] +=! I[i,j]", "--size", "i=64,j=64"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// Trials, which anneal too, where the build can.
class Trial : public Cli {
 protected:
  void SetUp() override {
    const CliResult r = run(row_sum({"--budget", "1", "--exhaustive-limit", "0"}));
    if (r.err.find("no gradient-boosted trees") == std::string::npos) return;
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("install libxgboost-dev"));
    GTEST_SKIP() << r.err;
  }
};

TEST_F(Trial, DocumentBearsTheContractsNames) {
  const Json document = json(row_sum({"--budget", "4", "--exhaustive-limit", "0"}));
  EXPECT_THAT(keys_of(document),
              ElementsAre("operators", "by_exhaustive", "by_best_known", "over_osdi22_ratio", "over_osdi22_operators"));
  ASSERT_EQ(document.at("operators").size(), 1U);
  const Json& op = document.at("operators").at(0);
  EXPECT_THAT(keys_of(op), ElementsAre("id", "kind", "roller_us", "roller-osdi22_us", "random_us", "genetic_us",
                                       "anneal_us", "aligned_programs"));
  for (const char* search : {"random_us", "genetic_us", "anneal_us"}) EXPECT_EQ(op.at(search).size(), 4U);
  const Json& quality = document.at("by_best_known").at(0);
  EXPECT_THAT(keys_of(quality), ElementsAre("search", "programs", "operators", "mean_ratio", "within_3_percent_ratio",
                                            "within_15_percent_ratio", "worst_ratio", "worst"));
  EXPECT_EQ(quality.at("search"), "roller");
  EXPECT_GE(quality.at("mean_ratio"), 1);
}

TEST_F(Trial, DrawsAndPrints) {
  const std::string plot = testing::TempDir() + "search.svg";
  const CliResult r = run(row_sum({"--budget", "3", "--exhaustive-limit", "0", "--plot", plot}));
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr("best simulated time over the best known"), HasSubstr("roller-osdi22")));
  std::ifstream file(plot);
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("genetic"), HasSubstr("<circle"), HasSubstr("</svg>")));
}

TEST_F(Trial, TriesOneStageOnly) {
  const CliResult r = run({"search", "--arch", "v100", "--op", "T[i] = I[i] + 1; O[i] = relu(T[i])", "--size", "i=64"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("op: has several stages; a search tries programs of one"));
}

TEST_F(Search, WrongOptions) {
  EXPECT_THAT(bad_input({"search", "--arch", "v100"}), HasSubstr("--op or --suite"));
  EXPECT_THAT(bad_input(row_sum({"--budget", "0"})), HasSubstr("--budget"));
  EXPECT_THAT(bad_input(matmul(64, {"--search", "anneel"})), HasSubstr("did you mean 'anneal'?"));
}

TEST_F(Search, CompileTakesABudgetAndASeed) {
  const Args args = {"--search", "random", "--budget", "40", "--top", "1"};
  const auto best = [&](const std::string& seed) {
    Args all = args;
    all.insert(all.end(), {"--seed", seed});
    return json(matmul(64, all)).at("operators").at(0).at("programs").at(0).at("program").dump();
  };
  EXPECT_EQ(best("1"), best("1"));
  EXPECT_NE(best("1"), best("2"));
}

TEST_F(Search, CompileRefusesAnExhaustiveSearchOfMany) {
  const CliResult r = run(matmul(64, {"--search", "exhaustive", "--budget", "10"}));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("op: an exhaustive search has "));
  EXPECT_THAT(r.err, HasSubstr("aligned programs to try, and --budget allows 10"));
}

}  // namespace
}  // namespace tilescope::tests
