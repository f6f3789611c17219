// SPDX-License-Identifier: Apache-2.0
// tilescope trace: the contract of its document, and what is said of bad input.

#include <sstream>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Trace : public Cli {
 protected:
  // 1000 reads of 32 B, one after the other.
  std::string sequential() {
    std::ostringstream text;
    text << "# a comment\n\n" << std::hex;
    for (int i = 0; i < 1000; ++i) text << i * 32 << " R 32\n";
    return write("t", text.str());
  }
  static std::string chip() { return source_path("arch/devices/memory/xsim_hbm2pc.yaml").string(); }
};

TEST_F(Trace, PrintsADocumentAsTheContractSays) {
  const Json d = json({"trace", "--arch", chip(), sequential()});
  EXPECT_THAT(keys_of(d), ElementsAre("requests", "bursts", "cycles", "time_us", "useful_bytes", "bus_bytes",
                                      "bus_gbps", "peak_ratio", "row_hit_ratio", "mean_latency_ns", "p95_latency_ns"));
  EXPECT_EQ(d.at("requests"), 1000);
  EXPECT_EQ(d.at("bursts"), 1000);
  EXPECT_EQ(d.at("bus_bytes"), 32000);
  EXPECT_NEAR(d.at("time_us").get<double>(), d.at("cycles").get<double>() / 1000, 1e-6);  // at 1 GHz
  EXPECT_NEAR(d.at("bus_gbps").get<double>(), 16 * d.at("peak_ratio").get<double>(), 1e-6);
  EXPECT_GT(d.at("peak_ratio"), 0.9);
  EXPECT_GT(d.at("row_hit_ratio"), 0.95);
}

TEST_F(Trace, MistakesOfALineHaveTheirPlaces) {
  const std::string file = write("t", "0 R 32\n40 X 32\nzz R 32\n80 R\nc0 W 0\n7fffffffffffffff R 1\n");
  const CliResult r = run({"trace", "--arch", chip(), file});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("t:2:4: expected R or W, got 'X'"));
  EXPECT_THAT(r.err, HasSubstr("t:3:1: 'zz' is no hexadecimal address"));
  EXPECT_THAT(r.err, HasSubstr("t:4:1: expected '<hex address> <R|W> <bytes>', got 2 words"));
  EXPECT_THAT(r.err, HasSubstr("t:6:1: '7fffffffffffffff' is no hexadecimal address"));
  EXPECT_THAT(r.err, HasSubstr("t:5:6: '0' is no number of bytes from 1 to 1073741824"));
}

TEST_F(Trace, RefusesWhatItCannotDrive) {
  const std::string file = sequential();
  EXPECT_THAT(run({"trace", "--arch", chip(), "--inject", "often", file}).err, HasSubstr("expected sat, win:N"));
  EXPECT_THAT(run({"trace", "--arch", chip(), "--level", "l2", file}).err,
              HasSubstr("expected the level of kind dram"));
  EXPECT_THAT(run({"trace", "--arch", chip(), write("none", "")}).err, HasSubstr("the trace has no requests"));
}

// Files of GPUs have no mapping: addresses lie as kernels' do, which is said.
TEST_F(Trace, DerivesAMappingWhereTheFileHasNone) {
  const CliResult r = run({"trace", "--arch", "v100", "--json", sequential()});
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("v100: memory.dram.mapping: no mapping is given; as in kernels, 128 B that follow each "
                               "other go to 64 channels in turn, each filling 1024 B of a row, rows to 16 banks in "
                               "turn"));
  EXPECT_THAT(r.out, HasSubstr("\"bursts\""));
  EXPECT_EQ(run({"trace", "--arch", "k80", sequential()}).status, 0) << "12 channels are no power of two";
}

}  // namespace
}  // namespace tilescope::tests
