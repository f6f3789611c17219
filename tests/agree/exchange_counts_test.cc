// SPDX-License-Identifier: Apache-2.0
// What programs of cores that exchange do, by the model and by the simulator, which count apart, and by plain counts of
// both: of products over all cores and steps, of what ports were seen to send.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/hierarchy.h"
#include "base/integer.h"
#include "construct/bsp/construct.h"
#include "energy/energy.h"
#include "lower/bsp/lower.h"
#include "lower/bsp/places.h"
#include "model/bsp/estimate.h"
#include "sim/bsp/simulate.h"
#include "sim/timeline.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope::tests {
namespace {

struct Both {
  lower::bsp::Program program;
  energy::Counts model;
  sim::SimReport simulator;
};

// Nullopt where the program does not fit.
std::optional<Both> counts_of(const tile::BspStage& s, const arch::ArchSpec& a, sim::SimOptions options) {
  base::Diagnostics diags;
  auto program = lower::bsp::lower({&s, 1}, a, diags);
  if (!program) return std::nullopt;
  sim::SimReport simulated = sim::bsp::simulate(*program, a, options);
  return Both{std::move(*program), model::bsp::estimate({&s, 1}, a).counts, std::move(simulated)};
}

// Within a share of the larger one, or so many bytes.
bool is_near(double x, double y, double share, double bytes = 0) {
  return std::abs(x - y) <= std::max(share * std::max(x, y), bytes);
}

std::string compared(std::string_view what, double modelled, double simulated) {
  return fmt::format("{} {}, simulated {}", what, modelled, simulated);
}

// Whether model and simulator take as many instructions for an iteration: they count conditions, rounding and what
// indices make of their own.
bool is_plain(const expr::Stage& stage) {
  return std::all_of(stage.body.begin(), stage.body.end(), [](const expr::Node& n) {
    using enum expr::NodeKind;
    return !n.computes() || n.kind == kNegate || n.kind == kAdd || n.kind == kSubtract || n.kind == kMultiply ||
           n.kind == kDivide;
  });
}

// A bound holds for any draw. Sendings to a core that has all of it at home differ: the model has one share of an
// input's part there, whatever the blocks; blocks of such small operators are a few bytes.
RC_GTEST_PROP(WorkCounts, OfCoresThatExchangeAreThoseOfTheSimulator, ()) {
  constexpr double kExact = 1e-9, kConditions = 0.5, kBytes = 0.05, kLink = 0.15, kSmall = 64;
  const arch::ArchSpec a = any_chip_of_exchanging_cores();
  tile::BspStage s = any_bsp_stage(any_operator(9), a);
  s.prearranged = any_of_range(0, 1) == 1;
  s.tensors_in_cores = any_of_range(0, 3) == 0;
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  const auto both = counts_of(s, a, {.mode = sim::Mode::kFull});
  if (!both) return;
  const energy::Counts &model = both->model, &simulator = both->simulator.counts;
  const double instructions = is_plain(s.space->stage()) ? kExact : kConditions;
  RC_ASSERT(is_near(model.instructions, simulator.instructions, instructions));
  RC_ASSERT(model.operations.size() == simulator.operations.size());
  for (std::size_t o = 0; o < model.operations.size(); ++o) {
    RC_ASSERT(model.operations[o].name == simulator.operations[o].name);
    RC_ASSERT(is_near(model.operations[o].number, simulator.operations[o].number, instructions));
  }
  for (std::size_t p = 0; p < model.pipe_cycles.size(); ++p)
    RC_ASSERT(is_near(model.pipe_cycles[p], simulator.pipe_cycles[p], instructions));
  RC_ASSERT(model.levels.size() == simulator.levels.size());
  const energy::LevelCount &cores = model.levels.back(), &simulated = simulator.levels.back();
  RC_LOG() << compared("read", cores.read_bytes, simulated.read_bytes)
           << compared("link", model.link_bytes, simulator.link_bytes);
  RC_ASSERT(cores.name == simulated.name);
  RC_ASSERT(is_near(cores.read_bytes, simulated.read_bytes, kBytes, kSmall));
  RC_ASSERT(is_near(cores.written_bytes, simulated.written_bytes, kExact));
  RC_ASSERT(is_near(model.link_bytes, simulator.link_bytes, kLink, kSmall));
}

// Products of matrices, by the extents of every core's block at every step, each rounded to the instruction's shape.
RC_GTEST_PROP(WorkCounts, OfProductsAreThoseOfEveryBlock, ()) {
  const arch::ArchSpec a = any_chip_of_exchanging_cores();
  const bool ipu = a.link->kind == arch::LinkKind::kExchange;
  const auto sizes = fmt::format("m={},n={},k={}", any_of_range(1, 100), any_of_range(1, 100), any_of_range(1, 100));
  const expr::Expression e =
      expression("C[m,n] +=! A[m,k] * B[k,n]", sizes, {}, ipu ? base::Dtype::kF16 : base::Dtype::kBf16);
  tile::BspStage s = any_bsp_stage(e, a);
  s.instruction = ipu ? "amp.f16" : "mma.bf16_hifi2";
  const auto both = counts_of(s, a, {.mode = sim::Mode::kFull});
  if (!both) return;
  const arch::ComputeSpec& c = *std::find_if(a.compute.begin(), a.compute.end(),
                                             [&](const arch::ComputeSpec& unit) { return unit.name == s.instruction; });
  const lower::bsp::Stage& stage = both->program.stages.front();
  std::int64_t products = 0;
  for (std::int64_t step = 0; step < lower::bsp::steps_of(stage); ++step)
    for (std::int64_t core = 0; core < stage.cores; ++core) {
      const auto length = [&](std::size_t axis, std::int64_t shape) {
        return base::round_up(
            lower::bsp::window_of(stage, axis, lower::bsp::Window::kBlock, core, lower::bsp::counters_at(stage, step))
                .length,
            shape);
      };
      products += length(0, c.m) * length(1, c.n) * length(2, c.k);
    }
  for (const energy::Counts& counts : {both->model, both->simulator.counts})
    RC_ASSERT(counts.operations.front() == (energy::OperationCount{c.name, static_cast<double>(products)}));
}

// Bytes that ports were seen to send.
class Sent : public sim::TimelineSink {
 public:
  void event(const sim::TimelineEvent& e) override {
    if (e.track.kind == sim::Track::Kind::kLinkOut) bytes += static_cast<double>(e.bytes);
  }
  void sample(const sim::TimelineSample& /*sample*/) override {}

