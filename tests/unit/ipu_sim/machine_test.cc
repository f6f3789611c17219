// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/machine.h"

#include <algorithm>
#include <cmath>
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

// With an instruction for sums of every dtype.
arch::ArchSpec small_chip(std::int64_t cores) {
  arch::ArchSpec a = tests::chip("ipu_gc2");
  a.core.count = cores;
  for (const base::Dtype dtype : {base::Dtype::kI32, base::Dtype::kF64}) {
    arch::ComputeSpec c = a.compute.front();
    c.name = fmt::format("fma.{}", base::name_of(dtype));
    c.dtype = c.accumulate = dtype;
    a.compute.push_back(c);
  }
  return a;
}

std::string in_words(const tile::BspStage& s) {
  std::string out = s.space->stage().text + " grid";
  for (const std::int64_t g : s.grid) out += fmt::format(" {}", g);
  out += " block";
  for (const std::int64_t b : s.block) out += fmt::format(" {}", b);
  for (const tile::OperandDataflow& m : s.dataflow)
    out += fmt::format(" move {} buffers {} ring {} axis {}", static_cast<int>(m.how), m.buffers, m.ring, m.axis);
  return out + (s.folded ? " folded" : "");
}

lower::bsp::Program lowered(tile::RProgram p, const arch::ArchSpec& a, bool prearranged) {
  base::Diagnostics diags;
  std::get<std::vector<tile::BspStage>>(p.nodes).front().prearranged = prearranged;
  auto program = lower::bsp::lower(p.bsp(), a, diags);
  tests::require_no_errors(diags);
  return *program;
}

// Whether sums of the accumulator are what matrices are multiplied in: f64 has every value, f32 not those of f64 and of
// integers. Integers alone are multiplied in words, which are accumulated in i32 only.
bool sums_are_multiplied(const expr::Expression& e) {
  const auto any = [&](auto is) {
    return std::any_of(e.tensors.begin(), e.tensors.end(),
                       [&](const expr::Tensor& t) { return t.producer == expr::kInput && is(t.dtype); });
  };
  const bool integers =
      std::all_of(e.tensors.begin(), e.tensors.end(), [](const expr::Tensor& t) { return base::is_integer(t.dtype); });
  if (integers) return e.accumulate == base::Dtype::kI32;
  if (e.accumulate == base::Dtype::kF64) return true;
  return e.accumulate == base::Dtype::kF32 && !any(base::is_integer) &&
         !any([](base::Dtype d) { return d == base::Dtype::kF64; });
}

// Of the greatest relative distance of a value from the nearest one of the dtype.
double half_unit(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF64:
      return 0x1p-53;
    case base::Dtype::kF32:
      return 0x1p-24;
    case base::Dtype::kTf32:
    case base::Dtype::kF16:
      return 0x1p-11;
    case base::Dtype::kBf16:
      return 0x1p-8;
    default:
      return 0x1p-3;
  }
}

