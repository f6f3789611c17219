// SPDX-License-Identifier: Apache-2.0
// Lists of operators of one's own: suite list, show, check, schema, and --suite FILE in every verb.

#include <map>

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kLayer = R"(variables: {seq: 64, wide: 2 * seq}
operators:
  - {id: up, op: 'C[m,n] +=! A[m,k] * B[n,k]', sizes: {m: batch * seq, n: wide, k: 64}, count: 3}
  - {id: add, op: 'O[i] = X[i] + Y[i]', sizes: {i: batch * seq * 64}}
  - {id: softmax, op: 'M[i] max=! X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]',
     sizes: {i: seq, j: seq}, count: 2}
)";

class Suite : public Cli {
 protected:
  Suite() { write("layer.yaml", kLayer); }
  static Args with_layer(const std::string& verb, const Args& more = {}) {
    return with({verb, "--arch", "v100", "--suite", "layer.yaml", "--size", "batch=2"}, more);
  }
};

TEST_F(Suite, VerbsAboutSuites) {
  std::vector<std::string> names;
  const Json suites = json({"suite", "list"});
  for (const Json& s : suites.at("suites")) names.push_back(s.at("name"));
  EXPECT_THAT(names, testing::IsSupersetOf({"roller", "examples", "transformer_layer"}));
  const Json shown = json({"suite", "show", "layer.yaml", "--size", "batch=2,seq=32"});
  EXPECT_EQ(shown.at("variables"), Json::parse(R"({"seq":32,"wide":64,"batch":2})"));
  EXPECT_EQ(shown.at("operators").at(0).at("sizes"), "m=64 n=64 k=64");
  EXPECT_EQ(shown.at("operators").at(0).at("operations"), 2.0 * 64 * 64 * 64);
  EXPECT_EQ(shown.at("operators").at(0).at("operator"),
            "C[m,n] +=! A[m,k] * B[n,k] m=64 n=64 k=64 A[64,64] B[64,64] C[64,64] f32");
  EXPECT_EQ(shown.at("operators").at(2).at("kind"), "several stages");
  EXPECT_EQ(run({"suite", "check", "layer.yaml", "--size", "batch=2"}).out, "layer.yaml: 3 operators: good\n");
  EXPECT_EQ(run({"suite", "schema"}).out, text_of_file(source_path("expr/suite.schema.json")));
  EXPECT_THAT(bad_input({"suite", "check", "layer.yaml"}),
              HasSubstr("layer.yaml:3:59: the variable 'batch' has no value; give it one by --size batch=N"));
  EXPECT_THAT(bad_input(with_layer("compile", {"--dtype", "F16"})), HasSubstr(", got 'F16'; did you mean 'f16'?\n"));
}

TEST_F(Suite, TotalsCountOperatorsAsOftenAsTheyOccur) {
  const Json compiled = json(with_layer("compile", {"--top", "1"}));
  std::map<std::string, double> us;
  double sum = 0, operations = 0;
  for (const Json& op : compiled.at("operators")) {
    us[op.at("id")] = op.at("programs").at(0).at("predicted_us");
    sum += op.at("count").get<double>() * us[op.at("id")];
    operations += op.at("count").get<double>() * op.at("operations").get<double>();
  }
  const Json& total = compiled.at("total");
  EXPECT_EQ(total.at("count"), 6);
  EXPECT_DOUBLE_EQ(total.at("predicted_us"), sum);
  EXPECT_DOUBLE_EQ(total.at("operations"), operations);
  EXPECT_NEAR(total.at("gflops").get<double>(), operations / sum * 1e-3, 1e-6);
  double bound = 0;
  for (const Json& b : total.at("bound")) bound += b.at("ratio").get<double>();
  EXPECT_NEAR(bound, 1, 1e-9);
  const CliResult table = run(with_layer("compile", {"--top", "1"}));
  EXPECT_THAT(table.out, HasSubstr("operator kind           count block tile"));
  EXPECT_THAT(table.out, HasSubstr("\ntotal                       6 "));

  const Json explained = json_of_noted(with_layer("explain"));
  EXPECT_DOUBLE_EQ(explained.at("total").at("predicted_us"), sum);
  const Json simulated = json(with_layer("simulate"));
  double simulated_sum = 0;
  for (const Json& op : simulated.at("operators"))
    simulated_sum += op.at("count").get<double>() * op.at("simulated_us").get<double>();
  EXPECT_DOUBLE_EQ(simulated.at("total").at("simulated_us"), simulated_sum);
  const Json compared =
      json(with({"compare", "--arch", "v100", "--suite", "layer.yaml", "--size", "batch=2"}, {"--simulate"}));
  EXPECT_EQ(compared.at("summary").at("total").at("count"), 6);
  EXPECT_EQ(json(with_layer("verify", {"--scale", "small"})).at("rows").size(), 3U);
}

