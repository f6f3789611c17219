// SPDX-License-Identifier: Apache-2.0
// tilescope simulate --microbench: the contract of its document, figures that follow from a chip's file, and what is
// said of bad input.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Microbench : public Cli {};

// Lanes eight words apart share four banks: eight passes a load, in scratchpad and L1 alike. Lanes nine apart have a
// bank each, but touch nine lines of L1, which looks up four a cycle.
TEST_F(Microbench, StridesCostTheirConflicts) {
  const Json d = json({"simulate", "--arch", "v100", "--microbench", "smem_stride:1,8,9", "l1_stride_f32:1,8,9"});
  EXPECT_THAT(keys_of(d), ElementsAre("chip", "rows"));
  EXPECT_EQ(d.at("chip"), "v100");
  const auto& rows = d.at("rows");
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_THAT(keys_of(rows[0]), ElementsAre("curve", "x", "x_unit", "simulated", "unit"));
  const double expected[] = {1, 8, 1, 1, 8, 3};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(rows[i].at("simulated").get<double>(), expected[i], 0.03) << i;
}

TEST_F(Microbench, ChasesFindTheLatenciesOfTheFile) {
  const Json d = json({"simulate", "--arch", "v100", "--microbench", "latency:32,1024"});
  EXPECT_NEAR(d.at("rows")[0].at("simulated").get<double>(), 28, 0.1);
  EXPECT_NEAR(d.at("rows")[1].at("simulated").get<double>(), 212, 0.5);
}

TEST_F(Microbench, APointThatTheChipCannotRunLosesItsOwnRow) {
  const CliResult r = run({"simulate", "--arch", "v100", "--microbench", "copy_width:3", "smem_stride:1", "--json"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("copy_width at 3 B: a thread's access is a power of two of bytes"));
  EXPECT_THAT(r.out, HasSubstr("smem_stride"));
}

TEST_F(Microbench, RefusesWhatIsNoCurveOrPoint) {
  const CliResult r = run({"simulate", "--arch", "v100", "--microbench", "latencies", "read:many"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("no curve is named 'latencies'; did you mean 'latency'?"));
  EXPECT_THAT(r.err, HasSubstr("read: 'many' is no number of threads"));
  EXPECT_EQ(run({"simulate", "--arch", "v100", "--suite", "examples", "--microbench"}).status, 2);
}

}  // namespace
}  // namespace tilescope::tests
