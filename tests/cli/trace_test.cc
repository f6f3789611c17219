// SPDX-License-Identifier: Apache-2.0
// tilescope trace: the contract of its document, and what is said of bad input.

#include <filesystem>
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
                                      "bus_gbps", "peak_ratio", "row_hit_ratio", "mean_latency_ns", "p50_latency_ns",
                                      "p95_latency_ns", "p99_latency_ns", "max_latency_ns"));
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
  EXPECT_THAT(r.err, HasSubstr("t:4:1: expected '<hex address> <R|W> <bytes>' and perhaps a cycle, got 2 words"));
  EXPECT_THAT(r.err, HasSubstr("t:6:1: '7fffffffffffffff' is no hexadecimal address"));
  EXPECT_THAT(r.err, HasSubstr("t:5:6: '0' is no number of bytes from 1 to 1073741824"));
}

TEST_F(Trace, MistakesOfTimesHaveTheirPlaces) {
  const auto error_of = [&](const std::string& text) { return run({"trace", "--arch", chip(), write("t", text)}).err; };
  EXPECT_THAT(error_of("0 R 32 5\n40 R 32\n"), HasSubstr("t:2:6: expected a cycle, as the requests above have"));
  EXPECT_THAT(error_of("0 R 32\n40 R 32 5\n"), HasSubstr("t:2:9: expected no cycle, as the requests above have none"));
  EXPECT_THAT(error_of("0 R 32 9\n40 R 32 5\n"), HasSubstr("t:2:9: cycle 5 is before that of the request above, 9"));
  EXPECT_THAT(error_of("0 R 32\nfffffffffff0 R 32\n"), HasSubstr("t:2:1: 32 B at 0xfffffffffff0 end beyond dram"));
  EXPECT_THAT(error_of("0 R 32 -1\n"), HasSubstr("t:1:8: '-1' is no cycle from 0 to 4000000000"));
  EXPECT_THAT(error_of("0 R 32 1.5\n"), HasSubstr("t:1:8: '1.5' is no cycle from 0 to 4000000000"));
  EXPECT_THAT(error_of("0 R 32 4000000001\n"), HasSubstr("t:1:8: '4000000001' is no cycle"));
  EXPECT_THAT(error_of("0 R 32 1 2\n"), HasSubstr("t:1:1: expected '<hex address> <R|W> <bytes>' and perhaps a cycle"));
}

// The second request comes long after the first: to its end are 10000 clocks and 20 of an open row.
TEST_F(Trace, KeepsTheTimesOfItsRequests) {
  const std::string file = write("t", "0 R 32 0\n20 R 32 10000\n");
  const Json d = json({"trace", "--arch", chip(), "--set", "memory.dram.timing.refi=1000000 cycles", file});
  EXPECT_EQ(d.at("cycles"), 10020);
  EXPECT_EQ(d.at("max_latency_ns"), 32);
}

// Hits, misses and what is written back, level by level from the DRAM on.
TEST_F(Trace, DrivesTheCachesOfAChip) {
  std::ostringstream text;
  for (const char* kind : {"R", "W"}) {
    text << std::hex;
    for (int i = 0; i < 100; ++i) text << i * 128 << ' ' << kind << " 80\n";  // 80 B: three sectors
  }
  const Json d = json({"trace", "--arch", "v100", "--level", "l2", "--inject", "win:1", write("t", text.str())});
  EXPECT_EQ(d.at("levels").at("l2").at("transactions"), 600);
  EXPECT_EQ(d.at("levels").at("l2").at("hits"), 300);
  EXPECT_EQ(d.at("levels").at("dram").at("read_bytes"), 300 * 32);
  EXPECT_EQ(d.at("levels").at("dram").at("written_bytes"), 0);
  EXPECT_EQ(d.at("bursts"), 300);
  EXPECT_EQ(d.at("dirtied_bytes"), 300 * 32);
  EXPECT_EQ(d.at("useful_bytes"), 200 * 80);
  EXPECT_NEAR(d.at("time_us").get<double>(), d.at("cycles").get<double>() / 1380, 1e-6);
  EXPECT_THAT(run({"trace", "--arch", "v100", "--level", "l2", sequential()}).out, HasSubstr("l2: "));
}

// Every chip with a DRAM, from its file alone.
TEST_F(Trace, DrivesTheDramOfEveryDevice) {
  const std::string file = sequential();
  int driven = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("arch/devices"))) {
    if (entry.path().extension() != ".yaml") continue;
    const CliResult r = run({"trace", "--arch", entry.path().string(), "--json", file});
    if (r.status == 0)
      ++driven;
    else
      EXPECT_THAT(r.err, HasSubstr("the chip has no level of kind dram")) << entry.path();
  }
  EXPECT_GE(driven, 19);
}

TEST_F(Trace, RefusesWhatItCannotDrive) {
  const std::string file = sequential();
  EXPECT_THAT(run({"trace", "--arch", chip(), "--inject", "often", file}).err, HasSubstr("expected sat, win:N"));
  EXPECT_THAT(run({"trace", "--arch", chip(), "--level", "l2", file}).err,
              HasSubstr("--level: expected dram, where requests enter, got 'l2'"));
  EXPECT_THAT(run({"trace", "--arch", "v100", "--level", "smem", file}).err,
              HasSubstr("--level: expected dram or l2, where requests enter, got 'smem'"));
  EXPECT_THAT(run({"trace", "--arch", "bow_ipu", file}).err,
              HasSubstr("--arch bow_ipu: the chip has no level of kind dram that a trace could go to"));
  for (const char* level : {"dram", "l2"})
    EXPECT_THAT(run({"trace", "--arch", "v100", "--level", level, "--inject", "rate:1e-300", file}).err,
                HasSubstr("t: at this rate requests would arrive after cycle 4000000000"));
  const std::string timed = write("timed", "0 R 32 0\n");
  EXPECT_THAT(run({"trace", "--arch", chip(), "--inject", "rate:0.5", timed}).err,
              HasSubstr("--inject: expected sat or win:N, as the trace says when its requests arrive"));
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
