// SPDX-License-Identifier: Apache-2.0
// `network`: ONNX files written by the protobuf wire format's rules, so that no library of ours or theirs makes them.

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/onnx.h"
#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

// --- fields of the wire format

std::string varint(std::uint64_t n) {
  std::string out;
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  return out + static_cast<char>(n);
}
std::string number(int field, std::int64_t n) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(n));
}
std::string bytes(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

// --- messages of onnx.proto

// A dimension that is named is open.
std::string value(const std::string& name, const std::vector<std::string>& shape) {
  std::string dims;
  for (const std::string& d : shape)
    dims += bytes(1, d[0] >= '0' && d[0] <= '9' ? number(1, std::stoll(d)) : bytes(2, d));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, dims)));
}
std::string node(const std::string& kind, const std::vector<std::string>& inputs, const std::string& output) {
  std::string out;
  for (const std::string& i : inputs) out += bytes(1, i);
  return out + bytes(2, output) + bytes(3, "the_" + output) + bytes(4, kind);
}
std::string floats(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
  std::string raw(values.size() * sizeof(float), '\0'), dims;
  if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  for (const std::int64_t d : shape) dims += number(1, d);
  return dims + number(2, 1) + bytes(8, name) + bytes(9, raw);
}
std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * sizeof(std::int64_t), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return number(1, std::ssize(values)) + number(2, 7) + bytes(8, name) + bytes(9, raw);
}
// The same without values, which are said to be in a file.
std::string integers_elsewhere(const std::string& name, std::int64_t count) {
  return number(1, count) + number(2, 7) + bytes(8, name) + bytes(13, bytes(1, "location") + bytes(2, "w.bin")) +
         number(14, 1);
}
std::string model_of_graph(const std::string& graph, int opset = 13) {
  return number(1, 8) + bytes(8, bytes(1, "") + number(2, opset)) + bytes(7, graph);
}
std::string model(const std::vector<std::string>& nodes, const std::string& input, const std::string& output,
                  const std::string& initialiser = {}, int opset = 13) {
  std::string graph;
  for (const std::string& n : nodes) graph += bytes(1, n);
  if (!initialiser.empty()) graph += bytes(5, initialiser);
  graph += bytes(11, input) + bytes(12, output);
  return model_of_graph(graph, opset);
}

class Network : public Cli {
 protected:
  Network() {
    if (const std::string why = graph::onnx_refusal(); !why.empty()) reason_ = why;
  }
  void SetUp() override {
    if (!reason_.empty()) GTEST_SKIP() << reason_;
    for (const char* folder : {"data", "two"}) std::filesystem::create_directories(path(folder));
    write("gemm.onnx", model({node("MatMul", {"x", "w"}, "t"), node("Relu", {"t"}, "y")}, value("x", {"batch", "2"}),
                             value("y", {"batch", "2"}), floats("w", {2, 2}, {1, -2, 3, 4})));
    write("data/input_0.pb", floats("x", {1, 2}, {1, 2}));
  }

 private:
  std::string reason_;
};

TEST_F(Network, KindsOperationsAndParameters) {
  const Json j = json({"network", "gemm.onnx", "--size", "batch=8"});
  EXPECT_EQ(j.at("opset"), 13);
  EXPECT_EQ(j.at("parameters"), 4);
  EXPECT_EQ(j.at("operations"), 2.0 * 8 * 2 * 2 + 16);
  EXPECT_EQ(j.at("nodes").at(0).at("kind"), "MatMul");
  EXPECT_EQ(j.at("nodes").at(0).at("shape"), "8x2");
  EXPECT_EQ(j.at("nodes").at(0).at("bytes"), 4.0 * (16 + 4 + 16));
  EXPECT_THAT(run({"network", "gemm.onnx", "--size", "batch=8"}).out, HasSubstr("MatMul     1"));
  EXPECT_THAT(run({"network", "gemm.onnx", "--size", "batch=8", "--nodes"}).out, HasSubstr("relu(X0["));
}

TEST_F(Network, TimesAreThoseOfItsGroups) {
  for (const char* fuse : {"none", "inline", "all"}) {
    const Json j = json({"network", "gemm.onnx", "--size", "batch=4096", "--arch", "a100", "--fuse", fuse});
    double us = 0, kernels = 0, dram = 0;
    for (const Json& g : j.at("groups")) {
      us += g.at("predicted_us").get<double>();
      kernels += g.at("kernels").get<double>();
      dram += g.at("dram_bytes").get<double>();
      EXPECT_LE(g.at("speed_of_light_us"), g.at("predicted_us"));
    }
    EXPECT_DOUBLE_EQ(j.at("total").at("predicted_us"), us);
    EXPECT_EQ(j.at("total").at("kernels"), kernels);
    EXPECT_DOUBLE_EQ(j.at("total").at("dram_bytes"), dram);
    EXPECT_LE(j.at("total").at("predicted_us"), j.at("unfused").at("predicted_us"));
    EXPECT_LE(j.at("speed_of_light_us"), us);
    EXPECT_EQ(j.at("unfused").at("groups"), 2);
  }
}

