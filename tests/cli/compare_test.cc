// SPDX-License-Identifier: Apache-2.0
// tilescope compare: the contract of its documents, what is refused and what is drawn.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Compare = Cli;

// One line of a batch: a matrix product in square tiles, with `more` keys in front.
std::string line(const std::string& id, const std::string& group, const std::string& more, int threads = 16) {
  const std::string t = std::to_string(threads);
  return R"({"id": ")" + id + R"(", "group": ")" + group + R"(", )" + more +
         R"("expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 256, "n": 256, "k": 256}, "tiles": {"smem": {"m": )" +
         t + R"(, "n": )" + t + R"(, "k": 8}}, "mapping": {"m": {"threads": )" + t + R"(}, "n": {"threads": )" + t +
         "}}}\n";
}

std::string measured(double us) { return R"("measured_us": )" + std::to_string(us) + ", "; }

Args compared_batch(const std::string& file, const Args& more = {}) {
  return with({"compare", "--arch", "v100", "--batch", file}, more);
}

// cuDNN took 1,213 us for C0 on a V100 (experiments/data/published). Pools have no library's time on an H200.
TEST_F(Compare, OfLibrariesIsByKindAndDuration) {
  const Json v100 = json_of_noted({"compare", "--arch", "v100", "--baseline", "library"});
  const Json& c0 = v100.at("rows").at(0);
  EXPECT_EQ(c0.at("id"), "C0");
  EXPECT_DOUBLE_EQ(c0.at("measured_us").get<double>(), 1213);
  EXPECT_EQ(c0.at("kind"), "conv, from 1 ms");
  EXPECT_EQ(v100.at("summary").at("left_out"), 0);
  const Json h200 = json_of_noted({"compare", "--arch", "h200", "--baseline", "library"});
  EXPECT_EQ(h200.at("summary").at("rows"), 105);
  EXPECT_EQ(h200.at("summary").at("left_out"), 14);
  for (const Json& row : h200.at("rows")) EXPECT_EQ(row.at("measured_us"), row.at("library_us"));
  EXPECT_THAT(bad_input({"compare", "--arch", "t4", "--baseline", "library"}),
              HasSubstr("no times of suite 'roller' on t4"));
}

// A library's time counts for what it computed, whatever the operator is called.
TEST_F(Compare, OfLibrariesIsOfTheSameComputation) {
  write("s.yaml",
        "variables: {m: 512}\noperators:\n"
        "  - {id: C0, op: 'C[m,n] +=! A[m,k] * B[k,n]', sizes: {m: m, n: 512, k: 512}}\n");
  write("rows.jsonl",
        R"({"key":"1","id":"C0","dtype":"f32","chip":"h200","baseline":"cublas","measured_us":9,)"
        R"("operator":"C[m,n] +=! A[m,k] * B[k,n] m=512 n=512 k=512 A[512,512] B[512,512] C[512,512] f32"})"
        "\n"
        R"({"key":"2","id":"C0","dtype":"f32","chip":"h200","baseline":"cublas","measured_us":1})"
        "\n");
  const Args own = {"compare", "--arch", "h200", "--suite", "s.yaml", "--rows", "rows.jsonl", "--baseline", "library"};
  EXPECT_EQ(json(own).at("rows").at(0).at("measured_us"), 9);
  const std::string none = "no time of a library is known of any operator of suite 's.yaml' on h200";
  EXPECT_THAT(bad_input(with(own, {"--size", "m=256"})), HasSubstr(none));
  EXPECT_THAT(bad_input(with(own, {"--dtype", "f16"})), HasSubstr(none));
  EXPECT_THAT(bad_input({"compare", "--arch", "h200", "--suite", "s.yaml", "--baseline", "library"}), HasSubstr(none))
      << "roller's C0 is a convolution";
}

TEST_F(Compare, TimesOfABoardAreNotThoseOfAChangedOne) {
  write("s.yaml", "operators:\n  - {id: a, op: 'O[i] = relu(I[i])', sizes: {i: 4194304}}\n");
  write("rows.jsonl", R"({"key":"1","id":"a","dtype":"f32","chip":"h200","baseline":"torch-relu","measured_us":15,)"
                      R"("operator":"O[i] = relu(I[i]) i=4194304 I[4194304] O[4194304] f32"})"
                      "\n");
  const Args own = {"compare", "--arch", "h200", "--suite", "s.yaml", "--rows", "rows.jsonl", "--baseline", "library"};
  EXPECT_EQ(run(own).err, "");
  const Args changed = with(own, {"--set", "core.count=64"});
  const std::string note = "--set: measured times are of h200 as it is, without these changes";
  EXPECT_THAT(run(changed).err, HasSubstr("note: " + note + "\n"));
  EXPECT_EQ(Json::parse(run(with(changed, {"--json"})).out).at("notes").back(), note);
}

