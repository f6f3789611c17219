// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/machine.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/bsp/lower.h"
#include "lower/expected_values.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"

namespace tilescope::ipu_sim {
namespace {

arch::ArchSpec small_chip(std::int64_t cores) {
  arch::ArchSpec a = tests::chip("ipu_gc2");
  a.core.count = cores;
  return a;
}

std::string in_words(const tile::BspStage& s) {
  std::string out = s.space->stage().text + " grid";
  for (const std::int64_t g : s.grid) out += fmt::format(" {}", g);
  out += " block";
  for (const std::int64_t b : s.block) out += fmt::format(" {}", b);
  for (const tile::OperandMove& m : s.moves)
    out += fmt::format(" move {} buffers {} ring {} axis {}", static_cast<int>(m.move), m.buffers, m.ring, m.axis);
  return out + (s.folded ? " folded" : "");
}

lower::bsp::Program lowered(tile::RProgram p, const arch::ArchSpec& a, bool placed) {
  base::Diagnostics diags;
  std::get<std::vector<tile::BspStage>>(p.nodes).front().placed = placed;
  auto program = lower::bsp::lower(p.bsp(), a, diags);
  tests::require_no_errors(diags);
  return *program;
}

// Runs a program on drawn inputs.
struct Done {
  lower::NamedValues expected;
  Result result;
};
Done done(const tile::RProgram& p, const lower::bsp::Program& program) {
  std::mt19937 random(1);
  Done out;
  lower::add_expected_values(p, random, out.expected);
  std::vector<expr::Values> inputs;
  for (const lower::bsp::Tensor& t : program.tensors)
    inputs.push_back(t.home.stage < 0 ? out.expected.at(t.name) : expr::Values{});
  std::vector<std::vector<double>> scalars;
  for (const expr::Expression& e : program.expressions) scalars.emplace_back(e.scalars.size(), lower::kScalar);
  out.result = run(program, scalars, inputs);
  return out;
}

void expect_values(const lower::bsp::Program& program, const Done& d) {
  for (std::size_t t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].home.stage >= 0)
      RC_ASSERT(testing::Value(d.result.tensors[t], testing::Pointwise(testing::NanSensitiveDoubleEq(),
                                                                       d.expected.at(program.tensors[t].name))));
}

RC_GTEST_PROP(IpuSim, ComputesWhatPlainLoopsDo, ()) {
  const arch::ArchSpec a = small_chip(tests::any_of_range(1, 24));
  const expr::Expression e = tests::any_operator(9);
  const tile::RProgram p = tile::program_of(a.name, tests::any_bsp_stage(e, a));
  RC_LOG() << in_words(p.bsp().front());
  const lower::bsp::Program program = lowered(p, a, tests::any_of_range(0, 1) == 1);
  const Done d = done(p, program);
  expect_values(program, d);
}

// What is sent is received, and every iteration is computed once.
RC_GTEST_PROP(IpuSim, CountsWhatItDoes, ()) {
  const arch::ArchSpec a = small_chip(tests::any_of_range(1, 24));
  const expr::Expression e = tests::any_operator(9);
  const tile::RProgram p = tile::program_of(a.name, tests::any_bsp_stage(e, a));
  RC_LOG() << in_words(p.bsp().front());
  const Counts counts = done(p, lowered(p, a, false)).result.counts;
  std::int64_t sent = 0, received = 0, points = 1;
  for (const std::int64_t n : counts.sent) sent += n;
  for (const std::int64_t n : counts.received) received += n;
  for (const expr::Axis& axis : e.stages.front().axes) points *= axis.size;
  RC_ASSERT(sent == received);
  RC_ASSERT(counts.points == points);
}

// A product whose second operand rotates, and mistakes planted in what it was lowered to.
class Planted : public testing::Test {
 protected:
  void SetUp() override {
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8,n=8,k=8");
    tile::BspStage s;
    s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    s.grid = {4, 2, 1};
    s.block = {2, 4, 2};
    s.core_order = s.loop_order = {0, 1, 2};
    s.moves = {{tile::Move::kFetch, 1, 1, -1}, {tile::Move::kRotate, 1, 4, 2}};
    s.instruction = "fma.f32";
    rprogram_ = tile::program_of(chip_.name, s);
    program_ = lowered(rprogram_, chip_, false);
  }

  std::string fault() {
    try {
      done(rprogram_, program_);
    } catch (const Fault& f) {
      return f.what();
    }
    return "none";
  }

  arch::ArchSpec chip_ = small_chip(8);
  tile::RProgram rprogram_;
  lower::bsp::Program program_;
};

TEST_F(Planted, NothingIsFoundInWhatIsRight) { EXPECT_EQ(fault(), "none"); }

TEST_F(Planted, AMoveThatIsMissing) {
  program_.stages.front().arrange.clear();
  EXPECT_THAT(fault(), testing::ContainsRegex("core 0, superstep 1: B: .*never written"));
}

TEST_F(Planted, AnExchangeThatReadsWhatItBrings) {
  program_.stages.front().buffers[1].slots = 1;
  EXPECT_THAT(fault(), testing::ContainsRegex("superstep 2: B: .*read by the exchange that writes it"));
}

TEST_F(Planted, TwoBuffersInOnePlace) {
  std::vector<lower::bsp::Buffer>& buffers = program_.stages.front().buffers;
  buffers[0].offset = program_.tensors[0].home.offset;
  EXPECT_NE(fault(), "none");
}

TEST_F(Planted, AnAddressOutsideTheMemory) {
  program_.memory -= 64;
  EXPECT_THAT(fault(), testing::HasSubstr("outside its memory"));
}

// A product whose operands and results lie in a DRAM.
class PlantedInDram : public Planted {
 protected:
  void SetUp() override {
    chip_ = tests::chip("wormhole_n150", {{"memory.dram.interleave", "32 B"}});
    Planted::SetUp();
  }
  lower::bsp::Tensor& tensor(const std::string& name) {
    for (lower::bsp::Tensor& t : program_.tensors)
      if (t.name == name) return t;
    return program_.tensors.front();
  }
};

TEST_F(PlantedInDram, NothingIsFoundInWhatIsRight) { EXPECT_EQ(fault(), "none"); }

TEST_F(PlantedInDram, ResultsThatAreNotStored) {
  program_.stages.front().stores = false;
  EXPECT_THAT(fault(), testing::ContainsRegex("dram, channel [0-9]+, superstep 4: C: .*never written"));
}

TEST_F(PlantedInDram, AnAddressOutsideTheDram) {
  program_.dram.bytes = 256;
  EXPECT_THAT(fault(),
              testing::ContainsRegex("dram, channel [0-9]+, superstep 0: B: address .* is outside its memory"));
}

}  // namespace
}  // namespace tilescope::ipu_sim