// The first kernel meets empty caches, as an operator alone does.
TEST_F(Network, AGroupIsTheOperatorThatItPrints) {
  const Json first =
      json({"network", "gemm.onnx", "--size", "batch=4096", "--arch", "v100", "--fuse", "none"}).at("groups").at(0);
  const Json alone = json({"compile", "--arch", "v100", "--op", first.at("operator").get<std::string>(), "--size",
                           first.at("sizes").get<std::string>()});
  EXPECT_EQ(alone.at("operators").at(0).at("programs").at(0).at("predicted_us"), first.at("predicted_us"));
}

// x of 4096 x 2, its product and the result; the product is not there where the two share a kernel.
TEST_F(Network, MemoryIsWhatLivesAtATime) {
  const std::vector<std::string> command = {"network", "gemm.onnx", "--size", "batch=4096", "--arch", "a100"};
  const Json fused = json(command).at("memory");
  EXPECT_EQ(fused.at("constant_bytes"), 16);
  EXPECT_EQ(fused.at("input_bytes"), 4096 * 2 * 4);
  EXPECT_EQ(fused.at("between_bytes"), 4096 * 2 * 4);
  std::vector<std::string> apart = command, small = command;
  apart.insert(apart.end(), {"--fuse", "none"});
  EXPECT_EQ(json(apart).at("memory").at("between_bytes"), 2 * 4096 * 2 * 4);
  small.insert(small.end(), {"--set", "memory.dram.capacity=64 KiB"});
  EXPECT_THAT(bad_input(small), HasSubstr("holds 6.554e-05 GB, and the network needs 9.832e-05"));
}

