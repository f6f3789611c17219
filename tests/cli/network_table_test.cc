// SPDX-License-Identifier: Apache-2.0
// `network --table`: times over a grid of a network's variables.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;
using Row = std::map<std::string, std::string>;

class NetworkTable : public Cli {
 protected:
  void SetUp() override {
    write("mine.yaml", R"(about: two products
variables: {rows: 4, width: 64}
inputs: {x: [rows, width]}
nodes:
  - y = Relu(MatMul(x, weight[width, width]))
  - y = Relu(MatMul(y, weight[width, width]))
  - z[i,j] +=! y[i,k] * y[j,k]
  - z = Softmax(z)
)");
  }

  // Rows of a file without quoted cells.
  std::vector<Row> rows(const std::string& file) const {
    std::istringstream in(text_of_file(path(file)));
    std::vector<std::string> columns;
    std::vector<Row> out;
    for (std::string line; std::getline(in, line);) {
      std::vector<std::string> cells;
      std::istringstream parts(line + ",");
      for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
      if (columns.empty()) {
        columns = cells;
        continue;
      }
      EXPECT_EQ(cells.size(), columns.size()) << line;
      Row& r = out.emplace_back();
      for (std::size_t c = 0; c < columns.size(); ++c) r[columns[c]] = cells[c];
    }
    return out;
  }
};

const Args kLlama = {"network", "llama3-8b", "--size", "layers=2", "--dtype", "bf16", "--arch", "h200"};

// What `network` says of one point, and what a serving simulator reads of it.
TEST_F(NetworkTable, PointsAreThoseOfTheNetwork) {
  const Json done = json_of_noted(with(kLlama, {"--table", "new=1|32,past=0|64", "-o", "t.csv"}));
  EXPECT_EQ(done.at("points"), 4);
  EXPECT_EQ(done.at("computed"), 4);
  Args point = kLlama;
  point[3] += ",new=32,past=64";
  const Json alone = json(point);
  double us = 0, dram = 0, kernels = 0;
  Row total, head;
  int attention = 0, decode = 0;
  for (const Row& r : rows("t.csv")) {
    EXPECT_EQ(r.at("device"), "h200");
    EXPECT_EQ(r.at("model"), "llama3-8b");
    EXPECT_EQ(r.at("dtype"), "bf16");
    EXPECT_EQ(r.at("error"), "");
    decode += r.at("kind") == "decode" ? 1 : 0;
    if (r.at("kind") == "decode") {
      EXPECT_EQ(r.at("n_decode") + r.at("prefill_chunk"), "10");
    }
    if (r.at("size.new") != "32" || r.at("size.past") != "64") continue;
    EXPECT_EQ(r.at("tokens"), "32");
    if (r.at("kind") == "total") {
      total = r;
      continue;
    }
    const double count = std::stod(r.at("count"));
    us += count * std::stod(r.at("time_us"));
    dram += count * std::stod(r.at("dram_bytes"));
    kernels += count * std::stod(r.at("kernels"));
    if (r.at("kind") == "gemm") {
      EXPECT_EQ(r.at("m"), "32") << r.at("layer");
      if (r.at("layer") == "logits") head = r;
      EXPECT_EQ(r.at("elements"), "");
    }
    EXPECT_TRUE(r.at("kind") != "prefill" || r.at("layer").find(".attend") != std::string::npos) << r.at("layer");
    if (r.at("kind") != "prefill") continue;
    ++attention;
    EXPECT_EQ(r.at("q_heads") + " " + r.at("kv_heads") + " " + r.at("head_dim"), "32 8 128");
    EXPECT_EQ(r.at("prefill_chunk") + " " + r.at("prefill_past"), "32 64");
    EXPECT_EQ(r.at("n_decode") + " " + r.at("decode_past"), "0 0");
  }
  EXPECT_EQ(head["n"] + " " + head["k"], "128256 4096");
  EXPECT_GE(attention, 1);
  EXPECT_GE(decode, 3);
  const double all = alone.at("total").at("predicted_us");
  EXPECT_EQ(std::stod(total.at("time_us")), all);
  EXPECT_NEAR(us, all, 1e-9 * all);
  EXPECT_NEAR(dram, alone.at("total").at("dram_bytes").get<double>(), 1e-9 * dram);
  EXPECT_EQ(kernels, alone.at("total").at("kernels").get<double>());
  EXPECT_EQ(std::stod(total.at("memory_bytes")), alone.at("memory").at("bytes").get<double>());
}

// Threads and killed processes leave no trace; a kernel of several points is constructed once.
TEST_F(NetworkTable, GoesOnWhereItWasKilled) {
  const Args command = with(kLlama, {"--table", "new=1..8*2,past=0|64|128", "-o"});
  const Json whole = json_of_noted(with(command, {"whole.csv", "--jobs", "2"}));
  const std::string expected = text_of_file(path("whole.csv"));
  Args point = kLlama;
  point[3] += ",new=8,past=128";
  EXPECT_LT(whole.at("constructed").get<double>(), 0.8 * 12 * json_of_noted(point).at("expressions").get<double>());

  constexpr std::uintmax_t kSeveralPoints = 10000;  // bytes of their rows
  const pid_t child = start(with(command, {"t.csv", "--jobs", "2", "--log", "log.jsonl"}));
  const auto is_begun = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(path("t.csv"), none);
    return !none && size > kSeveralPoints;
  };
  while (is_running(child) && !is_begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, SIGKILL);
  end_of(child);
  std::string left = text_of_file(path("t.csv"));
  EXPECT_GT(left.size(), kSeveralPoints);
  write("t.csv", left.substr(0, left.size() - 10));  // as a full disk may cut it
  const Json rest = json_of_noted(with(command, {"t.csv", "--jobs", "1", "--log", "log.jsonl"}));
  EXPECT_LT(rest.at("computed").get<int>(), 12);
  EXPECT_GT(rest.at("computed").get<int>(), 0);
  EXPECT_LT(rest.at("constructed"), rest.at("expressions"));
  EXPECT_EQ(rest.at("rows"), whole.at("rows"));
  EXPECT_EQ(text_of_file(path("t.csv")), expected);
  // All is there; a larger grid adds to it.
  EXPECT_EQ(json(with(command, {"t.csv"})).at("computed"), 0);
  const Json more = json_of_noted(with(kLlama, {"--table", "new=1|96,past=0|64", "-o", "t.csv"}));
  EXPECT_EQ(more.at("computed"), 2);
  EXPECT_GT(more.at("rows"), whole.at("rows"));
}

