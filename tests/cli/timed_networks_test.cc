// SPDX-License-Identifier: Apache-2.0
// `network --arch`: times of networks on chips, what keeps them, and what else works on a network: explain, sweeps.

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

class TimedNetwork : public Cli {
 protected:
  void SetUp() override {
    write("mine.yaml", R"(about: two products
variables: {rows: 4, width: 2 * rows}
inputs: {x: [rows, width]}
nodes:
  - y = Relu(MatMul(x, weight[width, width]))
  - z[i,j] +=! y[i,k] * y[j,k]
  - z = Softmax(z)
)");
  }

  static double sum(const Json& groups, const char* key) {
    double out = 0;
    for (const Json& g : groups) out += g.at(key).get<double>();
    return out;
  }
};

// A norm's two stages, written in notation, are one kernel; layers are equal but for the first's inputs.
TEST_F(TimedNetwork, LayersShareKernels) {
  const Json j =
      json_of_noted({"network", "llama3-8b", "--size", "layers=3,past=127", "--dtype", "f16", "--arch", "h200"});
  bool joined = false;
  for (const Json& g : j.at("groups")) {
    const std::string nodes = g.at("nodes").dump();
    joined =
        joined || (nodes.find("norm1.power") != std::string::npos && nodes.find("norm1.norm") != std::string::npos);
    EXPECT_LE(g.at("speed_of_light_us"), g.at("predicted_us")) << nodes;
  }
  EXPECT_TRUE(joined);
  EXPECT_LT(j.at("distinct").get<int>(), j.at("total").at("groups").get<int>() / 2);
  EXPECT_LT(j.at("total").at("predicted_us"), j.at("unfused").at("predicted_us"));
}

// Queries, keys and values of one token are a product's columns where that is faster; simplifications that are chosen
// by name leave them apart, as do nodes that stay alone.
TEST_F(TimedNetwork, ProductsOfOneInputAreOneWhereThatIsFaster) {
  const auto times = [&](std::vector<std::string> args, const char* pass, const char* fuse) {
    for (const char* more : {"--pass", pass, "--fuse", fuse}) args.emplace_back(more);
    return json_of_noted(args);
  };
  const auto joined = [](const Json& j) { return j.at("groups").dump().find("joined") != std::string::npos; };
  const std::vector<std::string> args = {"network", "llama3-8b", "--size", "layers=2,past=127",
                                         "--dtype", "f16",       "--arch", "h200"};
  const Json all = times(args, "all", "all"), chosen = times(args, "unread", "all"), alone = times(args, "all", "none");
  EXPECT_LT(all.at("total").at("predicted_us"), chosen.at("total").at("predicted_us"));
  EXPECT_TRUE(joined(all));
  EXPECT_FALSE(joined(chosen));
  EXPECT_FALSE(joined(alone));
}

TEST_F(TimedNetwork, ALargerOneThanTheChipIsRefused) {
  EXPECT_THAT(bad_input({"network", "llama3-70b", "--dtype", "f16", "--arch", "v100"}),
              HasSubstr("GB, and the network needs 141"));
}

// Two equal sums of different arrays, before them the same but for one array that fills the L2 or does not.
TEST_F(TimedNetwork, AnotherCacheIsAnotherSimulation) {
  write("windows.yaml", R"(about: what a kernel finds
inputs: {x: [512, 1024], w: [512, 1024], big: [4096, 2048]}
nodes:
  - s1[a,b] = x[a,b] * 2
  - r1[a] +=! w[a,b]
  - r2[a] +=! w[a,b]
  - r3[a] +=! w[a,b]
  - p1[a] max=! s1[a,b]
  - s2[a,b] = x[a,b] * 2
  - f[a] +=! big[a,b]
  - r4[a] +=! w[a,b]
  - r5[a] +=! w[a,b]
  - r6[a] +=! w[a,b]
  - p2[a] max=! s2[a,b]
outputs: [r1, r2, r3, p1, f, r4, r5, r6, p2]
)");
  const Json j = json_of_noted({"network", "windows.yaml", "--arch", "v100", "--fuse", "none", "--simulate"});
  const Json &kept = j.at("groups").at(4), &evicted = j.at("groups").at(10);
  ASSERT_EQ(kept.at("nodes").at(0), "p1");
  ASSERT_EQ(evicted.at("nodes").at(0), "p2");
  EXPECT_EQ(kept.at("program"), evicted.at("program"));
  EXPECT_LT(kept.at("simulated_dram_bytes"), 1e5);
  EXPECT_GT(evicted.at("simulated_dram_bytes"), 2e6);
}

