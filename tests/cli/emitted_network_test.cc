// SPDX-License-Identifier: Apache-2.0
// `emit --network`: its program and its kernels are compiled and run, on a driver whose device is the CPU.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/description.h"
#include "graph/passes.h"
#include "graph/tensor.h"
#include "tests/cli/run_cli.h"
#include "tests/support/described.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

constexpr const char* kNetwork = R"(about: a table of words, a norm, products with weights, attention, a sum
variables: {rows: 24, width: 32, words: 50}
inputs: {tokens: 'int64[rows]'}
blocks:
  norm:
    takes: {x: [n, width]}
    nodes:
      - weight = scale[width]
      - power[i] mean=! x[i,d] * x[i,d]
      - norm[i,d] = x[i,d] * rsqrt(power[i] + 0.00001) * weight[d]
nodes:
  - x = Gather(weight[words, width], tokens)
  - y = norm(x)
  - q = MatMul(y, weight[width, width])
  - k = MatMul(y, weight[width, width])
  - scores[i,j] +=! q[i,d] * k[j,d]
  - y = MatMul(Softmax(scores), y)
  - steps = Mul([1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 0.5, 0.5])
  - z = norm(Add(x, y))
  - last[i,d] = z[i,d] * steps[d % 4]
outputs: [last, k]
)";

// A row of the program's table of tensors.
struct Drawn {
  std::size_t number = 0;
  std::int64_t elements = 0;
  char role = 't';
  double centre = 0, spread = 0;
  std::int64_t limit = 1;
};

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// What the program draws for the tensor.
std::vector<double> drawn_by(const Drawn& t, graph::Element element) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < t.elements; ++i) {
    const std::uint64_t h = mixed(std::uint64_t{t.number} << 40 ^ static_cast<std::uint64_t>(i));
    const double real = static_cast<float>(t.centre + t.spread * (static_cast<double>(h >> 11) * 0x1p-52 - 1));
    out.push_back(graph::is_float(element) ? graph::rounded(element, real)
                                           : static_cast<double>(h % static_cast<std::uint64_t>(t.limit)));
  }
  return out;
}

// The folder of the driver whose device is the CPU.
std::filesystem::path cpu_driver_path() { return binary_path().parent_path() / "tests/cpu_driver"; }

class EmittedNetwork : public Cli {
 protected:
  static int shell(const std::string& command) { return std::system(command.c_str()); }

  // Emits for the chip into out, and the same kernels for the CPU into cpu.
  Json emit(const Args& network) {
    json_of_noted(with(with({"emit"}, network), {"--dialect", "cpu", "-o", "cpu"}));
    return json_of_noted(with(with({"emit"}, network), {"-o", "out"}));
  }

  std::map<std::string, Drawn> tensors() const {
    const std::string text = text_of_file(path("out/network.cc"));
    const std::regex row(R"re(\{"([^"]*)", "\w+", (\d+), \d+, '(.)', ([-\d.e]+), ([-\d.e]+), (\d+)\})re");
    std::map<std::string, Drawn> out;
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
      const std::size_t number = out.size();
      out[(*at)[1]] = {number,
                       std::stoll((*at)[2]),
                       (*at)[3].str()[0],
                       std::stod((*at)[4]),
                       std::stod((*at)[5]),
                       std::stoll((*at)[6])};
    }
    return out;
  }

