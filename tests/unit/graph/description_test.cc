// SPDX-License-Identifier: Apache-2.0
// What the lines of a described network mean. Mistakes stand in tests/error/network.

#include "graph/description.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/network.h"
#include "tests/support/described.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/graph/described.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

graph::Shape shape_of_output(const graph::DescribedNetwork& n) { return n.model.outputs.at(0).shape; }

TEST(Description, ACallIsANode) {
  const auto n = read(R"(
about: a convolution
variables: {batch: 2, wide: 3 * batch}
inputs: {x: [batch, 3, 8, 8]}
nodes:
  - y = Conv(x, weight[wide, 3, 3, 3], bias[wide], strides=[2, 2], pads=[1, 1, 1, 1])
)");
  ASSERT_THAT(n.model.nodes, SizeIs(1));
  const graph::ModelNode& node = n.model.nodes[0];
  EXPECT_EQ(node.kind, "Conv");
  EXPECT_THAT(node.inputs, ElementsAre("x", "y.weight", "y.bias"));
  EXPECT_THAT(node.outputs, ElementsAre("y"));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(node.attributes.at("strides")), (std::vector<std::int64_t>{2, 2}));
  EXPECT_THAT(n.model.constants.at("y.weight").shape, ElementsAre(6, 3, 3, 3));
  EXPECT_FALSE(n.model.constants.at("y.weight").values);
  EXPECT_THAT(shape_of_output(n), ElementsAre(2, 6, 4, 4));
  EXPECT_EQ(node.at.line, 6);
}

TEST(Description, SizesOverrideVariables) {
  const std::string text = R"(
about: a product
variables: {rows: 2, columns: 3 * rows}
inputs: {x: [rows, columns]}
nodes: ['y = MatMul(x, weight[columns, rows])']
)";
  EXPECT_THAT(shape_of_output(read(text, {{"rows", 5, {}}})), ElementsAre(5, 5));
  EXPECT_THAT(read(text, {{"rows", 5, {}}}).model.constants.at("y.weight").shape, ElementsAre(15, 5));
}

// The extents of what a block takes have names in it; repeated, it takes its own result.
TEST(Description, BlocksTakeShapesAndRepeat) {
  const auto n = read(R"(
about: a block three times
inputs: {x: [4, 8]}
blocks:
  wider:
    takes: {x: [n, in]}
    with: {by: 2, out: by * in}
    nodes:
      - y = MatMul(x, weight[in, out])
      - Relu(y)
nodes:
  - x = wider(x, times=3)
  - y = wider(x, out=5)
)");
  EXPECT_THAT(n.model.nodes, SizeIs(8));
  EXPECT_EQ(n.model.outputs.at(0).name, "y");
  EXPECT_THAT(n.model.constants.at("wider3.y.weight").shape, ElementsAre(32, 64));
  EXPECT_THAT(shape_of_output(n), ElementsAre(4, 5));
}

TEST(Description, NoTimesGivesWhatIsTaken) {
  const auto n = read(R"(
about: a choice
variables: {gated: 0}
inputs: {x: [4]}
nodes:
  - x = Sigmoid(x, times=gated)
  - Relu(x, times=1 - gated)
)");
  ASSERT_THAT(n.model.nodes, SizeIs(1));
  EXPECT_EQ(n.model.nodes[0].kind, "Relu");
}

TEST(Description, AFileExtendsAnotherOne) {
  base::Diagnostics diags;
  const auto n = graph::described_network_of_text(R"(
about: ResNet-50 with other units
extends: resnet50
variables: {units1: 1, units2: 1, units3: 1, units4: 1, classes: 7}
blocks:
  head:
    takes: {x: [batch, in, height, columns]}
    with: {out: }
    nodes: ['Conv(x, weight[out, in, 1, 1])']
)",
                                                  "n.yaml", {{"image", 64, {}}}, diags);
  ASSERT_TRUE(n) << testing::PrintToString(diags.formatted_errors());
  EXPECT_THAT(shape_of_output(*n), ElementsAre(1, 7, 2, 2));
  EXPECT_EQ(n->about, "ResNet-50 with other units");
}

