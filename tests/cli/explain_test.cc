// SPDX-License-Identifier: Apache-2.0
// tilescope explain: the contract of its document, its tables, and what it says of wrong input.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Explain = Cli;

Args explain_matmul(const Args& more = {}) {
  return with({"explain", "--arch", "v100", "--op", kMatmul, "--size", "m=512,n=512,k=512"}, more);
}

TEST_F(Explain, DocumentBearsTheContractsNames) {
  const Json document = json_of_noted(explain_matmul());
  EXPECT_THAT(keys_of(document), ElementsAre("operators", "total"));
  const Json& op = document.at("operators").at(0);
  EXPECT_THAT(keys_of(op), ElementsAre("id", "kind", "count", "operations", "predicted_us", "bottleneck", "next",
                                       "terms", "elasticities", "refused"));
  EXPECT_GT(op.at("elasticities").size(), 80U);
  for (const Json& e : op.at("elasticities"))
    EXPECT_THAT(keys_of(e), ElementsAre("path", "value", "changed", "elasticity", "elasticity_fixed",
                                        "energy_elasticity", "predicted_us", "fixed_us", "here_us", "bottleneck"));
  for (const Json& r : op.at("refused")) EXPECT_THAT(keys_of(r), ElementsAre("path", "value", "changed", "why"));
}

TEST_F(Explain, TakesWhatItChangedBackAsSet) {
  const Json op = json_of_noted(explain_matmul()).at("operators").at(0);
  for (const Json& e : op.at("elasticities")) {
    if (e.at("path") != "clock") continue;
    const Json changed =
        json_of_noted(matmul(512, {"--set", "clock=" + e.at("changed").get<std::string>(), "--top", "10"}));
    EXPECT_NEAR(changed.at("operators").at(0).at("programs").at(0).at("predicted_us"), e.at("predicted_us"), 1e-9);
  }
}

TEST_F(Explain, TableOfAnOperator) {
  const CliResult r = run(explain_matmul());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("op on v100: "));
  EXPECT_THAT(r.out, HasSubstr(", bound by "));
  EXPECT_THAT(r.out, HasSubstr("\nalone, of that time: "));
  EXPECT_THAT(r.out, HasSubstr("changes without effect, "));
  EXPECT_THAT(r.out, HasSubstr("more than one partition needs remote_latency"));
}

TEST_F(Explain, TablesOfASuite) {
  const CliResult r = run({"explain", "--arch", "v100", "--suite", "examples"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("operator "));
  EXPECT_THAT(r.out, HasSubstr("the mean over them, weighted with their times\n"));
  EXPECT_THAT(r.out, HasSubstr("mean elasticity"));
}

TEST_F(Explain, RefusesWrongInput) {
  EXPECT_EQ(bad_input({"explain", "--arch", "v100", "--op", "C[m,n] + A[m,k]", "--size", "m=x"}),
            "--op:1:8: expected '=' or a reducer such as '+=!' after 'C[...]', got '+'\n"
            "--size:1:3: expected a whole number as the size of 'm', got 'x'\n");
  EXPECT_EQ(bad_input(explain_matmul({"--set", "memory.smem.bnks=16"})),
            "--set memory.smem.bnks=16: memory.smem has no key 'bnks'; did you mean 'banks'?\n");
  EXPECT_EQ(bad_input(explain_matmul({"--set", "clock"})),
            "--set clock: expected path=value, such as memory.smem.banks=16\n");
  EXPECT_EQ(bad_input({"explain", "--arch", "v100"}),
            "tilescope explain: --op or --suite is required; see tilescope explain --help\n");
}

}  // namespace
}  // namespace tilescope::tests
