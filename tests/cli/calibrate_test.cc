// SPDX-License-Identifier: Apache-2.0
// tilescope calibrate: the contract of its document, and what is wrong with its input.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Calibrate = Cli;

// A matrix product of n^3 that took twice its arithmetic.
std::string line(const std::string& group, int n, const std::string& time) {
  const std::string s = std::to_string(n);
  return R"({"id": "a", "group": ")" + group + R"(", "expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": )" + s +
         R"(, "n": )" + s + R"(, "k": )" + s + R"(}, "tiles": {"smem": {"m": 128, "n": 64, "k": 8}}, )" +
         R"("mapping": {"m": {"vthread": 8, "threads": 16}, "n": {"vthread": 4, "threads": 16}})" + time + "}\n";
}

std::string lines() {
  std::string out;
  for (int i = 1; i <= 16; ++i) {
    const double n = 512 * i, us = 2 * 2 * n * n * n / 14.1e6 + 5;
    out += line("g" + std::to_string(i), 512 * i, R"(, "measured_us": )" + std::to_string(us));
  }
  return out;
}

Args calibrate(const std::string& batch, const Args& more = {}) {
  return with({"calibrate", "--arch", "v100", "--batch", batch, "-o", "out.yaml"}, more);
}

TEST_F(Calibrate, BearsTheContractsNames) {
  const Json document = json_of_noted(calibrate(write("b.jsonl", lines())));
  EXPECT_THAT(keys_of(document), ElementsAre("ratios", "held_out", "bands", "summary"));
  const auto is_fma = [](const Json& r) { return r.at("name") == "fma.f32"; };
  const Json& ratios = document.at("ratios");
  const auto fma = std::find_if(ratios.begin(), ratios.end(), is_fma);
  ASSERT_NE(fma, ratios.end());
  EXPECT_THAT(keys_of(*fma), ElementsAre("name", "before", "after", "error_ratio", "response_ratio", "identified"));
  EXPECT_LT(fma->at("after"), 0.6);
  EXPECT_THAT(keys_of(document.at("held_out").at(0)), ElementsAre("kind", "before", "after"));
  EXPECT_THAT(keys_of(document.at("summary")),
              ElementsAre("rows", "refused", "left_out", "groups", "shapes", "folds", "seed"));
  EXPECT_EQ(run({"arch", "check", "out.yaml"}).out, "out.yaml: v100_calibrated: good\n");
}

TEST_F(Calibrate, BadLinesAreToldAndTheOthersFitted) {
  const CliResult r = run(calibrate(write("b.jsonl", "{bad\n" + lines() + line("x", 64, ""))));
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, StartsWith("b.jsonl:1:2: not valid JSON: "));
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:18: measured_us is missing\n"));
  EXPECT_THAT(r.out, HasSubstr("b.jsonl on v100: 16 rows of 16 groups fitted, 2 refused\n"));
  EXPECT_TRUE(std::filesystem::exists(path("out.yaml")));
}

TEST_F(Calibrate, WritesNothingWhereNothingIsKnown) {
  EXPECT_THAT(bad_input(calibrate(write("empty.jsonl", ""))),
              "empty.jsonl: no row to learn from; out.yaml is not written\n");
  EXPECT_THAT(bad_input(calibrate("none")), "none: cannot be read: No such file or directory\n");
  const CliResult one = run(calibrate(write("one.jsonl", line("g", 512, R"(, "measured_us": 90)"))));
  EXPECT_EQ(one.status, 1);
  EXPECT_THAT(one.err, HasSubstr("one.jsonl: identifies no ratio; out.yaml is not written\n"));
  EXPECT_FALSE(std::filesystem::exists(path("out.yaml")));
}