// Runs a program on drawn inputs.
struct Done {
  lower::NamedValues expected;
  Result result;
};
Done done(const tile::RProgram& p, const lower::bsp::Program& program, Arithmetic arithmetic = Arithmetic::kMatrices) {
  std::mt19937 random(1);
  Done out;
  lower::add_expected_values(p, random, out.expected);
  std::vector<expr::Values> inputs;
  for (const lower::bsp::Tensor& t : program.tensors)
    inputs.push_back(t.home.stage < 0 ? out.expected.at(t.name) : expr::Values{});
  std::vector<std::vector<double>> scalars;
  for (const expr::Expression& e : program.expressions) scalars.emplace_back(e.scalars.size(), lower::kScalar);
  out.result = run(program, scalars, inputs, arithmetic);
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

// Any values, of products with edges and without, in every accumulator: matrices are off from points by what sums in
// another order may be (Higham 2002, section 4.2), integers by nothing.
RC_GTEST_PROP(IpuSim, MultipliesMatricesAsPointsDo, ()) {
  using base::Dtype;
  static const std::vector<tests::Form> kForms = {
      {"C[m,n] +=! A[m,k] * B[k,n]", "mnk"},
      {"C[m,n] +=! B[n,k] * A[k,m]", "mnk"},
      {"C[b,m,n] mean=! A[b,m,k] * B[k,b,n]", "bmnk"},
      {"O[n,f,y,x] +=! I[n,c,y*2+r-1,x+s-1] * W[f,c,r,s]", "nfyxcrs"},
      {"O[n,c,y,x] +=! I[n,c,y+r-1,x] * W[c,r]", "ncyxr"},
      {"O[i,j] +=! I[i,k] * I[k,k]", "ijk"},
      {"O[i] +=! I[i,3-j] * W[j]", "ij"},
  };
  const arch::ArchSpec a = small_chip(tests::any_of_range(1, 12));
  const tests::Form form = tests::any_element(kForms);
  expr::Expression e;
  try {
    e = tests::any_sized(form, 6, tests::any_dtype());
  } catch (const std::runtime_error&) {
    RC_DISCARD("its sizes leave nothing that lies inside a tensor");
  }
  // Tensors that end before what is read of them.
  for (expr::Tensor& t : e.tensors)
    if (t.producer == expr::kInput)
      for (std::int64_t& extent : t.shape) extent -= extent > 1 ? tests::any_of_range(0, 1) : 0;
  if (!base::is_integer(e.dtype)) e.accumulate = tests::any_element<Dtype>({Dtype::kF32, Dtype::kF64});
  tile::RProgram p = tile::program_of(a.name, tests::any_bsp_stage(e, a));
  RC_LOG() << in_words(p.bsp().front()) << " " << base::name_of(e.dtype) << " in " << base::name_of(e.accumulate);
  const lower::bsp::Program program = lowered(p, a, false);
  std::vector<expr::Values> inputs;
  for (const lower::bsp::Tensor& t : program.tensors) {
    expr::Values& values = inputs.emplace_back();
    for (std::int64_t i = 0; t.home.stage < 0 && i < t.elements; ++i)
      values.push_back(expr::round_to(t.dtype, static_cast<double>(tests::any_of_range(-100000, 100000)) / 1024));
  }
  const Result matrices = run(program, {{}}, inputs), points = run(program, {{}}, inputs, Arithmetic::kPoints);
  RC_ASSERT(matrices.counts.points == points.counts.points);
  RC_ASSERT(matrices.counts.memory == points.counts.memory);
  const expr::Stage& loops = e.stages.front();
  RC_ASSERT(multiplies(e) == sums_are_multiplied(e));
  const double largest = 100000.0 / 1024;
  double steps = 1;
  for (const expr::Axis& axis : loops.axes) steps *= axis.reduction ? static_cast<double>(axis.size) : 1;
  const Dtype out = e.tensors[static_cast<std::size_t>(loops.output)].dtype;
  for (std::size_t t = 0; t < matrices.tensors.size(); ++t)
    for (std::size_t i = 0; i < matrices.tensors[t].size(); ++i) {
      const double x = matrices.tensors[t][i], y = points.tensors[t][i];
      if (base::is_integer(e.dtype)) RC_ASSERT(x == y);
      if (x == y || base::is_integer(out)) continue;
      const double sums = steps * steps * largest * largest * (e.accumulate == Dtype::kF64 ? 0x1p-53 : 0x1p-24);
      // Results round once: to one of two neighbours.
      const double neighbour = std::max(std::abs(x), std::abs(y)) * 2 * half_unit(out);
      RC_ASSERT(std::abs(x - y) <= sums + neighbour);
    }
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
    s.dataflow = {{tile::Dataflow::kFetch, 1, 1, -1}, {tile::Dataflow::kShift, 1, 4, 2}};
    s.instruction = "fma.f32";
    rprogram_ = tile::program_of(chip_.name, s);
    program_ = lowered(rprogram_, chip_, false);
  }

  // What both ways to compute find.
  std::string fault() {
    const std::string by_matrices = fault_of(Arithmetic::kMatrices), by_points = fault_of(Arithmetic::kPoints);
    EXPECT_EQ(by_matrices.substr(0, by_matrices.find("address")), by_points.substr(0, by_points.find("address")));
    return by_matrices;
  }
  std::string fault_of(Arithmetic arithmetic) {
    try {
      done(rprogram_, program_, arithmetic);
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

// A is fetched where B's slices come in turn.
TEST_F(Planted, TwoWritersInOneExchange) {
  std::vector<lower::bsp::Buffer>& buffers = program_.stages.front().buffers;
  buffers[0].offset = buffers[1].offset;
  EXPECT_THAT(fault(), testing::ContainsRegex("core 0, superstep 2: B: two writers of address"));
}

// The buffer has a row of the block's two.
TEST_F(Planted, AnElementThatIsNotInItsBuffer) {
  program_.stages.front().buffers[0].windows[0] = lower::bsp::Window::kBlock;
  program_.stages.front().buffers[0].dims[0].terms.clear();
  EXPECT_THAT(fault(), testing::ContainsRegex("superstep 1: A: .*not in its buffer"));
}

// Sums are read where the first block left none.
TEST_F(Planted, SumsThatNothingBegan) {
  program_.stages.front().axes[2].blocks_of_slice = 2;
  EXPECT_NE(fault(), "none");
}

TEST_F(Planted, TwoBuffersInOnePlace) {
  std::vector<lower::bsp::Buffer>& buffers = program_.stages.front().buffers;
  buffers[0].offset = program_.tensors[0].home.offset;
  EXPECT_NE(fault(), "none");
}

TEST_F(Planted, AnAddressOutsideTheMemory) {
  program_.memory -= 64;
  EXPECT_THAT(fault(), testing::ContainsRegex("core 0, superstep [0-9]+: [ABC]: .*outside its memory"));
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
