// SPDX-License-Identifier: Apache-2.0
// Programs of cores that exchange: the machine that computes values, the simulator and the model count the same; what a
// vendor adds is never slower; parts of the simulator against times by hand.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/verify/verify_programs.h"
#include "construct/bsp/construct.h"
#include "lower/bsp/halo.h"
#include "lower/bsp/lower.h"
#include "lower/bsp/places.h"
#include "model/bsp/estimate.h"
#include "sim/bsp/simulate.h"
#include "targets/target.h"
#include "targets/verifier.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope {
namespace {

using tests::any_of_range;

lower::bsp::Program lowered(const tile::RProgram& p, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  auto out = lower::bsp::lower(p.bsp(), a, diags);
  tests::require_no_errors(diags);
  return *out;
}

RC_GTEST_PROP(Exchanges, AreCountedAlikeByMachineSimulatorAndModel, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  const expr::Expression e = tests::any_operator(9);
  tile::BspStage s = tests::any_bsp_stage(e, a);
  s.prearranged = any_of_range(0, 1) == 1;
  s.tensors_in_cores = any_of_range(0, 3) == 0;
  tile::RProgram p = tile::program_of(a.name, s);
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  const auto verifier = targets::target_of(a).verify(a);
  base::Diagnostics diags;
  const auto number = verifier->add(p, diags, {});
  if (!number) return;
  std::mt19937 random(1);
  lower::NamedValues values;
  lower::add_expected_values(p, random, values);
  const targets::Execution done = verifier->run(*number, values, 1);
  RC_ASSERT(done.counters_equal);
  const targets::Amounts modelled = *verifier->modelled(*number);
  for (const auto& [name, amount] : modelled)
    for (const auto& [of, ran] : done.run)
      if (of == name) RC_ASSERT(amount == ran);
  const std::string& output = s.space->expression.tensors[static_cast<std::size_t>(s.space->output.tensor)].name;
  RC_ASSERT(testing::Value(done.outputs.front().at(output),
                           testing::Pointwise(testing::NanSensitiveDoubleEq(), values.at(output))));
}

// However few are asked for, some outputs of every core that has any are compared, and none twice.
RC_GTEST_PROP(Exchanges, SamplesHaveSomeOfEveryCore, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  const expr::Expression e = tests::any_operator(9);
  const tile::RProgram p = tile::program_of(a.name, tests::any_bsp_stage(e, a));
  const auto verifier = targets::target_of(a).verify(a);
  base::Diagnostics diags;
  const auto number = verifier->add(p, diags, {});
  if (!number) return;
  const lower::bsp::Program program = lowered(p, a);
  const targets::Elements sample = verifier->sample(*number, static_cast<double>(any_of_range(0, 1000)), 1);
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const lower::bsp::Tensor& tensor = program.tensors[t];
    RC_ASSERT(sample.contains(tensor.name) == (tensor.home.stage >= 0));
    if (tensor.home.stage < 0) continue;
    std::vector<std::int64_t> cores(static_cast<std::size_t>(tensor.elements));
    lower::bsp::for_each_piece(program, static_cast<int>(t), 0, tensor.elements, [&](const lower::bsp::Piece& piece) {
      for (std::int64_t i = 0; i < piece.count; ++i) cores[static_cast<std::size_t>(piece.first + i)] = piece.core;
    });
    std::set<std::int64_t> compared;
    const std::vector<std::int64_t>& elements = sample.at(tensor.name);
    for (const std::int64_t element : elements) compared.insert(cores.at(static_cast<std::size_t>(element)));
    RC_ASSERT(compared == std::set<std::int64_t>(cores.begin(), cores.end()));
    RC_ASSERT(std::set<std::int64_t>(elements.begin(), elements.end()).size() == elements.size());
  }
}

sim::SimReport simulated(const tile::BspStage& s, const arch::ArchSpec& a, sim::Mode mode) {
  return sim::bsp::simulate(lowered(tile::program_of(a.name, s), a), a, {.mode = mode});
}