// Sizes in braces, axes that no tensor has, several results, inputs and outputs of blocks, constants with values.
TEST(Description, ValuesOfEveryForm) {
  auto n = read(R"(
about: every form
variables: {rows: 2}
inputs:
  x: [rows, 4]
  which: int64[3]
blocks:
  halves:
    takes: {x: [n, in]}
    nodes:
      - a, b = Split(x, [in / 2, in / 2], axis=1)
      - more = input[n, 1]
      - c = Concat(b, more, axis=1)
    gives: [a, c]
    outputs: [more]
nodes:
  - low, high = halves(x)
  - sum[i] +=! high[i,k]
  - ramp[i,j] = i * {10 * rows} + j for i=rows, j=2
  - y = Add(Mul(low, 0.5), Add(ramp, Reshape(sum, [rows, 1])))
  - z = Gather(y, which, axis=1)
outputs: [z]
)");
  EXPECT_THAT(n.model.outputs, SizeIs(2));
  const auto values =
      values_of(n.model, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}, {"halves1.more", {100, 200}}, {"which", {1, 0, 1}}});
  EXPECT_THAT(values.at("z"), ElementsAre(109, 107.5, 109, 239, 237.5, 239));
}

TEST(Description, RealNumbersOfAnotherType) {
  auto n = read(R"(
about: a scale
inputs:
  x: [2]
  i: int64[2]
nodes:
  - y = Mul(x, 0.1)
  - z[k] = y[k] * i[k]
)");
  graph::use_floats(n.model, graph::Element::kF16);
  EXPECT_EQ(n.model.inputs[0].element, graph::Element::kF16);
  EXPECT_EQ(n.model.inputs[1].element, graph::Element::kI64);
  EXPECT_EQ(n.model.outputs[0].element, graph::Element::kF16);
  base::Diagnostics diags;
  const auto network = graph::network_of(n.model, {}, {}, graph::kShapesKnown, diags);
  ASSERT_TRUE(network);
  EXPECT_EQ(network->tensors.at("z").element, graph::Element::kF16);
}

// Blocks in each other, and tensors, end in a sentence before they end the program.
TEST(Description, Limits) {
  std::string text = "about: deep\ninputs: {x: [4]}\nblocks:\n  b0: {takes: {x: }, nodes: ['Relu(x)']}\n";
  for (int n = 1; n < 5000; ++n) text += fmt::format("  b{}: {{takes: {{x: }}, nodes: ['b{}(x)']}}\n", n, n - 1);
  base::Diagnostics diags;
  EXPECT_FALSE(graph::described_network_of_text(text + "nodes: ['b4999(x)']\n", "n.yaml", {}, diags));
  EXPECT_THAT(diags.sentences(), ElementsAre("blocks inside more than 64 others"));
  base::Diagnostics of_tensors;
  EXPECT_FALSE(graph::described_network_of_text(
      "about: wide\ninputs: {x: [1]}\nnodes: ['Expand(x, [2147483648, 2147483648, 2147483648])']\n", "n.yaml", {},
      of_tensors));
  EXPECT_THAT(of_tensors.sentences(),
              ElementsAre("Expand: a result of a shape of 2147483648x2147483648x2147483648, too many elements"));
}

// Whatever a file holds, it is read or refused.
TEST(Description, TextInAnyOrder) {
  std::uint32_t state = 20261128;
  const auto random = [&] { return state = state * 1664525 + 1013904223, state >> 8; };
  for (const char* name : {"resnet18", "swin-t", "llama3-8b"}) {
    const std::string whole = text_of_file(source_path(fmt::format("graph/networks/{}.yaml", name)));
    for (int n = 0; n < 100; ++n) {
      std::string text = whole;
      for (int changed = 0; changed <= n % 4; ++changed) {
        const std::size_t from = random() % text.size(), to = random() % text.size(), count = 1 + random() % 6;
        text.replace(to, count, text.substr(from, random() % 8));
      }
      base::Diagnostics diags;
      const auto read = graph::described_network_of_text(text, "any.yaml", {}, diags);
      EXPECT_EQ(read.has_value(), diags.ok()) << text;
    }
  }
}

}  // namespace
}  // namespace tilescope::tests