TEST_F(Calibrate, BandsAlone) {
  const std::string file = write("b.jsonl", lines());
  const Json document = json(calibrate(file, {"--bands-only"}));
  EXPECT_EQ(document.at("ratios").size(), 0U);
  ASSERT_EQ(document.at("bands").size(), 2U);
  EXPECT_THAT(keys_of(document.at("bands").at(0)),
              ElementsAre("kind", "dtype", "low_ratio", "high_ratio", "rows", "shapes"));
  EXPECT_EQ(document.at("bands").at(0).at("kind"), "matmul");
  const CliResult r = run(calibrate(file, {"--bands-only"}));
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(
      r.out,
      StartsWith(
          "b.jsonl on v100: 16 rows of 16 groups compared, 0 refused\n\n80 % interval of measured over predicted"));
  EXPECT_EQ(run({"arch", "check", "out.yaml"}).out, "out.yaml: v100_calibrated: good\n");
  const Json halved = json(calibrate(file, {"--bands-only", "--seed", "2"})).at("bands").at(0);
  EXPECT_THAT(keys_of(halved), ElementsAre("kind", "dtype", "low_ratio", "high_ratio", "rows", "shapes", "check"));
  EXPECT_THAT(keys_of(halved.at("check")), ElementsAre("coverage_ratio", "rows", "shapes"));
  EXPECT_EQ(halved.at("check").at("rows"), 8);
  EXPECT_THAT(run(calibrate(file, {"--bands-only", "--seed", "2"})).out, HasSubstr("other rows shapes within"));
  const CliResult wide = run(calibrate(file, {"--bands-only", "--min-threads", "257"}));
  EXPECT_EQ(wide.status, 2);
  EXPECT_THAT(wide.err, HasSubstr("b.jsonl: no row to learn from; out.yaml is not written\n"));
  const CliResult few = run(calibrate(write("few.jsonl", line("g", 512, R"(, "measured_us": 90)")), {"--bands-only"}));
  EXPECT_EQ(few.status, 1);
  EXPECT_THAT(few.err, HasSubstr("few.jsonl: too few shapes for an error band; out.yaml is not written\n"));
}

// Twelve shapes of one group allow no standard error, but a band.
TEST_F(Calibrate, WritesBandsWhereNoRatioIsKnown) {
  std::string text = lines();
  for (std::size_t at = 0; (at = text.find("\"group\": \"g", at)) != std::string::npos; at += 10)
    text.replace(at, text.find(',', at) - at, "\"group\": \"g\"");
  const CliResult r = run(calibrate(write("b.jsonl", text)));
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.err, HasSubstr("b.jsonl: identifies no ratio; out.yaml has error bands alone\n"));
  EXPECT_EQ(run({"arch", "check", "out.yaml"}).out, "out.yaml: v100_calibrated: good\n");
}

TEST_F(Calibrate, FromMicrobenchmarks) {
  const std::string curves =
      "chip,curve,x,unit,measured,board,source\nv100,write,1,GB/s,850,Tesla V100-PCIE-16GB,here\n"
      "v100,write,2,GB/s,880,Tesla V100-PCIE-16GB,here\nv100,write\nv100,write,3,GB/s,890,NVIDIA H200,there\n";
  const Args args = {"calibrate", "--arch", "v100", "-o", "out.yaml", "--microbench", write("m.csv", curves)};
  const CliResult r = run(with(args, {"--json"}));
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err,
            "m.csv:4: expected chip,curve,x,unit,measured,board,source\n"
            "m.csv:5: board: expected that of v100, Tesla V100-PCIE-16GB, got 'NVIDIA H200'\n");
  const Json document = Json::parse(r.out);
  EXPECT_THAT(keys_of(document), ElementsAre("ratios", "summary"));
  EXPECT_THAT(keys_of(document.at("ratios").at(1)),
              ElementsAre("name", "before", "after", "error_ratio", "identified", "source"));
  EXPECT_THAT(keys_of(document.at("summary")), ElementsAre("points", "refused"));
  EXPECT_EQ(run({"arch", "check", "out.yaml"}).out, "out.yaml: v100_calibrated: good\n");
  EXPECT_THAT(run(args).out, HasSubstr("m.csv on v100: 2 points, 2 refused\n"));

  write("m.csv", "k80,write,1,GB/s,850,Tesla K80,here\n");
  EXPECT_EQ(bad_input(args), "m.csv: no point of the chip; out.yaml is not written\n");
  EXPECT_THAT(bad_input(with(args, {"--bands-only"})), HasSubstr("excludes"));
  EXPECT_THAT(bad_input(with(args, {"--batch", "m.csv"})), HasSubstr("excludes"));
  EXPECT_THAT(bad_input({"calibrate", "--arch", "v100", "-o", "out.yaml"}), HasSubstr("--batch or --microbench"));
}

TEST_F(Calibrate, RefusesToReplaceItsChipAndOverrides) {
  write("b.jsonl", lines());
  write("own.yaml", "extends: v100\nname: own\n");
  EXPECT_THAT(bad_input({"calibrate", "--arch", "own.yaml", "--batch", "b.jsonl", "-o", "own.yaml"}),
              "-o own.yaml: is the chip that is calibrated; write another file\n");
  EXPECT_THAT(bad_input(calibrate("b.jsonl", {"--set", "clock=1 GHz"})), HasSubstr("unknown option '--set'"));
  EXPECT_THAT(bad_input({"calibrate", "--arch", "v100", "--batch", "b.jsonl"}), HasSubstr("-o"));
}

}  // namespace
}  // namespace tilescope::tests