// More of what a vendor may add is never slower, by the simulator.
TEST(Exchanges, MoreIsNeverSlower) {
  for (const char* name : {"ipu_gc200", "wormhole_n150"}) {
    const arch::ArchSpec a = tests::chip(name);
    const base::Dtype dtype = name[0] == 'i' ? base::Dtype::kF16 : base::Dtype::kBf16;
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", {}, dtype);
    base::Diagnostics diags;
    const auto found = construct::bsp::construct(e, a, 3, {}, diags);
    ASSERT_FALSE(found.empty()) << name;
    for (const tile::BspStage& s : found) {
      const std::int64_t plain = simulated(s, a, sim::Mode::kFull).cycles;
      for (const auto& [path, value] : {std::pair{"link.width", name[0] == 'i' ? "8 B" : "64 B"},
                                        {"link.overlap", "true"},
                                        {"link.sync", "1 cycle"}})
        EXPECT_LE(simulated(s, tests::chip(name, {{path, value}}), sim::Mode::kFull).cycles, plain)
            << name << " " << path << " " << tile::in_words(s);
      EXPECT_GE(simulated(s, tests::chip(name, {{"link.multicast", "none"}}), sim::Mode::kFull).cycles, plain)
          << name << " " << tile::in_words(s);
    }
  }
}

// What a DRAM gives is never slower either, by the model.
RC_GTEST_PROP(Exchanges, MoreOfADramIsNeverSlower, ()) {
  const arch::ArchSpec a = tests::chip("wormhole_n150");
  tile::BspStage s = tests::any_bsp_stage(tests::any_operator(40), a);
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  const double plain = model::bsp::estimate({&s, 1}, a).total_us;
  for (const auto& [path, value] : {std::pair{"memory.dram.channels", "24"},
                                    {"memory.dram.clock", "1.6 GHz"},
                                    {"memory.dram.latency", "300 cycles"},
                                    {"calibration.dram.read.ratio", "0.99"},
                                    {"link.width", "64 B"}})
    RC_ASSERT(model::bsp::estimate({&s, 1}, tests::chip("wormhole_n150", {{path, value}})).total_us <= plain);
}

// Eight cores of which each has a slice of B at home, 256 B in one piece, and sends it to all others: to one after the
// other, seven turns; where ports work in pairs to all at once, eight turns of half a slice.
TEST(Exchanges, GatherSliceBySlice) {
  for (const std::int64_t pairing : {1, 2}) {
    arch::ArchSpec a = tests::chip("ipu_gc200");
    a.core.count = 8;
    a.link->latency_spread = base::Cycles{0};
    a.link->port_pairing = pairing;
    tile::BspStage s;
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8,n=16,k=64", {}, base::Dtype::kF16);
    s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    s.grid = {8, 1, 1};
    s.block = {1, 16, 64};
    s.core_order = s.loop_order = {0, 1, 2};
    s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}, {tile::Dataflow::kStationary, 1, 8, 2}};
    s.instruction = "amp.f16";
    for (const sim::StallReport& stall : simulated(s, a, sim::Mode::kFull).stalls) {
      if (stall.name == "arrange") {
        EXPECT_EQ(stall.cycles, pairing == 1 ? 7 * 64 + 6 * 160 : 8 * 32 + 7 * 160) << pairing;
      }
    }
  }
}

// A sum of two tensors of f32, 8 B of each a load, which is what a bank gives a cycle: one cycle where they lie in
// banks of their own, two where all of them are in one, with the sum and the store of the vectors before beside it; two
// of the loop, and an issue every six cycles, by hand.
TEST(Exchanges, InputsInOneBankAreLoadedInTurn) {
  const std::int64_t cores = 1472, elements = 12000 * cores, vectors = 12000 / 6 / 2;
  const expr::Expression e =
      tests::expression("C[m] = A[m] + B[m]", fmt::format("m={}", elements), {}, base::Dtype::kF32);
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {cores};
  s.block = {12000};
  s.core_order = s.loop_order = {0};
  s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}, {tile::Dataflow::kStationary, 1, 1, -1}};
  s.instruction = "fma.f32";
  for (const bool one : {false, true}) {
    const arch::ArchSpec a =
        one ? tests::chip("ipu_gc200", {{"memory.sram.banks", "1"}, {"memory.sram.interleaved", "16 KiB"}})
            : tests::chip("ipu_gc200");
    const double cycles = 11 + 6 * (29 + static_cast<double>(vectors) * (one ? 4 : 3));
    const model::Estimate modelled = model::bsp::estimate({&s, 1}, a);
    const double us = modelled.term_us(model::bsp::kCompute) + modelled.term_us(model::bsp::kCall);
    EXPECT_NEAR(us * static_cast<double>(a.clock.n) / 1e6, cycles, 1e-6) << one;
    for (const sim::StallReport& stall : simulated(s, a, sim::Mode::kFull).stalls) {
      if (stall.name == "compute") {
        EXPECT_EQ(static_cast<double>(stall.cycles), cycles) << one;
      }
    }
  }
}

