// SPDX-License-Identifier: Apache-2.0
// tilescope predict: the contract of its documents; what is wrong with a program or a line and what is not lost by it.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Predict = Cli;

// One line of a batch: a matrix product with `more` keys in front.
std::string line(const std::string& more, int threads = 16) {
  const std::string t = std::to_string(threads);
  return "{" + more + R"("expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 256, "n": 256, "k": 256}, )" +
         R"("tiles": {"smem": {"m": )" + t + R"(, "n": )" + t + R"(, "k": 8}}, "mapping": {"m": {"threads": )" + t +
         R"(}, "n": {"threads": )" + t + "}}}\n";
}

Args batch(const std::string& file, const Args& more = {}) {
  return with({"predict", "--arch", "v100", "--batch", file}, more);
}

Args program(const std::string& file, const Args& more = {}) {
  return with({"predict", "--arch", "v100", "--program", file}, more);
}

TEST_F(Predict, BatchBearsTheContractsNames) {
  const std::string file =
      write("b.jsonl", line(R"("id": "a", "group": "g", "measured_us": 10, )") + line(R"("id": "b", )"));
  const Json document = json(batch(file));
  EXPECT_THAT(keys_of(document), ElementsAre("rows", "summary"));
  ASSERT_EQ(document.at("rows").size(), 2U);
  const Json &a = document.at("rows").at(0), &b = document.at("rows").at(1);
  EXPECT_THAT(keys_of(a),
              ElementsAre("id", "group", "predicted_us", "low_us", "high_us", "bottleneck", "terms", "levels",
                          "occupancy_ratio", "occupancy_limit", "registers_per_thread", "blocks", "waves",
                          "speed_of_light_ratio", "instructions", "operations", "pipe_cycles", "moved", "activates",
                          "block_us", "energy_uj", "power_w", "energy", "limit_clock_mhz", "time_at_limit_us",
                          "energy_at_limit_uj", "measured_us", "error_ratio"));
  EXPECT_EQ(b.at("id"), "b");
  EXPECT_EQ(b.at("predicted_us"), a.at("predicted_us"));
  EXPECT_FALSE(b.contains("measured_us"));
  EXPECT_NEAR(a.at("error_ratio").get<double>(), a.at("predicted_us").get<double>() / 10 - 1, 1e-12);
  EXPECT_THAT(keys_of(document.at("summary")), ElementsAre("rows", "predicted", "failed", "compared", "mape_ratio",
                                                           "median_error_ratio", "p90_error_ratio", "bias_ratio"));
}

TEST_F(Predict, BatchGoesOnAfterBadLines) {
  const std::string file = write("b.jsonl", line(R"("id": "a", )") + "{bad\n" + line(R"("id": "c", "grup": 1, )") +
                                                "\n" + line(R"("id": "wide", )", 64) + line(R"("id": "e", )"));
  const std::string errors =
      "b.jsonl:3:13: unknown key 'grup' in a node; did you mean 'group'?\n"
      "b.jsonl:5:153: threads a block: needs 4096, v100 has 1024 (core.max_block_threads)\n";
  const CliResult table = run(batch(file));
  EXPECT_EQ(table.status, 2);
  EXPECT_THAT(table.err, StartsWith("b.jsonl:2:2: not valid JSON: "));
  EXPECT_THAT(table.err, HasSubstr(errors));
  EXPECT_THAT(table.out, HasSubstr("2 of 5 lines predicted, 3 failed\n"));

  for (const std::string jobs : {"1", "2", "5"}) {
    const CliResult r = run(batch(file, {"--json", "--jobs", jobs}));
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.err, table.err);
    const Json rows = Json::parse(r.out).at("rows");
    ASSERT_EQ(rows.size(), 5U);
    for (const std::size_t good : {0U, 4U}) EXPECT_TRUE(rows.at(good).contains("predicted_us"));
    for (const std::size_t bad : {1U, 2U, 3U}) EXPECT_FALSE(rows.at(bad).contains("predicted_us"));
    EXPECT_THAT(rows.at(1).at("error"), StartsWith("b.jsonl:2:2: "));
    EXPECT_EQ(rows.at(2).at("id"), "c");
  }
}