  double bytes = 0;
};

// On an exchange a port sends once to all receivers of a multicast.
RC_GTEST_PROP(WorkCounts, OfAnExchangeAreWhatPortsSend, ()) {
  arch::ArchSpec a = any_chip_of_exchanging_cores();
  while (a.link->kind != arch::LinkKind::kExchange) a = any_chip_of_exchanging_cores();
  tile::BspStage s = any_bsp_stage(any_operator(9), a);
  s.prearranged = any_of_range(0, 1) == 1;
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  Sent sent;
  sim::TimelineOptions shown;
  shown.cores.resize(static_cast<std::size_t>(a.core.count));
  std::iota(shown.cores.begin(), shown.cores.end(), 0);
  sim::Timeline timeline(shown, sent);
  const auto both = counts_of(s, a, {.mode = sim::Mode::kFull, .timeline = &timeline});
  if (!both) return;
  RC_ASSERT(both->simulator.counts.link_bytes == sent.bytes);
}

struct ExchangeCase {
  const char *chip, *op, *sizes;
  base::Dtype dtype;
};

// Programs as they are built, of operators of some size, whose rounds the simulator samples.
TEST(WorkCounts, OfBuiltProgramsOnCoresThatExchange) {
  constexpr double kOperations = 0.001, kBytes = 0.05, kRest = 0.15;
  for (const auto& [name, op, sizes, dtype] :
       {ExchangeCase{"ipu_gc200", "C[m,n] +=! A[m,k] * B[n,k]", "m=1024,n=1024,k=1024", base::Dtype::kF16},
        {"bow_ipu", "C[m,n] +=! A[m,k] * B[n,k]", "m=1000,n=700,k=300", base::Dtype::kF32},
        {"ipu_gc200", "O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=28,x=28,c=32,r=3,s=3",
         base::Dtype::kF16},
        {"ipu_gc200", "S[i] +=! X[i,j]", "i=4096,j=640", base::Dtype::kF32},
        {"ipu_gc200", "O[i,j] = X[i,j] + Y[i,j]", "i=4096,j=1000", base::Dtype::kF16},
        {"wse2", "C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=256", base::Dtype::kF32},
        {"wormhole_n150", "C[m,n] +=! A[m,k] * B[k,n]", "m=2048,n=2048,k=1024", base::Dtype::kBf16},
        {"wormhole_n150", "O[i,j] = X[i,j] + Y[i,j]", "i=4096,j=1024", base::Dtype::kF32}}) {
    SCOPED_TRACE(fmt::format("{} {} on {}", op, sizes, name));
    const arch::ArchSpec a = chip(name);
    base::Diagnostics diags;
    const auto found = construct::bsp::construct(expression(op, sizes, {}, dtype), a, 1, {}, diags);
    ASSERT_FALSE(found.empty());
    for (const tile::BspStage& s : found) {
      SCOPED_TRACE(tile::in_words(s));
      const auto both = counts_of(s, a, {.mode = sim::Mode::kSampled});
      ASSERT_TRUE(both);
      const energy::Counts &model = both->model, &simulator = both->simulator.counts;
      EXPECT_TRUE(is_near(model.instructions, simulator.instructions, kRest))
          << compared("instructions", model.instructions, simulator.instructions);
      ASSERT_EQ(model.operations.size(), simulator.operations.size());
      for (std::size_t o = 0; o < model.operations.size(); ++o)
        EXPECT_TRUE(is_near(model.operations[o].number, simulator.operations[o].number, kOperations))
            << compared(model.operations[o].name, model.operations[o].number, simulator.operations[o].number);
      ASSERT_EQ(model.levels.size(), simulator.levels.size());
      for (std::size_t l = 0; l < model.levels.size(); ++l) {
        const energy::LevelCount &m = model.levels[l], &t = simulator.levels[l];
        EXPECT_TRUE(is_near(m.read_bytes, t.read_bytes, kBytes)) << compared(m.name, m.read_bytes, t.read_bytes);
        EXPECT_TRUE(is_near(m.written_bytes, t.written_bytes, kBytes))
            << compared(m.name, m.written_bytes, t.written_bytes);
      }
      EXPECT_TRUE(is_near(model.link_bytes, simulator.link_bytes, kRest))
          << compared("link", model.link_bytes, simulator.link_bytes);
      EXPECT_TRUE(is_near(model.activates, simulator.activates, kRest))
          << compared("activates", model.activates, simulator.activates);
      if (!a.energy) continue;
      ASSERT_TRUE(energy::missing_keys(a, simulator).empty());
      const double us = both->simulator.time.v, modelled = energy::energy_of(a, model, a.clock, us).uj(),
                   simulated = energy::energy_of(a, simulator, a.clock, us).uj();
      EXPECT_TRUE(is_near(modelled, simulated, kBytes)) << compared("uJ", modelled, simulated);
    }
  }
}

// A product whose parts and blocks divide: 64 cores of which each has 32 x 32 results, with all of k. Of A a core gets
// 32 rows, which eight cores share, of B 32 columns likewise; what a core has at home of them no other core sends it.
TEST(WorkCounts, OfAProductByHand) {
  arch::ArchSpec a = chip("ipu_gc200");
  a.core.count = 64;
  const expr::Expression e = expression("C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=256", {}, base::Dtype::kF16);
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = {8, 8, 1};
  s.block = {32, 32, 256};
  s.core_order = s.loop_order = {0, 1, 2};
  s.dataflow = {{tile::Dataflow::kStationary, 1, 1, -1}, {tile::Dataflow::kStationary, 1, 1, -1}};
  s.instruction = "amp.f16";
  const auto both = counts_of(s, a, {.mode = sim::Mode::kFull});
  ASSERT_TRUE(both);
  // An instruction has a row of 16 x 16 coefficients: 2 x 16 blocks of a core, which 32 rows pass, four slots each; a
  // block's 512 B load in 32 slots. Inputs of 128 KiB are sent once each.
  constexpr double kCores = 64, kBlocks = 32, kRows = 32, kInput = 256 * 256 * 2;
  for (const energy::Counts& c : {both->model, both->simulator.counts}) {
    EXPECT_EQ(c.operations.front().number, 256.0 * 256 * 256);
    EXPECT_EQ(c.instructions, kCores * kBlocks * (kRows * 4 + 32));
    EXPECT_EQ(c.link_bytes, 2 * kInput);
    EXPECT_EQ(c.levels.front().read_bytes, kCores * kBlocks * (kRows * 32 + 512) + 2 * kInput);
    EXPECT_EQ(c.levels.front().written_bytes, kCores * (32 * 32 * 4 + 2 * 32 * 256 * 2));
  }
}

}  // namespace
}  // namespace tilescope::tests