tile::BspStage of_one_core(const expr::Expression& e, const char* instruction) {
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  for (std::size_t a = 0; a < s.space->axes.size(); ++a) {
    s.grid.push_back(1);
    s.block.push_back(s.space->axes[a].extent);
    s.core_order.push_back(static_cast<int>(a));
    s.loop_order.push_back(static_cast<int>(a));
  }
  s.dataflow.assign(s.space->inputs.size(), {tile::Dataflow::kStationary, 1, 1, -1});
  s.instruction = instruction;
  s.prearranged = true;
  return s;
}

// What a library's code adds, by the simulator: of loops and sums as in the model's tests, of products with any rows as
// poplibs' formulas say.
TEST(Vertices, AreThoseOfPoplibs) {
  struct Case {
    const char *op, *size, *instruction;
    std::int64_t cycles;
  };
  const char *product = "C[m,n] +=! A[m,k] * B[k,n]", *sum = "C[i] = A[i] + B[i]";
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  for (const Case& c :
       {Case{sum, "i=4096", "fma.f16", 11 + 6 * (26 + 3 * 171)},
        Case{sum, "i=4096", "fma.f32", 11 + 6 * (29 + 3 * 342)},
        Case{"C[i] = A[i] + 0.5 * B[i]", "i=4096", "fma.f32", 11 + 6 * (29 + 342)},
        Case{"C[i] = A[i] + A[i+1] + A[i+2] + A[i+3] + A[i+4]", "i=12", "fma.f32", 11 + 6 * (29 + 2 + 5 + 4 + 1)},
        Case{"R[i] +=! P[p,i]", "i=576,p=15", "fma.f16", 11 + 6 * (26 + 24 * (15 + 1 + 5))},
        Case{"R[i] +=! P[i,p]", "i=576,p=15", "fma.f16", 11 + 6 * 96 * (20 + 4)},
        Case{product, "m=1,n=16,k=16", "amp.f16", 74 + 33 + 25 + 32 + 6 * 26},
        Case{product, "m=7,n=16,k=16", "amp.f16", 74 + 33 + 25 + 32 + 6 * 35},
        Case{product, "m=7,n=16,k=8", "amp.f32", 50 + 15 + 25 + 32 + 6 * 47},
        Case{product, "m=24,n=16,k=8", "amp.f32", 50 + 15 + 25 + 32 + 6 * 54}}) {
    const base::Dtype dtype = std::string(c.instruction).ends_with("f16") ? base::Dtype::kF16 : base::Dtype::kF32;
    const tile::BspStage s = of_one_core(tests::expression(c.op, c.size, {}, dtype), c.instruction);
    const sim::SimReport r = simulated(s, a, sim::Mode::kFull);
    const auto compute =
        std::find_if(r.stalls.begin(), r.stalls.end(), [](const auto& x) { return x.name == "compute"; });
    ASSERT_NE(compute, r.stalls.end());
    EXPECT_EQ(compute->cycles, c.cycles) << c.op << " " << c.size << " " << c.instruction;
  }
}