// Where no group has a program there is a table with the reasons, and no simulated time.
TEST_F(TimedNetwork, NothingThatRuns) {
  write("f64.yaml", "about: f64\ninputs: {x: [64, 64]}\nnodes:\n  - y = MatMul(x, weight[64, 64])\n");
  const CliResult r = run({"network", "f64.yaml", "--dtype", "f64", "--arch", "ipu_gc2"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("no program: "));
  EXPECT_THAT(r.out, HasSubstr("1 of 1 groups have no time, and are in no sum"));
  write("view.yaml", "about: a view\ninputs: {x: [64, 64]}\nnodes:\n  - y = Reshape(x, [4096])\n");
  EXPECT_EQ(run({"network", "view.yaml", "--arch", "a100", "--simulate"}).status, 0);
}

// A time, or a sentence: chips without a DRAM hold a network in their cores.
TEST_F(TimedNetwork, EveryChipAnswers) {
  const Json devices = json_of_noted({"arch", "list"});
  for (const Json& device : devices.at("devices")) {
    const auto chip = device.at("name").get<std::string>();
    const CliResult r = run({"network", "mine.yaml", "--size", "rows=64", "--arch", chip, "--json"});
    ASSERT_TRUE(r.status == 0 || r.status == 1) << chip << r.err;
    const Json j = Json::parse(r.out);
    EXPECT_GT(j.at("total").at("predicted_us"), 0) << chip;
    EXPECT_EQ(j.at("memory").at("constant_bytes"), 4 * 128 * 128) << chip;
    for (const Json& g : j.at("groups")) EXPECT_NE(g.contains("predicted_us"), g.contains("error")) << chip << g.dump();
  }
  EXPECT_THAT(bad_input({"network", "llama3-8b", "--size", "layers=2", "--arch", "ipu_gc200"}),
              HasSubstr("of 1472 cores of ipu_gc200 holds"));
}

// The simulator runs the same kernels on what those before them left. Layers after the second are met as it is.
TEST_F(TimedNetwork, SimulatedBesideThePrediction) {
  const std::vector<std::string> command = {"network", "bert-base", "--size", "layers=4,seq=64", "--arch", "v100"};
  std::vector<std::string> simulated = command;
  simulated.emplace_back("--simulate");
  const Json alone = json_of_noted(command), both = json_of_noted(simulated);
  EXPECT_FALSE(alone.contains("simulation"));
  EXPECT_EQ(both.at("total").at("predicted_us"), alone.at("total").at("predicted_us"));
  EXPECT_DOUBLE_EQ(both.at("total").at("simulated_us"), sum(both.at("groups"), "simulated_us"));
  EXPECT_DOUBLE_EQ(both.at("total").at("simulated_dram_bytes"), sum(both.at("groups"), "simulated_dram_bytes"));
  EXPECT_LT(both.at("simulation").at("simulated").get<double>(),
            0.6 * both.at("simulation").at("programs").get<double>());
  const double ratio =
      both.at("total").at("predicted_us").get<double>() / both.at("total").at("simulated_us").get<double>();
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 2);
  simulated.insert(simulated.end(), {"--jobs", "1"});
  EXPECT_EQ(json_of_noted(simulated), both);
}

// What one kernel wrote, the next one finds in the L2, whoever predicts it.
TEST_F(TimedNetwork, ResultsAreFoundInCaches) {
  const Json j =
      json_of_noted({"network", "mine.yaml", "--size", "rows=512", "--arch", "a100", "--fuse", "none", "--simulate"});
  const Json& relu = j.at("groups").at(1);
  ASSERT_EQ(relu.at("kinds").at(0), "Relu") << relu.dump();
  for (const char* dram : {"dram_bytes", "simulated_dram_bytes"})
    EXPECT_LE(relu.at(dram), 0.5 * relu.at("bytes").get<double>()) << dram;
}