TEST_F(Compare, BearsTheContractsNames) {
  const std::string file = write(
      "b.jsonl", line("a", "g", measured(30)) + line("b", "g", measured(60), 8) + line("c", "g", measured(20), 32));
  const Json document = json(compared_batch(file, {"--simulate"}));
  EXPECT_THAT(keys_of(document), ElementsAre("rows", "summary"));
  const Json& row = document.at("rows").at(0);
  EXPECT_EQ(row.at("kind"), "matmul");
  EXPECT_EQ(row.at("tile"), "m=16 n=16 k=8");
  EXPECT_NEAR(row.at("error_ratio").get<double>(), row.at("predicted_us").get<double>() / 30 - 1, 1e-12);
  EXPECT_NEAR(row.at("simulated_error_ratio").get<double>(), row.at("simulated_us").get<double>() / 30 - 1, 1e-12);
  const Json& summary = document.at("summary");
  EXPECT_THAT(keys_of(summary), ElementsAre("rows", "failed", "left_out", "kinds"));
  ASSERT_EQ(summary.at("kinds").size(), 2U);
  const Json& all = summary.at("kinds").at(1);
  EXPECT_THAT(keys_of(all), ElementsAre("kind", "predicted", "simulated", "model"));
  EXPECT_THAT(keys_of(all.at("predicted")), ElementsAre("rows", "compared", "mape_ratio", "median_error_ratio",
                                                        "p90_error_ratio", "bias_ratio", "by_row", "by_tile"));
  EXPECT_THAT(keys_of(all.at("predicted").at("by_tile")),
              ElementsAre("groups", "spearman", "kendall", "top1_ratio", "top5_ratio", "top10_ratio"));
}

TEST_F(Compare, RefusesRowByRowAndCounts) {
  const std::string file = write(
      "b.jsonl", line("a", "g", measured(30)) + line("none", "g", "") + line("zero", "g", R"("measured_us": 0, )") +
                     line("less", "g", R"("measured_us": -3, )") + line("alone", "h", measured(9)) +
                     line("b", "g", measured(40), 8) + line("level", "g", measured(5) + R"("cached": {"A": "l7"}, )"));
  const CliResult r = run(compared_batch(file, {"--json"}));
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:2: measured_us is missing\n"));
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:3:45: measured_us: expected a time above 0, got 0\n"));
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:4:45: measured_us: expected a time above 0, got -3\n"));
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:5: group 'h' has one program: nothing to rank it with\n"));
  EXPECT_THAT(r.err, HasSubstr("b.jsonl:7:"));
  const Json summary = Json::parse(r.out).at("summary");
  EXPECT_EQ(summary.at("failed"), 5);
  EXPECT_EQ(summary.at("kinds").back().at("predicted").at("rows"), 2);
}

TEST_F(Compare, WhatWeCannotTimeRanksLast) {
  const std::string file = write("b.jsonl", line("a", "g", measured(30)) + line("b", "g", measured(60), 8) +
                                                line("no", "g", measured(5) + R"("dtype": "i32", )", 32));
  const std::string chip = source_path("tests/error/arch/minimal.yaml").string();
  const CliResult r = run({"compare", "--arch", chip, "--batch", file, "--json"});
  EXPECT_EQ(r.status, 2);
  const Json f = Json::parse(r.out).at("summary").at("kinds").back().at("predicted");
  EXPECT_EQ(f.at("rows"), 3);
  EXPECT_EQ(f.at("compared"), 2);
  EXPECT_LE(f.at("by_tile").at("top1_ratio").get<double>(),
            5.0 / 30);  // the best one was not among those we timed
}

TEST_F(Compare, DrawsTheSameRowsForTheSameSeed) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += line(std::to_string(i), i % 2 == 0 ? "g" : "h", measured(10 + i), 8 + i % 3 * 8);
  const std::string file = write("b.jsonl", text);
  const Json one = json(compared_batch(file, {"--sample", "3", "--seed", "5"}));
  EXPECT_EQ(one.at("rows").size(), 6U);
  EXPECT_EQ(one.at("summary").at("left_out"), 14);
  EXPECT_EQ(json(compared_batch(file, {"--sample", "3", "--seed", "5", "--jobs", "2"})), one);
  EXPECT_NE(json(compared_batch(file, {"--sample", "3", "--seed", "6"})), one);
}

TEST_F(Compare, LeavesOutWhatTheOptionsSay) {
  const std::string file = write(
      "b.jsonl", line("a", "g", measured(30)) + line("small", "g", measured(90), 4) + line("b", "g", measured(60), 8));
  const Json document = json(compared_batch(file, {"--min-threads", "32"}));
  EXPECT_EQ(document.at("rows").size(), 2U);
  EXPECT_EQ(document.at("summary").at("left_out"), 1);
}

TEST_F(Compare, PlotsEveryRow) {
  const std::string file = write("b.jsonl", line("a", "g", measured(30)) + line("b", "g", measured(60), 8));
  EXPECT_EQ(run(compared_batch(file, {"--plot", "p.svg"})).status, 0);
  const std::string plot = text_of_file(path("p.svg"));
  EXPECT_THAT(plot, HasSubstr("b.jsonl on v100"));
  std::size_t dots = 0;
  for (std::size_t at = plot.find("<circle"); at != std::string::npos; at = plot.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 2U);
}

TEST_F(Compare, OfASuiteIsWithItsPublishedTimes) {
  const Json summary = json_of_noted({"compare", "--arch", "v100", "--suite", "roller"}).at("summary");
  EXPECT_EQ(summary.at("measured"), "roller_top10");
  EXPECT_EQ(summary.at("rows"), 119);
  EXPECT_GT(summary.at("kinds").back().at("predicted").at("by_row").at("spearman"), 0.9);  // over all operators
  const Json osdi22 =
      json_of_noted({"compare", "--arch", "v100", "--suite", "roller", "--search", "roller-osdi22"}).at("summary");
  EXPECT_NE(osdi22, summary);
  EXPECT_THAT(bad_input({"compare", "--arch", "v100", "--suite", "roller", "--sample", "2"}), HasSubstr("--sample"));
  const CliResult none = run({"compare", "--arch", "a100", "--suite", "roller"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("no times of suite 'roller' on a100 are published"));
}

}  // namespace
}  // namespace tilescope::tests