TEST_F(Suite, WhatCompileWritesGoesIntoABatch) {
  // A program knows its own operations, of which one with stages inlined has others than the suite's.
  const Json compiled = json(with_layer("compile", {"--top", "2", "--fuse", "none", "-o", "p"}));
  const Json predicted = json({"predict", "--arch", "v100", "--batch", "p"});
  std::vector<std::string> ids;
  for (const Json& row : predicted.at("rows")) ids.push_back(row.at("id"));
  EXPECT_THAT(ids, ElementsAre("up.0", "up.1", "add.0", "add.1", "softmax.0", "softmax.1"));
  EXPECT_DOUBLE_EQ(predicted.at("rows").at(0).at("predicted_us"),
                   compiled.at("operators").at(0).at("programs").at(0).at("predicted_us"));
  EXPECT_DOUBLE_EQ(predicted.at("rows").at(5).at("predicted_us"),
                   compiled.at("operators").at(2).at("programs").at(1).at("predicted_us"))
      << "of several stages";
  const Json &total = predicted.at("summary").at("total"), &expected = compiled.at("total");
  for (const char* key : {"operators", "timed", "count", "operations", "bound"})
    EXPECT_EQ(total.at(key), expected.at(key));
  EXPECT_DOUBLE_EQ(total.at("predicted_us"), expected.at("predicted_us"));
  EXPECT_DOUBLE_EQ(total.at("gflops"), expected.at("gflops"));
  const Json simulated = json({"simulate", "--arch", "v100", "--batch", "p/programs.jsonl"});
  EXPECT_EQ(simulated.at("summary").at("simulated"), 6);
  EXPECT_EQ(simulated.at("summary").at("total").at("count"), 6);
  EXPECT_EQ(json({"compare", "--arch", "v100", "--batch", "p", "--simulate"}).at("summary").at("failed"), 0);
  const CliResult unmeasured = run({"compare", "--arch", "v100", "--batch", "p"});
  EXPECT_EQ(unmeasured.status, 2);
  EXPECT_THAT(unmeasured.err, HasSubstr("p/programs.jsonl:1: measured_us is missing\n"));
}

TEST_F(Suite, ASweepTakesTheFileAndShowsThePoint) {
  write("layers.yaml",
        "sweep: Layers\nbase: v100\naxes: {core.count: [40, 80]}\nworkloads:\n"
        "  - {suite: layer.yaml, size: 'batch=1'}\n  - {suite: layer.yaml, size: 'batch=4', only: [up], weight: 2}\n");
  EXPECT_EQ(run({"sweep", "layers.yaml", "--store", "r.db"}).status, 0);
  const Json rows = json({"export", "r.db", "--rows", "1"});
  EXPECT_EQ(rows.at("at").at("core.count"), "40");
  std::vector<std::string> ids;
  double sum = 0, shares = 0;
  for (const Json& op : rows.at("operators")) {
    ids.push_back(op.at("id"));
    sum += op.at("weight").get<double>() * op.at("time_us").get<double>();
    shares += op.at("share_ratio").get<double>();
  }
  EXPECT_THAT(ids, ElementsAre("up", "add", "softmax", "up batch=4"));
  EXPECT_EQ(rows.at("operators").at(0).at("weight"), 3);
  EXPECT_EQ(rows.at("operators").at(3).at("weight"), 6);
  EXPECT_DOUBLE_EQ(rows.at("weighted_us"), sum);
  EXPECT_NEAR(shares, 1, 1e-9);
  // The number is the table's, status's and export's.
  const std::string table = run({"status", "r.db"}).out;
  EXPECT_THAT(table, HasSubstr("\n1 v100         40 "));
  EXPECT_EQ(json({"export", "r.db", "--rows", "1", "-o", "rows.csv"}).at("point"), 1);
  EXPECT_THAT(text_of_file(path("rows.csv")),
              StartsWith("sweep,point,id,kind,weight,time_us,share_ratio,bottleneck,error\n"
                         "Layers,1,up,matmul,3,"));
  EXPECT_THAT(run({"export", "r.db", "--rows", "1"}).out,
              StartsWith("Layers, point 1 on v100: core.count 40; weighted"));
  EXPECT_EQ(bad_input({"export", "r.db", "--rows", "9"}),
            "--rows 9: the sweep has no such point, expected a number from 0 to 2\n");
  write("wrong.yaml",
        "sweep: Wrong\nbase: v100\naxes: {core.count: [40]}\nworkloads:\n  - {suite: layer.yaml, size: 'batsh=1'}\n");
  EXPECT_THAT(bad_input({"sweep", "wrong.yaml", "--store", "w.db"}),
              HasSubstr("wrong.yaml:5:32: the suite has no variable 'batsh', expected one of"));
}