TEST_F(Predict, BatchNamesThePlaceOfEveryBadLine) {
  const std::string good = line(R"("id": "good", )");
  const std::string truncated = good.substr(0, 40) + "\n", deep = "{\"id\":" + std::string(70, '[') + "\n";
  const std::string text = good.substr(0, good.size() - 1) + "\r\n" + "\n" + "\r\n" + truncated +
                           line("\"id\": \"\xFF\", ") + line(R"("id": 1e999, )") +
                           line(R"("id": "twice", "id": "again", )") + deep + good;
  const CliResult r = run(batch(write("b.jsonl", text), {"--json"}));
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err,
            "b.jsonl:4:41: not valid JSON: invalid string: missing closing quote\n"
            "b.jsonl:5:9: not valid JSON: invalid string: ill-formed UTF-8 byte\n"
            "b.jsonl:6:8: the number is beyond 64-bit floating point\n"
            "b.jsonl:7:17: duplicate key 'id' in a node\n"
            "b.jsonl:8:70: nested more than 64 deep\n");
  const Json rows = Json::parse(r.out).at("rows");
  ASSERT_EQ(rows.size(), 7U) << "blank lines are none";
  EXPECT_EQ(rows.at(0).at("predicted_us"), rows.at(6).at("predicted_us")) << "a line may end as on Windows";
}

TEST_F(Predict, BatchNeverRefusesWhatHasRun) {
  const std::string file = write("b.jsonl", line(R"("id": "wide", "measured_us": 50, )", 64));
  EXPECT_GT(json(batch(file)).at("rows").at(0).at("predicted_us"), 0);
}

TEST_F(Predict, AnEmptyBatchIsADocumentWithoutRows) {
  const Json document = json(batch(write("b.jsonl", "")));
  EXPECT_TRUE(document.at("rows").is_array());
  EXPECT_EQ(document.at("rows").size(), 0U);
  EXPECT_EQ(document.at("summary").at("rows"), 0);
}

TEST_F(Predict, ProgramReportsEveryMistakeWithItsPlace) {
  write("p.json", "{\"nodes\": 3,\n \"node\": 1}");
  EXPECT_EQ(bad_input(program("p.json")),
            "p.json:1:11: nodes: expected a list, got the number 3\n"
            "p.json:2:2: unknown key 'node' in a program; did you mean 'nodes'?\n");
  write("wide.json", R"({"arch": "v100", "nodes": [)" + line("", 64) + "]}");
  EXPECT_EQ(bad_input(program("wide.json")),
            "wide.json:1:166: threads a block: needs 4096, v100 has 1024 (core.max_block_threads)\n");
  write("text.json", "no JSON");
  EXPECT_THAT(bad_input(program("text.json", {"--json"})), StartsWith("text.json:1:"));
}

TEST_F(Predict, FilesThatCannotBeRead) {
  std::filesystem::create_directory(path("folder"));
  for (const auto& read : {&program, &batch}) {
    EXPECT_EQ(bad_input((*read)("none", {})), "none: cannot be read: No such file or directory\n");
  }
  EXPECT_EQ(bad_input(program("folder", {"--json"})), "folder: cannot be read: it is a folder\n");
  EXPECT_EQ(bad_input(batch("folder", {"--json"})),
            "folder: a folder without programs.jsonl, which compile -o writes\n");
}

TEST_F(Predict, ProgramAndItsTable) {
  write("p.json", R"({"arch": "v100", "nodes": [)" + line("") + "]}");
  const Json document = json(program("p.json"));
  EXPECT_THAT(keys_of(document.at("levels")), ElementsAre("dram", "l2", "l1", "smem"));
  const CliResult r = run(program("p.json"));
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, StartsWith("p.json on v100: "));
  EXPECT_THAT(r.out, testing::ContainsRegex(R"(v100: [0-9.]+ us \(80 % interval [0-9.]+ to [0-9.]+ us\), bound by )"));
  EXPECT_THAT(r.out, HasSubstr("bound by " + document.at("bottleneck").get<std::string>()));
}

TEST_F(Predict, NotesThatAProgramWasMadeForAnotherChip) {
  write("p.json", R"({"arch": "v100", "nodes": [)" + line("") + "]}");
  const CliResult r = run({"predict", "--arch", "k80", "--program", "p.json", "--json"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "note: p.json: made for v100, used on k80\n");
  EXPECT_TRUE(Json::parse(r.out).contains("predicted_us"));
}

TEST_F(Predict, SetChangesTheTime) {
  write("p.json", R"({"arch": "v100", "nodes": [)" + line("") + "]}");
  const CliResult r = run(program("p.json", {"--json", "--set", "clock=0.69 GHz"}));
  EXPECT_GT(Json::parse(r.out).at("predicted_us"), json(program("p.json")).at("predicted_us"));
  EXPECT_THAT(r.err, StartsWith("note: --set clock"));
}

}  // namespace
}  // namespace tilescope::tests