TEST_F(Network, ValuesAreRightOrSaidToBeWrong) {
  write("data/output_0.pb", floats("y", {1, 2}, {7, 6}));
  const Json right = json({"network", "gemm.onnx", "--values", "data"}).at("outputs").at(0);
  EXPECT_TRUE(right.at("right"));
  EXPECT_EQ(right.at("largest_error"), 0);
  write("data/output_0.pb", floats("y", {1, 2}, {7, 6.1F}));
  const CliResult wrong = run({"network", "gemm.onnx", "--values", "data"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.out, HasSubstr("1.4e-02 wrong: element 1 is 6, expected 6.09"));  // 0.1 of 7
}

TEST_F(Network, BadInputIsASentence) {
  EXPECT_THAT(bad_input({"network", "gemm.onnx"}),
              HasSubstr("input 'x' leaves its dimension 0 open; give --size batch=..."));
  EXPECT_THAT(bad_input({"network", "nowhere.onnx"}), HasSubstr("nowhere.onnx: cannot be read"));
  std::filesystem::create_directories(path("folder.onnx"));
  EXPECT_THAT(bad_input({"network", "folder.onnx"}), HasSubstr("folder.onnx: cannot be read"));
  EXPECT_THAT(bad_input({"network", "gemm.onnx", "--values", "nowhere"}),
              HasSubstr("expected output_0.pb, found none"));
  write("wrong.onnx", "no model at all");
  EXPECT_THAT(bad_input({"network", "wrong.onnx"}), HasSubstr("wrong.onnx: expected an ONNX file"));
  const std::string in = value("x", {"2"}), out = value("y", {"2"});
  write("cyclic.onnx", model({node("Relu", {"b"}, "a"), node("Relu", {"a"}, "b")}, in, out));
  EXPECT_THAT(bad_input({"network", "cyclic.onnx"}),
              HasSubstr("cyclic.onnx: node 'the_a' (Relu): it waits for itself"));
  write("short.onnx", model({node("Add", {"x", "w"}, "y")}, in, out, floats("w", {3}, {1, 2})));
  EXPECT_THAT(bad_input({"network", "short.onnx"}), HasSubstr("tensor 'w': expected 3 values of its shape, got 2"));
  write("huge.onnx", model({node("Add", {"x", "w"}, "y")}, in, out, floats("w", {1LL << 40, 1LL << 40}, {})));
  EXPECT_THAT(bad_input({"network", "huge.onnx"}),
              HasSubstr("tensor 'w': a shape of 1099511627776x1099511627776, too many elements"));
  write("data/output_0.pb", floats("y", {2}, {1, 1}));
  write("two/input_0.pb", floats("x", {2}, {1, 1}));
  write("two/output_0.pb", floats("y", {2}, {1, 1}));
  write("opaque.onnx", model({node("Bessel", {"x"}, "y")}, in, out));
  EXPECT_THAT(bad_input({"network", "opaque.onnx", "--values", "two"}),
              HasSubstr("opaque.onnx: node 'the_y' (Bessel): no such operator is known"));
  EXPECT_EQ(json({"network", "opaque.onnx"}).at("nodes").at(0).at("why"), "no such operator is known");
  const Json shown = json({"network", "show", "opaque.onnx"});
  EXPECT_EQ(shown.at("kinds").at(0).at("kind"), "Bessel");
  EXPECT_EQ(shown.at("kinds").at(0).at("why"), "no such operator is known");
  EXPECT_EQ(shown.at("kinds").at(0).at("bytes"), 8.0);
  write("contradicts.onnx",
        model({node("MatMul", {"x", "w"}, "y")}, value("x", {"1", "3"}), out, floats("w", {2, 2}, {1, 2, 3, 4})));
  EXPECT_THAT(bad_input({"network", "contradicts.onnx"}),
              HasSubstr("contradicts.onnx: node 'the_y' (MatMul): a product over 3 and 2"));
}

// What a file contradicts itself in, or has none for a size, is a sentence with the node.
TEST_F(Network, MistakesOfAFileNameTheNode) {
  const std::string x = value("x", {"2", "3"}), y = value("y", {});
  const auto mistake_in = [&](const std::string& content, const std::vector<std::string>& options = {}) {
    write("m.onnx", content);
    std::vector<std::string> arguments = {"network", "m.onnx"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return bad_input(arguments);
  };
  const auto of = [&](const std::string& kind, const std::vector<std::int64_t>& integers_of_w) {
    return model({node(kind, {"x", "w"}, "y")}, x, y, integers("w", integers_of_w));
  };
  EXPECT_THAT(mistake_in(of("Gather", {7})), HasSubstr("m.onnx: node 'the_y' (Gather): an index of 7 into 2"));
  EXPECT_THAT(mistake_in(of("Reshape", {4, 2})), HasSubstr("node 'the_y' (Reshape): 6 elements as 4x2"));
  EXPECT_THAT(mistake_in(of("Reshape", {1LL << 62, 1LL << 62})), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(mistake_in(of("Tile", {1LL << 62, 1LL << 62})), HasSubstr("node 'the_y' (Tile): a dimension of "));
  EXPECT_THAT(mistake_in(of("Expand", {1LL << 40, 2, 3})), HasSubstr("(Expand): a dimension of 1099511627776"));
  EXPECT_THAT(mistake_in(model({node("Reshape", {"x", "w"}, "y")}, x, y, integers_elsewhere("w", 2))),
              HasSubstr("node 'the_y' (Reshape): the values of input 'w' are in another file"));
  EXPECT_THAT(mistake_in(model({node("Relu", {"x"}, "y")}, x, value("y", {"2", "4"}))),
              HasSubstr("output 'y' is declared as 2x4, its node makes 2x3"));
  EXPECT_THAT(mistake_in(model({node("Relu", {"x"}, "y"), node("Abs", {"x"}, "y")}, x, y)),
              HasSubstr("node 'the_y' (Abs): node 'the_y' too writes 'y'"));
  EXPECT_THAT(mistake_in(model({node("Relu", {"x"}, "y")}, x, y, {}, 18)),
              HasSubstr("its operator set is 18, expected 1 to 17"));
  const std::string open = model({node("Relu", {"x"}, "y")}, value("x", {"batch", "3"}), y);
  EXPECT_THAT(mistake_in(open), HasSubstr("input 'x' leaves its dimension 0 open; give --size batch=..."));
  EXPECT_THAT(mistake_in(open, {"--size", "batch=2,bach=2"}),
              HasSubstr("no input has an open dimension 'bach'; did you mean 'batch'?"));
  EXPECT_THAT(mistake_in(model({node("Relu", {"x"}, "y")}, value("x", {"1099511627776", "4"}), y)),
              HasSubstr("input 'x' has a shape of 1099511627776x4, too many elements"));
}

// Values of another type than the file declares are not taken for its own.
TEST_F(Network, InputsAreOfTheDeclaredType) {
  write("two/input_0.pb", integers("x", {1, 1}));
  write("two/output_0.pb", floats("y", {2}, {1, 1}));
  write("relu.onnx", model({node("Relu", {"x"}, "y")}, value("x", {"2"}), value("y", {"2"})));
  EXPECT_THAT(bad_input({"network", "relu.onnx", "--values", "two"}),
              HasSubstr("input 'x' is declared as float, its values are of int64"));
}

// A weight's values are not needed, and may be in another file.
TEST_F(Network, ValuesThatNoShapeNeedsMayBeAbsent) {
  write("elsewhere.onnx",
        model({node("Add", {"x", "w"}, "y")}, value("x", {"2"}), value("y", {"2"}), integers_elsewhere("w", 2)));
  EXPECT_EQ(json({"network", "elsewhere.onnx"}).at("nodes").at(0).at("why"), "");
  write("two/input_0.pb", floats("x", {2}, {1, 1}));
  write("two/output_0.pb", floats("y", {2}, {1, 1}));
  EXPECT_THAT(bad_input({"network", "elsewhere.onnx", "--values", "two"}),
              HasSubstr("tensor 'w': its values are in another file"));
}

// Files that claim, nest or repeat much take little time and memory.
TEST_F(Network, BombsAreRefused) {
  const auto refusal_of = [&](const std::string& content) {
    write("bomb.onnx", content);
    return bad_input({"network", "bomb.onnx"});
  };
  const std::string none = "expected an ONNX file";
  EXPECT_THAT(refusal_of(number(1, 8) + varint(7 << 3 | 2) + varint(0x7fffffff) + "abc"), HasSubstr(none));
  EXPECT_THAT(refusal_of(model_of_graph(std::string(100000, '\x7b'))), HasSubstr(none));  // begins of groups
  std::string nested;
  for (int n = 0; n < 300; ++n) nested = bytes(1, bytes(5, bytes(1, "b") + number(20, 5) + bytes(6, nested)));
  EXPECT_THAT(refusal_of(model_of_graph(nested)), HasSubstr(none));
  std::string empty;
  for (int n = 0; n < 250'000; ++n) empty += bytes(1, "");
  EXPECT_THAT(refusal_of(model_of_graph(empty)), HasSubstr("250000 nodes, expected 200000 at most"));
  for (int n = 0; n < 5; ++n) empty += empty;
  EXPECT_THAT(refusal_of(model_of_graph(empty)), HasSubstr("its messages take more memory than 512 MiB"));
  std::string doubled;
  for (int n = 0; n < 60; ++n)
    doubled += bytes(1, node("Concat", {fmt::format("t{}", n), fmt::format("t{}", n)}, fmt::format("t{}", n + 1)) +
                            bytes(5, bytes(1, "axis") + number(3, 0) + number(20, 2)));
  write("doubled.onnx", model_of_graph(bytes(5, integers("t0", {1})) + doubled));
  EXPECT_EQ(json({"network", "doubled.onnx"}).at("nodes").back().at("why"), "a dimension of 4294967296");
}

std::string list(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string out = bytes(1, name) + number(20, 7);
  for (const std::int64_t v : values) out += number(8, v);
  return bytes(5, out);
}

// Of 4 x 4 taps 2 x 2 meet each of 8 x 8 elements.
TEST_F(Network, ATransposedConvolutionVisitsItsOwnTaps) {
  const std::string up = node("ConvTranspose", {"x", "w"}, "y") + list("strides", {2, 2}) + list("pads", {1, 1, 1, 1});
  write("up.onnx", model({up}, value("x", {"1", "1", "4", "4"}), value("y", {"1", "1", "8", "8"}),
                         floats("w", {1, 1, 4, 4}, std::vector<float>(16, 1))));
  EXPECT_EQ(json({"network", "up.onnx"}).at("operations"), 2.0 * 8 * 8 * 2 * 2);
}

// Nodes in any order are put into one in which they can run, at once.
TEST_F(Network, TenThousandNodesInReverse) {
  constexpr int kNodes = 10'000;
  std::string graph;
  for (int n = kNodes; n-- > 0;)
    graph += bytes(1, node("Relu", {n == 0 ? "x" : fmt::format("t{}", n - 1)}, fmt::format("t{}", n)));
  write("long.onnx", model_of_graph(graph + bytes(11, value("x", {"2"}))));
  const Json j = json({"network", "long.onnx"});
  EXPECT_EQ(j.at("nodes").size(), kNodes);
  EXPECT_EQ(j.at("nodes").at(0).at("node"), "the_t0");
}

// Whatever a file holds, it is read or refused.
TEST_F(Network, BytesInAnyOrder) {
  const std::string whole = model({node("MatMul", {"x", "w"}, "y")}, value("x", {"2", "2"}), value("y", {"2", "2"}),
                                  floats("w", {2, 2}, {1, 2, 3, 4}));
  std::uint32_t state = 20261128;
  const auto random = [&] { return state = state * 1664525 + 1013904223, state >> 8; };
  for (int n = 0; n < 60; ++n) {
    std::string part = whole.substr(0, 1 + random() % whole.size());
    for (int changed = 0; changed < n % 4; ++changed) part[random() % part.size()] = static_cast<char>(random());
    write("any.onnx", part);
    const int status = run({"network", "any.onnx"}).status;
    EXPECT_TRUE(status == 0 || status == 2) << n << ": " << status;
  }
}

}  // namespace
}  // namespace tilescope::tests