  // Every kernel file as a shared object of the CPU's driver, under the name of what the chip's compiler makes of it.
  void compile() const {
    const std::string root = source_path(".").string(), library = cpu_driver_path().string();
    std::string commands;
    for (const auto& file : std::filesystem::directory_iterator(path("out"))) {
      if (file.path().extension() != ".cu") continue;
      const std::string stem = file.path().stem().string(), text = text_of_file(path("cpu/" + stem + ".cc"));
      std::string unit =
          fmt::format("#include \"tests/support/cpu_driver/kernel.h\"\n#include \"../cpu/{}.cc\"\n", stem);
      const std::regex kernel(
          R"(extern "C" __global__ void[^;{]*?(\w+)\(const|extern "C" __global__ void[^;{]*?(\w+)\()");
      for (std::sregex_iterator at(text.begin(), text.end(), kernel), end; at != end; ++at) {
        std::smatch cluster;
        const std::string head = at->str();
        const bool clusters = std::regex_search(head, cluster, std::regex(R"(__cluster_dims__\((\d+))"));
        unit += fmt::format("TILESCOPE_CPU_KERNEL({}, {})\n", (*at)[1].matched ? (*at)[1].str() : (*at)[2].str(),
                            clusters ? cluster[1].str() : "1");
      }
      std::ofstream(path("out/" + stem + ".unit.cc")) << unit;
      std::ofstream(path("out/" + stem + ".cubin")) << path("out/" + stem + ".so").string();
      commands += fmt::format(
          "g++ -std=c++20 -w -Og -fPIC -shared -fno-strict-aliasing -ffp-contract=off -fwrapv -I'{0}' -o {1}.so "
          "{1}.unit.cc -L'{2}' -l:libcuda.so.1 || exit 1\n",
          root, stem, library);
    }
    std::ofstream(path("out/compile.sh")) << commands;
    ASSERT_EQ(shell("cd '" + path("out").string() + "' && sh compile.sh"), 0);
    ASSERT_EQ(shell("cd '" + path("out").string() +
                    "' && g++ -O1 -std=c++20 -Wall -Wextra -Wpedantic -Werror -o network network.cc -ldl"),
              0);
  }

  std::string run_emitted(const std::string& arguments) const {
    const int status = shell(fmt::format("cd '{}' && LD_LIBRARY_PATH='{}' ./network {} >printed 2>&1",
                                         path("out").string(), cpu_driver_path().string(), arguments));
    const std::string printed = text_of_file(path("out/printed"));
    EXPECT_EQ(status, 0) << printed;
    return printed;
  }

  // The outputs by plain loops, of the values that the program draws.
  ValuesByName expected(const std::vector<expr::GivenSize>& sizes, graph::Element element) const {
    base::Diagnostics diags;
    auto described = graph::described_network_of_text(kNetwork, "mine.yaml", sizes, diags);
    EXPECT_TRUE(described);
    graph::use_floats(described->model, element);
    const std::map<std::string, Drawn> drawn = tensors();
    // The products of one input are one where the model says that this is faster.
    if (std::any_of(drawn.begin(), drawn.end(), [](const auto& t) { return t.first.ends_with(".joined.weights"); }))
      graph::join_products_of_one_input(described->model);
    for (auto& [name, c] : described->model.constants)
      if (!c.values) c.values = drawn_by(drawn.at(name), c.element);
    return values_of(described->model, {{"tokens", drawn_by(drawn.at("tokens"), graph::Element::kI64)}});
  }

  // The values that the program saved.
  std::vector<double> saved(std::size_t tensor, graph::Element element) const {
    const std::string bytes = text_of_file(path(fmt::format("out/{}.bin", tensor)));
    std::vector<double> out(bytes.size() / graph::size_of(element));
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint32_t bits = 0;  // bfloat16 is the upper half of a float
      std::memcpy(reinterpret_cast<char*>(&bits) + 4 - graph::size_of(element), &bytes[i * graph::size_of(element)],
                  graph::size_of(element));
      float v = 0;
      std::memcpy(&v, &bits, sizeof(v));
      out[i] = v;
    }
    return out;
  }

  void expect_values(const std::vector<expr::GivenSize>& sizes, graph::Element element, double tolerance) const {
    const std::map<std::string, Drawn> drawn = tensors();
    const ValuesByName outputs = expected(sizes, element);
    EXPECT_EQ(outputs.size(), 2U);
    for (const auto& [name, values] : outputs) {
      const Drawn& t = drawn.at(name);
      EXPECT_EQ(t.role, 'o') << name;
      const std::vector<double> found = saved(t.number, element);
      ASSERT_EQ(found.size(), values.size()) << name;
      double greatest = 0, worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_TRUE(std::isfinite(found[i])) << name << " " << i;
        greatest = std::max(greatest, std::abs(values[i]));
        worst = std::max(worst, std::abs(values[i] - found[i]));
      }
      EXPECT_GT(greatest, 0.1) << name;
      EXPECT_LT(worst, tolerance * greatest) << name;
    }
  }
};