// A chip whose cores exchange has no caches: every different program runs once.
TEST_F(TimedNetwork, SimulatedWithoutCaches) {
  const Json j = json_of_noted({"network", "mine.yaml", "--size", "rows=64", "--arch", "ipu_gc200", "--simulate"});
  EXPECT_EQ(j.at("simulation").at("simulated"), j.at("simulation").at("programs"));
  for (const Json& g : j.at("groups")) EXPECT_GT(g.at("simulated_us"), 0) << g.dump();
}

TEST_F(TimedNetwork, KeptProgramsAreNotConstructedAgain) {
  const std::vector<std::string> command = {"network", "mine.yaml", "--size", "rows=64",
                                            "--arch",  "a100",      "--log",  "log.jsonl"};
  Json first = json_of_noted(command), again = json_of_noted(command);
  EXPECT_GT(first.at("constructed"), 0);
  EXPECT_EQ(first.at("constructed"), first.at("expressions"));
  EXPECT_EQ(again.at("constructed"), 0);
  first.erase("constructed"), again.erase("constructed");
  EXPECT_EQ(first, again);
  // A line that was cut off is constructed again; one of another chip or another version is not taken.
  std::string text = text_of_file(path("log.jsonl"));
  write("log.jsonl", text.substr(0, text.size() - 20));
  EXPECT_EQ(json_of_noted(command).at("constructed"), 1);
  std::vector<std::string> changed = command;
  changed.insert(changed.end(), {"--set", "launch_overhead=3 us"});
  EXPECT_GT(json_of_noted(changed).at("constructed"), 0);
  const auto version = text.find("\"version\":\"") + 11;
  for (std::size_t at = version; at != 10 && at != std::string::npos; at = text.find("\"version\":\"", at) + 11)
    text[at] = text[at] == 'f' ? '0' : 'f';
  write("other.jsonl", text);
  std::vector<std::string> other = command;
  other.back() = "other.jsonl";
  EXPECT_THAT(run(other).err, HasSubstr("lines are of another version of Tilescope, and are not read"));
  // A file of something else is left as it is.
  const std::string mine = text_of_file(path("mine.yaml"));
  other.back() = "mine.yaml";
  const CliResult refused = run(other);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("mine.yaml: holds other things than programs"));
  EXPECT_EQ(text_of_file(path("mine.yaml")), mine);
}

TEST_F(TimedNetwork, ProgramsInAFolder) {
  const Json j = json_of_noted({"network", "mine.yaml", "--arch", "a100", "-o", "kernels"});
  EXPECT_EQ(Json::parse(text_of_file(path("kernels/network.json"))), j);
  for (const Json& g : j.at("groups")) {
    const std::string file = fmt::format("kernels/{}.json", g.at("program").get<std::string>());
    EXPECT_EQ(run({"verify", "--arch", "a100", "--program", file}).status, 0) << file;
    EXPECT_EQ(run({"emit", "--arch", "a100", "--program", file, "-o", "k.cu"}).status, 0) << file;
  }
  EXPECT_EQ(run({"predict", "--arch", "a100", "--batch", "kernels"}).status, 0);
}

