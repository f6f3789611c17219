// SPDX-License-Identifier: Apache-2.0
// Simplified models compute what the models compute.

#include "graph/passes.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/network.h"

namespace tilescope::graph {
namespace {

std::vector<double> drawn(std::mt19937& random, std::int64_t count, double low, double high) {
  std::vector<double> out;
  std::uniform_real_distribution<double> any(low, high);
  for (std::int64_t i = 0; i < count; ++i) out.push_back(rounded(Element::kF32, any(random)));
  return out;
}

// A convolution of 6 channels in two groups, with a bias or without, and its normalisation.
Model normalised(std::mt19937& random, bool bias, bool read_twice) {
  Model m;
  m.opset = 13;
  m.inputs = {{"x", Element::kF32, {2, 4, 5, 5}, std::vector<std::string>(4)}};
  m.outputs = {{"y", Element::kF32, {}, {}}};
  const auto add = [&](const std::string& name, Shape shape, double low, double high) {
    const std::int64_t count = elements_of(shape);
    m.constants[name] = {Element::kF32, std::move(shape), drawn(random, count, low, high)};
  };
  add("w", {6, 2, 3, 3}, -1, 1);
  add("b", {6}, -1, 1);
  add("scale", {6}, -2, 2);
  add("shift", {6}, -1, 1);
  add("mean", {6}, -1, 1);
  add("variance", {6}, 0, 2);
  ModelNode conv;
  conv.kind = "Conv";
  conv.inputs = bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"};
  conv.outputs = {"c"};
  conv.attributes["group"] = std::int64_t{2};
  ModelNode normalisation;
  normalisation.kind = "BatchNormalization";
  normalisation.inputs = {"c", "scale", "shift", "mean", "variance"};
  normalisation.outputs = {"n"};
  normalisation.attributes["epsilon"] = 1e-3;
  ModelNode last;
  last.kind = read_twice ? "Add" : "Relu";
  last.inputs = read_twice ? std::vector<std::string>{"n", "c"} : std::vector<std::string>{"n"};
  last.outputs = {"y"};
  ModelNode unread = last;
  unread.outputs = {"z"};
  m.nodes = {conv, normalisation, unread, last};
  return m;
}

Tensor result(const Model& m, const Tensor& x) {
  base::Diagnostics diags;
  const auto network = network_of(m, {}, {x}, kAllKnown, diags);
  EXPECT_TRUE(network) << testing::PrintToString(diags.formatted_errors());
  const NetworkTensor& y = network->tensors.at("y");
  return {"y", y.element, y.shape, y.values.value()};
}

TEST(Passes, KeepValues) {
  std::mt19937 random(20261128);
  for (const bool bias : {false, true})
    for (const bool read_twice : {false, true}) {
      const Model m = normalised(random, bias, read_twice);
      const Tensor x{"x", Element::kF32, {2, 4, 5, 5}, drawn(random, 200, -1, 1)};
      Model simple = m;
      simplify(simple);
      EXPECT_EQ(simple.nodes.size(), read_twice ? 3u : 2u) << "a result that is read twice is not folded";
      EXPECT_EQ(simple.constants.size(), read_twice ? (bias ? 6u : 5u) : 2u);
      EXPECT_EQ(difference(result(simple, x), result(m, x)), std::nullopt);
    }
}

TEST(Passes, WeightsNeedNoValues) {
  std::mt19937 random(1);
  Model m = normalised(random, true, false);
  for (auto& [name, c] : m.constants) c.values.reset();
  fold_batch_normalisations(m);
  ASSERT_EQ(m.nodes.front().inputs.size(), 3u);
  EXPECT_EQ(m.nodes.front().outputs.front(), "n");
  EXPECT_EQ(m.constants.at(m.nodes.front().inputs[1]).shape, (Shape{6, 2, 3, 3}));
  EXPECT_EQ(m.constants.at(m.nodes.front().inputs[2]).shape, (Shape{6}));
  EXPECT_FALSE(m.constants.at(m.nodes.front().inputs[1]).values);
}

// Three products of x, two of them with a sum behind them, and one whose weights two nodes read.
Model of_one_input(std::mt19937& random, std::int64_t opset) {
  Model m;
  m.opset = opset;
  m.inputs = {{"x", Element::kF32, {2, 3, 5}, std::vector<std::string>(3)}};
  const auto constant = [&](const std::string& name, Shape shape) {
    const std::int64_t count = elements_of(shape);
    m.constants[name] = {Element::kF32, std::move(shape), drawn(random, count, -1, 1)};
  };
  const auto node = [&](const std::string& kind, std::vector<std::string> inputs, const std::string& output) {
    ModelNode n;
    n.kind = kind;
    n.inputs = std::move(inputs);
    n.outputs = {output};
    m.nodes.push_back(n);
  };
  for (const auto& [name, columns] : std::vector<std::pair<std::string, std::int64_t>>{{"a", 4}, {"b", 7}, {"c", 1}}) {
    constant("w" + name, {5, columns});
    constant("v" + name, {columns});
    node("MatMul", {"x", "w" + name}, "p" + name);
    node("Add",
         name == "b" ? std::vector<std::string>{"v" + name, "p" + name}
                     : std::vector<std::string>{"p" + name, "v" + name},
         "s" + name);
  }
  constant("wd", {5, 4});
  constant("we", {5, 3});
  constant("wf", {5, 2});
  node("MatMul", {"x", "wd"}, "d");
  node("Add", {"d", "sa"}, "with_d");
  node("MatMul", {"x", "we"}, "e");
  node("MatMul", {"x", "wf"}, "f");
  node("Concat", {"with_d", "sb", "sc", "e", "f", "again"}, "y");
  m.nodes.back().attributes["axis"] = std::int64_t{-1};
  node("Relu", {"wf"}, "read_again");
  node("MatMul", {"x", "read_again"}, "again");
  m.outputs = {{"y", Element::kF32, {}, {}}, {"sb", Element::kF32, {}, {}}};
  return m;
}

std::size_t products(const Model& m) {
  return static_cast<std::size_t>(
      std::count_if(m.nodes.begin(), m.nodes.end(), [](const ModelNode& n) { return n.kind == "MatMul"; }));
}

TEST(Passes, ProductsOfOneInputAreOneOfAllColumns) {
  std::mt19937 random(20261201);
  for (const std::int64_t opset : {11, 13, 17}) {
    const Model m = of_one_input(random, opset);
    const Tensor x{"x", Element::kF32, {2, 3, 5}, drawn(random, 30, -1, 1)};
    EXPECT_EQ(kinds_of_products_of_one_input(m), (std::set<std::string>{"5 with bias 4 7 1 float", "5 4 3 float"}));
    Model joined = m;
    join_products_of_one_input(joined);
    // wf is read twice, and read_again is no constant.
    EXPECT_EQ(products(m), 7u);
    EXPECT_EQ(products(joined), 4u);
    EXPECT_EQ(difference(result(joined, x), result(m, x)), std::nullopt);
    Model one_kind = m;
    join_products_of_one_input(one_kind, {"5 4 3 float"});
    EXPECT_EQ(products(one_kind), 6u);
    EXPECT_EQ(difference(result(one_kind, x), result(m, x)), std::nullopt);
    join_products_of_one_input(joined);
    EXPECT_EQ(products(joined), 4u) << "what is joined has no other of its input";
    Model with_loop = m;
    with_loop.nodes.back().has_graph = true;
    EXPECT_TRUE(kinds_of_products_of_one_input(with_loop).empty()) << "a loop may read any tensor";
  }
}

TEST(Passes, JoinedWeightsNeedNoValues) {
  std::mt19937 random(1);
  Model m = of_one_input(random, 13);
  m.constants.at("wb").values.reset();
  join_products_of_one_input(m);
  const auto weights = std::find_if(m.constants.begin(), m.constants.end(),
                                    [](const auto& c) { return c.second.shape == Shape{5, 12}; });
  ASSERT_NE(weights, m.constants.end());
  EXPECT_FALSE(weights->second.values);
  EXPECT_FALSE(m.constants.contains("wa"));
}

TEST(Passes, OfTrainingAreNone) {
  std::mt19937 random(1);
  Model m = normalised(random, true, false);
  m.nodes[1].attributes["training_mode"] = std::int64_t{1};
  fold_batch_normalisations(m);
  EXPECT_EQ(m.nodes.size(), 4u);
}

}  // namespace
}  // namespace tilescope::graph