TEST_F(EmittedNetwork, ComputesWhatPlainLoopsDo) {
  write("mine.yaml", kNetwork);
  const Json done = emit({"--network", "mine.yaml", "--arch", "a100"});
  EXPECT_GT(done.at("launches"), 3);
  compile();
  const std::string printed = run_emitted("--save . --repeats 2");
  EXPECT_THAT(printed, HasSubstr("mine.yaml on the CPU"));
  EXPECT_THAT(printed, HasSubstr(fmt::format("{}.00 us in the queue", done.at("launches").get<int>())));
  expect_values({}, graph::Element::kF32, 1e-5);
}

// Kernels whose tiles arrive by TMA take maps of tensors as arguments.
TEST_F(EmittedNetwork, WithMapsOfTensors) {
  write("mine.yaml", kNetwork);
  emit({"--network", "mine.yaml", "--arch", "h200", "--dtype", "bf16", "--size", "rows=384,width=384"});
  EXPECT_NE(text_of_file(path("out/network.cc")).find("{384, 384}, {1, 384}, "), std::string::npos);
  compile();
  run_emitted("--save . --repeats 0");
  expect_values({{"rows", 384, {}}, {"width", 384, {}}}, graph::Element::kBf16, 0.03);
}

// Values of a file of the tensor's number go before drawn ones.
TEST_F(EmittedNetwork, ReadsTensors) {
  write("sum.yaml", "about: sum\ninputs: {x: [4]}\nnodes:\n  - y[i] = x[i] + 1\noutputs: [y]\n");
  emit({"--network", "sum.yaml", "--arch", "a100"});
  compile();
  std::filesystem::create_directories(path("out/tensors"));
  const std::map<std::string, Drawn> drawn = tensors();
  const std::string file = fmt::format("out/tensors/{}.bin", drawn.at("x").number);
  const std::vector<float> x = {1, 2, 3, 4};
  write(file, std::string(reinterpret_cast<const char*>(x.data()), 4 * x.size()));
  run_emitted("--save . --repeats 0");
  EXPECT_THAT(saved(drawn.at("y").number, graph::Element::kF32), testing::ElementsAre(2, 3, 4, 5));
  write(file, "short");
  EXPECT_NE(shell(fmt::format("cd '{}' && LD_LIBRARY_PATH='{}' ./network 2>printed", path("out").string(),
                              cpu_driver_path().string())),
            0);
  EXPECT_THAT(text_of_file(path("out/printed")), HasSubstr("not as long as x"));
}

TEST_F(EmittedNetwork, WhatItPrintsAndRefuses) {
  write("mine.yaml", kNetwork);
  const CliResult r = run({"emit", "--network", "mine.yaml", "--arch", "mi210", "--dialect", "hip", "-o", "out"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("out: "));
  EXPECT_THAT(text_of_file(path("out/Makefile")), HasSubstr("hipcc"));
  EXPECT_EQ(shell("cd '" + path("out").string() + "' && g++ -std=c++20 -Wall -Werror -fsyntax-only network.cc"), 0);
  EXPECT_THAT(bad_input({"emit", "--network", "mine.yaml", "--arch", "a100"}),
              HasSubstr("--network requires --output"));
  EXPECT_THAT(bad_input({"emit", "--arch", "a100", "--size", "rows=2", "--program", "p"}),
              HasSubstr("--size requires"));
  EXPECT_THAT(bad_input({"emit", "--arch", "a100"}), HasSubstr("--program, --kernel or --network is required"));
  EXPECT_THAT(bad_input({"emit", "--network", "mine.yaml", "--arch", "a100", "--dialect", "opencl", "-o", "out"}),
              HasSubstr("expected one of cuda, hip"));
  EXPECT_THAT(bad_input({"emit", "--network", "mine.yaml", "--arch", "a100", "-o", "o", "--set",
                         "memory.dram.capacity=20 KiB"}),
              HasSubstr("and the network needs"));
}

}  // namespace
}  // namespace tilescope::tests