TEST_F(NetworkTable, OfAnotherChipIsRefused) {
  const Args command = {"network", "mine.yaml", "--arch", "a100", "--table", "rows=4|8", "-o", "t.csv"};
  EXPECT_EQ(json(command).at("points"), 2);
  const std::string before = text_of_file(path("t.csv"));
  EXPECT_THAT(bad_input(with(command, {"--set", "launch_overhead=3 us"})), HasSubstr("t.csv: holds times of another"));
  EXPECT_THAT(bad_input(with(command, {"--size", "width=32"})), HasSubstr("t.csv: holds times of another"));
  EXPECT_THAT(bad_input(with(command, {"--fuse", "none"})), HasSubstr("t.csv: holds times of another"));
  Args columns = command;
  columns[5] = "width=4|8";
  EXPECT_THAT(bad_input(columns), HasSubstr("t.csv:1:1: expected the columns of this table"));
  EXPECT_EQ(text_of_file(path("t.csv")), before);
  write("t.csv", before + "words\nwords\n");
  EXPECT_THAT(bad_input(command), HasSubstr("expected a row of this table"));
  write("other.csv", "a,b\n");
  Args other = command;
  other.back() = "other.csv";
  EXPECT_THAT(bad_input(other), HasSubstr("other.csv:1:1: expected the columns"));
  EXPECT_EQ(text_of_file(path("other.csv")), "a,b\n");
}

// What does not fit has a row that says so; what has no program has one too.
TEST_F(NetworkTable, RowsWithReasons) {
  const Json refused = json({"network", "mine.yaml", "--arch", "a100", "--set", "memory.dram.capacity=64 KiB",
                             "--table", "rows=4|80|1024", "-o", "r.csv"});
  EXPECT_EQ(refused.at("refused"), 2);
  const std::string text = text_of_file(path("r.csv"));
  EXPECT_THAT(text, HasSubstr("refused: dram of a100 holds 6.554e-05 GB, and the network needs"));
  EXPECT_THAT(text, HasSubstr("and constants and inputs alone are 0.0002949"));
  write("f64.yaml",
        "about: f64\nvariables: {n: 64}\ninputs: {x: [n, 64]}\nnodes:\n  - y = MatMul(x, weight[64, 64])\n");
  const CliResult r =
      run({"network", "f64.yaml", "--dtype", "f64", "--arch", "ipu_gc2", "--table", "n=64", "-o", "f.csv"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("f.csv: 1 points, 1 computed now, 0 of them refused and 1 without a time; 2 rows"));
  EXPECT_THAT(text_of_file(path("f.csv")), HasSubstr("1 of 1 groups have no time"));
}

TEST_F(NetworkTable, Mistakes) {
  const Args command = {"network", "mine.yaml", "--arch", "a100", "--table"};
  EXPECT_THAT(bad_input(with(command, {"rows=1"})), HasSubstr("--table requires --output"));
  EXPECT_THAT(bad_input(with(command, {"rows=1", "-o", "folder"})), HasSubstr("expected a file that ends in .csv"));
  EXPECT_THAT(bad_input(with(command, {"rows=1..9", "-o", "t.csv"})), HasSubstr("--table:1:6: rows: a range ends"));
  EXPECT_THAT(
      bad_input(with(command, {"row=1", "-o", "t.csv"})),
      HasSubstr("--table: the network has no variable 'row', expected one of rows, width; did you mean 'rows'?"));
  EXPECT_THAT(bad_input(with(command, {"rows=1", "--size", "rows=2", "-o", "t.csv"})),
              HasSubstr("--table: 'rows' has a value in --size"));
  EXPECT_THAT(bad_input(with(command, {"rows=1..1001+1,width=1..1000+1", "-o", "t.csv"})),
              HasSubstr("more than 1000000 points"));
  EXPECT_THAT(bad_input(with(command, {"rows=1", "--simulate", "-o", "t.csv"})), HasSubstr("excludes"));
  EXPECT_FALSE(std::filesystem::exists(path("t.csv")));
  std::filesystem::create_directory(path("folder.csv"));
  const CliResult r = run(with(command, {"rows=1", "-o", "folder.csv"}));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("folder.csv: expected a regular file"));
}

TEST_F(NetworkTable, ColumnsInWords) {
  const CliResult r = run({"network", "mine.yaml", "--arch", "a100", "--table", "rows=4", "-o", "t.csv", "--legend"});
  EXPECT_EQ(r.status, 0);
  const std::string header = text_of_file(path("t.csv")).substr(0, text_of_file(path("t.csv")).find('\n'));
  std::istringstream columns(header);
  for (std::string c; std::getline(columns, c, ',');)
    EXPECT_THAT(r.out, HasSubstr(c.starts_with("size.") ? "size.NAME" : c));
}

}  // namespace
}  // namespace tilescope::tests