TEST_F(Suite, EveryMistakeOfInputsIsNamedWhateverElseIsWrong) {
  const std::string up = "operators:\n  - {id: up, op: 'C[m,n] +=! A[m,k] * B[k,n]', sizes: {m: 4, n: 4, k: 4}}\n";
  const std::string of_inputs =
      "wrong.yaml:3:66: X: no earlier operator has the id 'upp'; did you mean 'up'?\n"
      "wrong.yaml:3:74: inputs: act has no input 'Q'\n";
  const auto mistakes = [&](const std::string& size, const std::string& last) {
    write("wrong.yaml",
          up + "  - {id: act, op: 'O[i] = X[i] * 2', sizes: {i: " + size + "}, inputs: {X: upp, Q: up}}\n" + last);
    return bad_input({"suite", "check", "wrong.yaml"});
  };
  EXPECT_EQ(mistakes("16", ""), of_inputs);
  EXPECT_EQ(mistakes("16", "  - {id: act, op: 'O[i] = X[i]', sizes: {i: 16}}\n"),
            of_inputs + "wrong.yaml:4:10: the id 'act' is used twice\n");
  EXPECT_EQ(mistakes("16", "  - {id: last, op: 'O[i] = X[i]', sizes: {j: 16}}\n").substr(0, of_inputs.size()),
            of_inputs)
      << "beside a mistake of an expression";
  EXPECT_THAT(mistakes("mm", ""), HasSubstr(of_inputs)) << "the size is not known";
  // Nothing is said of the tensors of what cannot be read.
  const std::string unread = mistakes("16",
                                      "  - {id: a, op: 'O[i] = ', sizes: {i: 16}, inputs: {X: up, Y: ap}}\n"
                                      "  - {id: b, op: 'P[i] = Z[i]', sizes: {i: 16}, inputs: {Z: a.T}}\n");
  EXPECT_THAT(unread, HasSubstr(":4:63: Y: no earlier operator has the id 'ap'; did you mean 'up'?"));
  EXPECT_THAT(unread, testing::Not(HasSubstr(":5:")));
}

TEST_F(Suite, UnknownNamesAreAnswered) {
  EXPECT_THAT(bad_input({"compile", "--arch", "v100", "--suite", "Transformer_layer"}),
              HasSubstr("did you mean 'transformer_layer'?"));
  EXPECT_THAT(bad_input({"compile", "--arch", "V100", "--suite", "layer.yaml", "--size", "batch=1"}),
              HasSubstr("V100: neither a device nor a file; did you mean 'v100'?"));
  EXPECT_THAT(bad_input(with_layer("compile", {"--set", "Memory.smem.banks=16"})), HasSubstr("did you mean 'memory'?"));
  EXPECT_THAT(bad_input({"suite", "check", "nowhere.yaml"}), HasSubstr("nowhere.yaml: cannot be read"));
}

}  // namespace
}  // namespace tilescope::tests
