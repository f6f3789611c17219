// SPDX-License-Identifier: Apache-2.0
// `diff`: what the change of a time comes from, and what chips cost.

#include <cmath>
#include <regex>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

class Diff : public Cli {
 protected:
  void SetUp() override {
    write("mine.yaml", R"(about: two products
variables: {rows: 256, width: 512}
inputs: {x: [rows, width]}
nodes:
  - y = Relu(MatMul(x, weight[width, width]))
  - z[i,j] +=! y[i,k] * y[j,k]
  - z = Softmax(z)
)");
  }

  static double sum(const Json& rows, const char* key) {
    double out = 0;
    for (const Json& r : rows) out += r.at(key).get<double>();
    return out;
  }
  static void expect_adds_up(const Json& change) {
    const double difference = change.at("right_us").get<double>() - change.at("left_us").get<double>();
    EXPECT_NEAR(sum(change.at("terms"), "change_us"), difference, 1e-9 * change.at("left_us").get<double>());
  }
};

TEST_F(Diff, TermsOfANetworkAddUp) {
  const Json j = json_of_noted({"diff", "v100", "h100_sxm", "--network", "mine.yaml", "--dtype", "f16"});
  const Json &time = j.at("time"),
             network = json_of_noted({"network", "mine.yaml", "--arch", "v100", "--dtype", "f16"});
  EXPECT_DOUBLE_EQ(time.at("left_us").get<double>(), network.at("total").at("predicted_us").get<double>());
  expect_adds_up(time);
  double left = 0, right = 0;
  for (const Json& k : time.at("kernels")) {
    expect_adds_up(k);
    left += k.at("left_us").get<double>();
    right += k.at("right_us").get<double>();
  }
  EXPECT_NEAR(left, time.at("left_us"), 1e-9 * left);
  EXPECT_NEAR(right, time.at("right_us"), 1e-9 * right);
  for (const auto& [cost, unit] : {std::pair("energy", "uj"), std::pair("area", "mm2"), std::pair("price", "usd")})
    for (const char* side : {"left_", "right_"}) {
      double parts = 0;
      const std::string key = side + std::string(unit);
      for (const Json& p : j.at(cost).at("parts"))
        if (!p.at(key).is_null()) parts += p.at(key).get<double>();
      EXPECT_NEAR(parts, j.at(cost).at(key), 1e-9 * parts) << cost;
    }
  EXPECT_NEAR(j.at("energy").at("left_uj"), network.at("energy_uj"), 1e-6 * network.at("energy_uj").get<double>());
  EXPECT_NEAR(j.at("area").at("right_mm2"),
              json_of_noted({"arch", "show", "h100_sxm", "--area"}).at("area").at("total_mm2"), 1e-6);
}

// One number changed: the term of that number moves, and what does not change is said so.
TEST_F(Diff, OfAChipAndItselfChanged) {
  const Json same = json_of_noted({"diff", "v100", "v100", "--network", "mine.yaml"});
  EXPECT_EQ(same.at("time").at("left_us"), same.at("time").at("right_us"));
  for (const Json& t : same.at("time").at("terms")) EXPECT_EQ(t.at("change_us"), 0) << t;
  // One kernel either way, with the same program.
  const Json time = json_of_noted({"diff", "v100", "--set", "launch_overhead=9 us", "--op", kMatmul, "--size",
                                   "m=2048,n=2048,k=2048"})
                        .at("time");
  ASSERT_EQ(time.at("terms").at(0).at("term"), "launch");
  EXPECT_NEAR(time.at("terms").at(0).at("change_us"),
              time.at("right_us").get<double>() - time.at("left_us").get<double>(), 1e-6);
  EXPECT_GT(time.at("terms").at(0).at("change_us"), 0);
}

TEST_F(Diff, OfASuiteAndOfOneOperator) {
  const Json j = json_of_noted({"diff", "v100", "a100", "--op", kMatmul, "--size", "m=512,n=512,k=512"});
  const Json compiled = json_of_noted(matmul(512));
  EXPECT_DOUBLE_EQ(j.at("time").at("left_us").get<double>(),
                   compiled.at("operators").at(0).at("programs").at(0).at("predicted_us").get<double>());
  expect_adds_up(j.at("time"));
  write("suite.yaml",
        "operators:\n  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', sizes: {m: 64, n: 64, k: 64}, count: 3, id: a}\n"
        "  - {op: 'D[i] +=! E[i,j]', sizes: {i: 512, j: 512}, id: b}\n");
  const Json suite = json_of_noted({"diff", "v100", "a100", "--suite", "suite.yaml"});
  ASSERT_EQ(suite.at("time").at("kernels").size(), 2U);
  EXPECT_EQ(suite.at("time").at("kernels").at(0).at("count"), 3);
  expect_adds_up(suite.at("time"));
}

// Printed changes add up digit by digit: each line's time is the one before it and its change.
TEST_F(Diff, TheWaterfallEndsAtTheRightTime) {
  const CliResult r = run({"diff", "v100", "a100", "--network", "mine.yaml", "--legend"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string text = r.out.substr(r.out.find("waterfall\n"));
  const std::regex line(R"(([+-][0-9.]+) (?:us|ms) +([0-9.]+) (?:us|ms) +([#+-]+)\n)");
  std::smatch first;
  ASSERT_TRUE(std::regex_search(text, first, std::regex(R"(v100 +([0-9.]+) (?:us|ms) +#+\n)"))) << text;
  double now = std::stod(first[1]);
  int lines = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at, ++lines) {
    const double change = std::stod((*at)[1]), after = std::stod((*at)[2]);
    if ((*at)[3].str().front() == '#') {
      EXPECT_NEAR(change, after - std::stod(first[1]), 1e-6) << text;
      EXPECT_NEAR(now, after, 1e-6) << text;
      break;
    }
    EXPECT_NEAR(now + change, after, 1e-6) << text;
    now = after;
  }
  EXPECT_GE(lines, 3) << text;
  EXPECT_THAT(r.out, HasSubstr("terms that moved terms that make up most of the change"));
}

TEST_F(Diff, NoLineIsWiderThanAScreen) {
  std::istringstream lines(run({"diff", "h100_sxm", "h200"}).out);
  int cut = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 140U) << line;
    cut += line.find("...") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(cut, 0);
}

TEST_F(Diff, BadInput) {
  EXPECT_THAT(bad_input({"diff", "v100"}), HasSubstr("expected a second chip, or --set path=value"));
  EXPECT_THAT(bad_input({"diff", "v100", "--set", "banks"}), HasSubstr("expected path=value"));
  EXPECT_THAT(bad_input({"diff", "v100", "a100", "--network", "resnet51"}), HasSubstr("did you mean"));
  EXPECT_THAT(bad_input({"diff", "v100", "a100", "--network", "llama3-70b", "--dtype", "f16"}),
              HasSubstr("of v100 holds"));
  EXPECT_THAT(bad_input({"diff", "v100", "a100", "--size", "m=64"}),
              HasSubstr("--size requires one of --op, --suite and --network"));
}

}  // namespace
}  // namespace tilescope::tests