// What the requests have in common is computed once for all of them.
TEST_F(TimedNetwork, RequestsAreComputedTogether) {
  write("r.csv", "sequences,new,past\n8, 1, 512\n1,64,0\n8,1,512\n");
  const auto times = [&](const Args& more) {
    Args args = {"network", "llama3-8b", "--arch", "h200", "--dtype", "bf16", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return json_of_noted(args);
  };
  const Json both = times({"--requests", "r.csv", "--size", "layers=1,page=16"}),
             next = times({"--size", "layers=1,page=16,batch=16,new=1,past=512"}),
             prompt = times({"--size", "layers=1,page=16,batch=1,new=64,past=0"});
  EXPECT_EQ(both.at("tokens").at("new"), 16 + 64);
  const auto us = [](const Json& t) { return t.at("total").at("predicted_us").get<double>(); };
  EXPECT_LT(us(both), us(next) + us(prompt));
  EXPECT_GT(us(both), us(next));
  EXPECT_GT(us(both), us(prompt));
  EXPECT_EQ(both.at("tokens").at("cache_bytes"), 2 * 2 * 16 * 512 * 8 * 128);
  const auto refused = [&](const std::string& file) {
    write("bad.csv", file);
    return bad_input({"network", "llama3-8b", "--arch", "h200", "--requests", "bad.csv"});
  };
  EXPECT_EQ(refused("new,past\n1,2,3\n1,x\n0,2\n"),
            "bad.csv:2:1: expected 2 columns, got 3\n"
            "bad.csv:3:3: past: expected a whole number from 0 to 10000000, got 'x'\n"
            "bad.csv:4:1: new: expected a whole number from 1 to 10000000, got '0'\n");
  EXPECT_EQ(refused("new,post\n1,2\n"),
            "bad.csv:1:1: no column 'past'\n"
            "bad.csv:1:5: expected the columns new and past, and sequences where it is not 1, got 'post'\n");
  EXPECT_EQ(refused("new,past\n"), "bad.csv: no requests\n");
  EXPECT_THAT(bad_input({"network", "resnet18", "--arch", "h200", "--requests", "r.csv"}),
              HasSubstr("the network has no block with `each: request`"));
}

TEST_F(TimedNetwork, Explained) {
  const Json j = json_of_noted({"explain", "--network", "mine.yaml", "--size", "rows=512", "--arch", "a100"});
  const Json times = json_of_noted({"network", "mine.yaml", "--size", "rows=512", "--arch", "a100"});
  EXPECT_EQ(j.at("operators").size(), times.at("distinct"));
  EXPECT_THAT(run({"explain", "--network", "mine.yaml", "--size", "rows=512", "--arch", "a100"}).out,
              HasSubstr("clock"));
  EXPECT_THAT(bad_input({"explain", "--network", "nowhere.yaml", "--arch", "a100"}), HasSubstr("cannot be read"));
}

TEST_F(TimedNetwork, InASweep) {
  write("sweep.yaml", R"(sweep: of a network
base: a100
axes: {core.count: [54, 108]}
workloads:
  - {network: mine.yaml, size: rows=512, weight: 2}
)");
  const Json j = json_of_noted({"sweep", "sweep.yaml", "--store", "s.db"});
  double us = 0;  // after cold caches
  const Json alone = json_of_noted({"explain", "--network", "mine.yaml", "--size", "rows=512", "--arch", "a100"});
  for (const Json& op : alone.at("operators")) us += op.at("predicted_us").get<double>();
  EXPECT_NEAR(j.at("bases").at(0).at("weighted_us").get<double>(), 2 * us, 1e-6);
  EXPECT_GT(j.at("points").at("done"), 0);
  EXPECT_EQ(j.at("rows").at("failed"), 0);
  EXPECT_EQ(json_of_noted({"sweep", "sweep.yaml", "--store", "s.db"}).at("computed"), 0);
  // As a sequence, a base takes what `network` says.
  write("sequence.yaml", R"(sweep: in a sequence
base: a100
axes: {core.count: [54]}
workloads:
  - {network: mine.yaml, size: rows=512}
sequence: true
)");
  const Json stored = json_of_noted({"sweep", "sequence.yaml", "--store", "q.db"});
  const Json times = json_of_noted({"network", "mine.yaml", "--size", "rows=512", "--arch", "a100"});
  EXPECT_NEAR(stored.at("bases").at(0).at("weighted_us").get<double>(),
              times.at("total").at("predicted_us").get<double>(), 1e-6);
  write("twice.yaml", R"(sweep: several of one network
base: a100
axes: {core.count: [54]}
workloads:
  - {network: mine.yaml, size: rows=64}
  - {network: mine.yaml, size: rows=128}
  - {network: mine.yaml, size: rows=256, weight: 3}
  - {network: mine.yaml, size: rows=256}
sequence: true
)");
  const Json twice = json_of_noted({"sweep", "twice.yaml", "--store", "t.db"});
  EXPECT_EQ(twice.at("rows").at("failed"), 0);
  EXPECT_EQ(twice.at("rows").at("all").get<std::size_t>() % 4, 0U);
  write("wrong.yaml", R"(sweep: wrong
base: a100
axes: {core.count: [54]}
workloads:
  - {network: nowhere}
)");
  EXPECT_THAT(bad_input({"sweep", "wrong.yaml", "--store", "w.db"}),
              HasSubstr("wrong.yaml:5:15: network: 'nowhere': unknown network"));
}

}  // namespace
}  // namespace tilescope::tests