// What all cores receive of prearranged inputs before the first step, by the program's places and by the model: with
// inputs that stay and no partial sums they exchange nothing else.
RC_GTEST_PROP(Halos, AreCountedAlikeByPlacesAndModel, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  const expr::Expression e =
      tests::any_sized(tests::any_element<tests::Form>({{"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "nfyxcrs"},
                                                        {"O[n,f,y,x] +=! I[n,c,y*2+r,x*2+s] * W[f,c,r,s]", "nfyxcrs"},
                                                        {"O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]", "ncyxrs"},
                                                        {"O[y,x] = I[y,x] + I[y+1,x+2] + I[y+2,x]", "yx"},
                                                        {"C[m,n] +=! A[m,k] * B[k,n]", "mnk"}}),
                       12, base::Dtype::kF32);
  tile::BspStage s = tests::any_bsp_stage(e, a);
  s.prearranged = s.tensors_in_cores = true;
  s.dataflow.assign(s.space->inputs.size(), {tile::Dataflow::kStationary, 1, 1, -1});
  for (std::size_t x = 0; x < s.grid.size(); ++x) {
    if (x >= s.space->spatial) s.grid[x] = 1;
    s.block[x] = any_of_range(1, s.part(x));
  }
  RC_LOG() << a.name << " " << s.space->stage().text << " " << tile::in_words(s);
  base::Diagnostics diags;
  const auto p = lower::bsp::lower({&s, 1}, a, diags);
  if (!p) return;
  const lower::bsp::Stage& stage = p->stages.front();
  std::int64_t bytes = 0;
  for (const lower::bsp::Transfer& t : stage.arrange) {
    const lower::bsp::Buffer& b = stage.buffers[static_cast<std::size_t>(t.buffer)];
    for (std::int64_t core = 0; core < stage.cores; ++core)
      lower::bsp::for_each_halo(stage, b, core, [&](std::int64_t, const lower::bsp::Box& box) {
        bytes += lower::bsp::elements_of(box) * base::size_of(b.dtype).n;
      });
  }
  RC_TAG(bytes > 0);
  RC_ASSERT(std::llround(model::bsp::estimate({&s, 1}, a).levels.back().bytes) == bytes);
  const sim::SimReport r = sim::bsp::simulate(*p, a, {.mode = sim::Mode::kFull});
  std::int64_t simulated = 0;
  for (const sim::LevelReport& level : r.levels)
    if (level.name == "link") simulated = level.amounts.read_bytes;
  RC_ASSERT(simulated == bytes);
}

// Five filters on four cores are two each on three of them: the fourth takes no part of a window.
TEST(Halos, CoresWithoutIterationsTakeNothing) {
  const arch::ArchSpec a = tests::chip("ipu_gc2");
  const expr::Expression e = tests::expression("O[f,x] +=! I[x+s] * W[f,s]", "f=5,x=2,s=2", {}, base::Dtype::kF32);
  tile::BspStage s = of_one_core(e, "fma.f32");
  s.tensors_in_cores = true;
  s.grid = {4, 2, 1};
  s.block = {1, 1, 1};
  base::Diagnostics diags;
  const auto p = lower::bsp::lower({&s, 1}, a, diags);
  ASSERT_TRUE(p) << diags.sentences().front();
  std::int64_t elements = 0;
  for (const lower::bsp::Transfer& t : p->stages[0].arrange)
    for (std::int64_t core = 0; core < p->stages[0].cores; ++core)
      lower::bsp::for_each_halo(p->stages[0], p->stages[0].buffers[static_cast<std::size_t>(t.buffer)], core,
                                [&](std::int64_t, const lower::bsp::Box& box) { elements += elements_of(box); });
  EXPECT_EQ(elements, 3) << "one of the first window on each core that works";
}

// A stencil over three cores: rows that neighbours share are exchanged before the first step, and only these; their way
// is half of that between the cores at both ends.
TEST(Halos, TakeTheirBytesAndPieces) {
  arch::ArchSpec a = tests::chip("ipu_gc200", {{"link.port_pairing", "1"}});
  a.core.count = 3;
  tile::BspStage s = of_one_core(tests::expression("B[y,x] = A[y,x] + A[y+1,x] + A[y+2,x]", "y=12,x=64"), "fma.f32");
  s.grid = {3, 1};
  s.block = {4, 64};
  const sim::SimReport r = simulated(s, a, sim::Mode::kFull);
  EXPECT_EQ(r.levels.front().amounts.read_bytes, 4 * 256);
  EXPECT_EQ(r.levels.front().amounts.requests, 4);
  for (const sim::StallReport& stall : r.stalls)
    if (stall.name == "arrange") {
      EXPECT_EQ(stall.cycles, 2 * 64 + 160 + 190 / 2);
    }
}

// Two cores, each of which wants half of the other's 4,096 bytes: what a port takes for them, its sync and the way.
TEST(Exchanges, OfTwoCoresTakeWhatTheirPortsTake) {
  arch::ArchSpec a = tests::chip("ipu_gc200", {{"link.latency_spread", "30 cycles"}});
  a.core.count = 2;
  tile::BspStage s;
  // Rows of A are at home on one core each, columns of B on both.
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=2,n=1,k=2048", {}, base::Dtype::kF16);
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {2, 1, 1};
  s.block = {1, 1, 2048};
  s.core_order = s.loop_order = {0, 1, 2};
  s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}, {tile::Dataflow::kStationary, 1, 1, -1}};
  s.instruction = "fma.f32";
  const sim::SimReport r = simulated(s, a, sim::Mode::kFull);
  for (const sim::StallReport& stall : r.stalls) {
    if (stall.name == "arrange") {
      EXPECT_EQ(stall.cycles, 1024 * 2 / 4 + 30);
    }
    if (stall.name == "sync") {
      EXPECT_EQ(stall.cycles, 2 * a.link->sync->n);
    }
  }
}

}  // namespace
}  // namespace tilescope
