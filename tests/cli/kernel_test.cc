// SPDX-License-Identifier: Apache-2.0
// Kernels as input: a transpose by hand through every command that takes kernels, and what a program becomes.

#include <bit>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Kernels : public Cli {
 protected:
  static std::string transpose() { return source_path("examples/transpose.json").string(); }
  static Args on(const std::string& command, const std::string& file, const Args& more = {}) {
    return with({command, "--arch", "a100", "--kernel", file}, more);
  }
};

TEST_F(Kernels, ByHandAreSimulated) {
  const Json row = json(on("simulate", transpose())).at("operators").at(0);
  EXPECT_GT(row.at("cycles"), 0);
  EXPECT_EQ(row.at("blocks"), 1024);
  EXPECT_FALSE(row.contains("predicted_us"));
  EXPECT_EQ(row.at("levels").at("l2").at("written_bytes"), 1024 * 1024 * 4);
  EXPECT_THAT(run(on("simulate", transpose())).out, AllOf(HasSubstr("simulated"), Not(HasSubstr("predicted"))));
}

TEST_F(Kernels, ByHandAreVerifiedAgainstWhatTheyCompute) {
  const Json row = json_of_noted(on("verify", transpose())).at("rows").at(0);
  EXPECT_EQ(row.at("correct"), true);
  EXPECT_EQ(row.at("counters_ok"), true);
  EXPECT_EQ(row.at("compared_outputs"), 1024 * 1024);
  // What it does not transpose is found, and what it does not compute.
  std::string wrong = text_of_file(transpose());
  wrong.replace(wrong.find("O[j,i] = I[i,j]"), 15, "O[i,j] = I[i,j]");
  const CliResult r = run(on("verify", write("wrong.json", wrong)));
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("wrong: off by"));
  std::string silent = text_of_file(transpose());
  silent.erase(silent.find("  \"computes\""), silent.find("  \"arrays\"") - silent.find("  \"computes\""));
  const CliResult nothing = run(on("verify", write("silent.json", silent)));
  EXPECT_EQ(nothing.status, 2);
  EXPECT_EQ(nothing.err,
            "silent.json: there is nothing to verify against: the document does not say what it 'computes'\n");
}

TEST_F(Kernels, ByHandAreEmitted) {
  const CliResult r = run(on("emit", transpose()));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("// O[j,i] = I[i,j]"), HasSubstr(" transpose("), HasSubstr("__syncthreads();")));
}

TEST_F(Kernels, AreCountedAndNotPredicted) {
  const Json document = json(on("predict", transpose()));
  EXPECT_TRUE(document.at("predicted_us").is_null());
  const Json levels = document.at("kernels").at(0).at("levels");
  constexpr int kBytes = 1024 * 1024 * 4, kWarps = 1024 * 1024 / 32;
  for (const char* level : {"l2", "smem"}) {
    EXPECT_EQ(levels.at(level).at("read_bytes"), kBytes);
    EXPECT_EQ(levels.at(level).at("written_bytes"), kBytes);
    EXPECT_EQ(levels.at(level).at("requests"), 2 * kWarps);
  }
  EXPECT_EQ(levels.at("l2").at("transactions"), 2 * kBytes / 32);
  EXPECT_EQ(levels.at("smem").at("transactions"), 2 * kWarps);  // the padding leaves no conflict
  EXPECT_EQ(document.at("kernels").at(0).at("operations"), 0);
  EXPECT_THAT(run(on("predict", transpose())).out, HasSubstr("no time: the model reads programs, not kernels"));
}

TEST_F(Kernels, OfAProgramTakeAsManyCycles) {
  const Args op = {"--op", kMatmul, "--size", "m=128,n=64,k=64"};
  const CliResult printed = run(with(with({"compile", "--arch", "a100"}, op), {"--print", "kernel", "--json"}));
  ASSERT_EQ(printed.status, 0) << printed.err;
  const std::string file = write("k.json", printed.out);
  const Json by_program = json(with({"simulate", "--arch", "a100", "--mode", "full"}, op)).at("operators").at(0);
  const Json by_kernels = json(on("simulate", file, {"--mode", "full"})).at("operators").at(0);
  for (const char* key : {"cycles", "stalls", "levels", "blocks"}) EXPECT_EQ(by_kernels.at(key), by_program.at(key));
  const Json counts = json(on("predict", file)).at("kernels").at(0);
  // And of every lane as many additions as sums are halved among those that share one.
  const Json program = json(with({"compile", "--arch", "a100"}, op)).at("operators").at(0).at("programs").at(0);
  const Json mapping = program.at("program").at("nodes").at(0).at("mapping");
  const int sharers = mapping.contains("k") ? mapping.at("k").at("threads").get<int>() : 1;
  EXPECT_EQ(counts.at("operations"), 2 * 128 * 64 * 64 + std::countr_zero(unsigned(sharers)) * sharers * 128 * 64);
}

TEST_F(Kernels, MistakesAreNamed) {
  const auto refused = [&](const Args& args, const char* what) {
    const CliResult r = run(args);
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr(what));
  };
  const std::string bad = write("bad.json", "{\"format\": 1,\n \"kernels\": 3}");
  for (const char* command : {"simulate", "verify", "emit", "predict"}) {
    refused(on(command, bad), "bad.json:2:13: kernels: expected a list, got the number 3");
    refused(on(command, "none.json"), "none.json: ");
    refused({command, "--arch", "bow_ipu", "--kernel", transpose()}, "bow_ipu is a chip of class bsp");
  }
  EXPECT_NE(run(on("simulate", transpose(), {"--op", kMatmul})).status, 0);
  EXPECT_NE(run({"emit", "--arch", "a100"}).status, 0);
}

}  // namespace
}  // namespace tilescope::tests
