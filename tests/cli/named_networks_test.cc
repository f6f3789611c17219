// SPDX-License-Identifier: Apache-2.0
// `network list`, `show` and `schema`: networks by name, and those that a user describes.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/onnx.h"
#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

class NamedNetwork : public Cli {
 protected:
  void SetUp() override {
    write("mine.yaml", R"(about: two products; mine
variables: {rows: 4, width: 2 * rows}
inputs: {x: [rows, width]}
nodes:
  - y = Relu(MatMul(x, weight[width, width]))
  - z[i,j] +=! y[i,k] * y[j,k]
  - z = Softmax(z)
)");
  }
};

TEST_F(NamedNetwork, ListNamesThem) {
  const Json j = json({"network", "list"});
  EXPECT_GE(j.at("networks").size(), 25U);
  for (const Json& n : j.at("networks")) {
    EXPECT_GT(n.at("parameters"), 1e5) << n.at("network");
    EXPECT_GT(n.at("macs"), 1e8) << n.at("network");
    EXPECT_NE(n.at("about"), "") << n.at("network");
    EXPECT_FALSE(n.at("sizes").empty()) << n.at("network");
  }
  const std::string table = run({"network", "list"}).out;
  EXPECT_THAT(table, HasSubstr("resnet50"));
  EXPECT_THAT(table, HasSubstr("25.56"));
}

TEST_F(NamedNetwork, ShowCounts) {
  const Json j = json({"network", "show", "resnet50", "--size", "batch=2"});
  EXPECT_EQ(j.at("sizes").at("batch"), 2);
  EXPECT_EQ(j.at("parameters"), 25557032);
  EXPECT_EQ(j.at("weight_bytes"), 4.0 * (25557032 + 2 * 26560));
  EXPECT_EQ(j.at("largest_activation_bytes"), 4.0 * 2 * 64 * 112 * 112);
  EXPECT_EQ(json({"network", "show", "resnet50", "--dtype", "f16"}).at("weight_bytes"), 2.0 * (25557032 + 2 * 26560));
  EXPECT_THAT(run({"network", "show", "resnet50"}).out,
              HasSubstr("25.56 M parameters, 4.089 GMACs, 11.11 M activations"));
  EXPECT_THAT(run({"network", "show", "resnet50", "--legend"}).out, HasSubstr("multiply-adds of convolutions"));
}

TEST_F(NamedNetwork, AFileOfOnesOwn) {
  const Json j = json({"network", "show", "mine.yaml", "--size", "rows=8", "--nodes"});
  EXPECT_EQ(j.at("about"), "two products; mine");
  EXPECT_EQ(j.at("parameters"), 16 * 16);
  EXPECT_EQ(j.at("macs"), 8 * 16 * 16 + 8 * 8 * 16);
  EXPECT_EQ(j.at("activations"), 8 * 16 + 8 * 8);
  EXPECT_EQ(j.at("nodes").size(), 4U);
  EXPECT_EQ(j.at("kinds").size(), 4U);
  const CliResult table = run({"network", "mine.yaml", "--nodes"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("z[i,j] +=! y[i,k] * y[j,k]"));
}

TEST_F(NamedNetwork, APictureFoldsWhatRepeats) {
  EXPECT_EQ(run({"network", "show", "bert-base", "--svg", "bert.svg"}).status, 0);
  const std::string picture = text_of_file(path("bert.svg"));
  EXPECT_THAT(picture, HasSubstr("x 12"));
  EXPECT_THAT(picture, HasSubstr("MatMul  768x3072"));
  EXPECT_EQ(run({"network", "show", "bert-base", "--svg", "-"}).out, picture);
}

TEST_F(NamedNetwork, BadInputIsASentence) {
  EXPECT_THAT(bad_input({"network", "show", "resnet5"}),
              HasSubstr("--network: unknown network 'resnet5', expected one of"));
  EXPECT_THAT(bad_input({"network", "resnet05"}), HasSubstr("did you mean 'resnet50'?"));
  EXPECT_THAT(bad_input({"network", "show", "resnet50", "--size", "bach=3"}),
              HasSubstr("--size:1:1: the network has no variable 'bach', expected one of batch, "));
  EXPECT_THAT(bad_input({"network", "show", "resnet50", "--dtype", "i8"}),
              HasSubstr("--dtype: expected one of f32, f16, bf16, f64, got 'i8'"));
  EXPECT_THAT(bad_input({"network", "resnet50", "--values", "."}), HasSubstr("a description has no weights"));
  EXPECT_THAT(bad_input({"network", "nowhere.yaml"}), HasSubstr("nowhere.yaml: cannot be read"));
  write("wrong.yaml", "about: wrong\ninputs: {x: [2, 3]}\nnodes:\n  - y = MatMul(x, weight[2, 3])\n");
  EXPECT_THAT(bad_input({"network", "show", "wrong.yaml"}),
              HasSubstr("wrong.yaml:4:9: MatMul: a product over 3 and 2"));
  EXPECT_THAT(bad_input({"network"}), HasSubstr("expected a command: list, show, schema"));
  EXPECT_THAT(bad_input({"network", "show"}), HasSubstr("network is required"));
}

TEST_F(NamedNetwork, SchemaIsADocument) {
  EXPECT_EQ(json({"network", "schema"}).at("title"), "A network of Tilescope");
}

}  // namespace
}  // namespace tilescope::tests
