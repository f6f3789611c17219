// SPDX-License-Identifier: Apache-2.0
// The model of tiles that exchange against published formulas and against counts by hand.

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "model/bsp/bound.h"
#include "model/bsp/estimate.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"
#include "tile/bsp/fit.h"

namespace tilescope::model::bsp {
namespace {

struct Block {
  std::int64_t m, k, n;
  double poplibs, t10;  // cycles of one call, in f16
};

// Both libraries' formulas for f16, evaluated apart from this code: poplibs' PerformanceEstimation.hpp of revision
// 7eac0f2; T10's as its authors published them: 24 ceil(m/6) ceil(k/16) ceil(n/16) + 514 ceil(k/16) ceil(n/16) +
// 113 ceil(n/16) + 173.
constexpr Block kBlocks[] = {{24, 64, 16, 1333, 2726}, {48, 128, 64, 12387, 19184}};

double cycles(const Block& b, const arch::ArchSpec& a) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]",
                                               fmt::format("m={},n={},k={}", b.m, b.n, b.k), {}, base::Dtype::kF16);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == "amp.f16") return vertex_cycles(*space, {b.m, b.n, b.k}, c, a).all;
  return 0;
}

TEST(BspVertex, IsThatOfPoplibsWithinTenPercent) {
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  for (const Block& b : kBlocks) EXPECT_NEAR(cycles(b, a), b.poplibs, 0.1 * b.poplibs);
}

// The other library is a change of overheads. It has none for a step of depth, for which a chip's file says one cycle
// at least.
TEST(BspVertex, IsThatOfT10UnderItsOverheads) {
  const arch::ArchSpec a = tests::chip("ipu_gc200", {{"compute.amp.f16.overhead.call", "173 cycles"},
                                                     {"compute.amp.f16.overhead.block", "482 cycles"},
                                                     {"compute.amp.f16.overhead.column_block", "113 cycles"},
                                                     {"compute.amp.f16.overhead.depth_block", "1 cycle"},
                                                     {"compute.amp.f16.overhead.swaps", "true"}});
  for (const Block& b : kBlocks) EXPECT_NEAR(cycles(b, a), b.t10, 0.01 * b.t10);
}

tile::BspStage held(const expr::Expression& e, const tile::Extents& grid) {
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = grid;
  for (std::size_t a = 0; a < grid.size(); ++a) {
    s.block.push_back(s.part(a));
    s.core_order.push_back(static_cast<int>(a));
    s.loop_order.push_back(static_cast<int>(a));
  }
  s.dataflow.assign(s.space->inputs.size(), {tile::Dataflow::kStationary, 1, 1, -1});
  s.instruction = "amp.f16";
  return s;
}

// A rotating operand brings every other slice once: its bytes are those of the part, less the slice that is there.
TEST(BspExchange, ARingPassesAllSlicesButOne) {
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", {}, base::Dtype::kF16);
  tile::BspStage s = held(e, {8, 8, 1});
  s.dataflow[1] = {tile::Dataflow::kShift, 1, 8, 2};
  s.block[2] = 64;
  const double bytes_a = 64 * 512 * 2, bytes_b = 512 * 64 * 2;
  const Estimate arranged = estimate({&s, 1}, a);
  s.prearranged = true;
  const Estimate prearranged = estimate({&s, 1}, a);
  EXPECT_DOUBLE_EQ(prearranged.levels[0].bytes, 64 * (bytes_b * 7 / 8));
  EXPECT_DOUBLE_EQ(arranged.levels[0].bytes, 64 * (bytes_b * 7 / 8 + bytes_b / 8 + bytes_a));
  EXPECT_EQ(prearranged.term_us(kArrange), 0);
  EXPECT_GT(arranged.term_us(kArrange), 0);
}

// What a vendor adds helps.
TEST(BspModel, MoreIsNeverSlower) {
  const expr::Expression e =
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", {}, base::Dtype::kF16);
  tile::BspStage s = held(e, {8, 8, 2});
  s.dataflow[0] = {tile::Dataflow::kFetch, 2, 1, -1};
  s.block[2] = 64;
  const double plain = estimate({&s, 1}, tests::chip("ipu_gc200")).total_us;
  for (const auto& [path, value] : {std::pair{"link.width", "8 B"},
                                    {"link.overlap", "true"},
                                    {"link.sync", "20 cycles"},
                                    {"link.noncontiguous_gap", "10 cycles"},
                                    {"clock", "2 GHz"}})
    EXPECT_LT(estimate({&s, 1}, tests::chip("ipu_gc200", {{path, value}})).total_us, plain) << path;
  EXPECT_GE(estimate({&s, 1}, tests::chip("ipu_gc200", {{"link.multicast", "none"}})).total_us, plain);
}

// Of any program on any chip: what a vendor adds is never slower.
RC_GTEST_PROP(BspModel, MoreIsNeverSlowerForAnyProgram, ()) {
  const arch::ArchSpec plain = tests::any_chip_of_exchanging_cores();
  const tile::BspStage s = tests::any_bsp_stage(tests::any_operator(60), plain);
  RC_LOG() << plain.name << " " << s.space->stage().text << " " << tile::in_words(s);
  const double us = estimate({&s, 1}, plain).total_us;
  const auto never_slower = [&](const char* what, const auto& change, double bound = 1 + 1e-12) {
    arch::ArchSpec more = plain;
    change(more);
    RC_LOG() << " " << what;
    RC_ASSERT(estimate({&s, 1}, more).total_us <= us * bound);
  };
  never_slower("width", [](arch::ArchSpec& a) { a.link->width.n *= 2; });
  never_slower("overlap", [](arch::ArchSpec& a) { a.link->overlap = true; });
  never_slower("sync", [](arch::ArchSpec& a) { a.link->sync->n /= 2; });
  if (tile::fits_memory({&s, 1}, plain))
    never_slower("memory", [](arch::ArchSpec& a) {
      for (arch::Level& level : a.memory)
        if (auto* m = std::get_if<arch::ScratchpadLevel>(&level)) m->capacity.n *= 2, m->banks *= 2;
    });
  // On a mesh a tree may take longer than the ways of single sendings, of which each takes the network that is shorter.
  if (plain.link->kind == arch::LinkKind::kExchange)
    never_slower("multicast", [](arch::ArchSpec& a) { a.link->multicast = arch::Multicast::kAny; });
  // A sender takes the network that is shorter, of several the one that it has sent least into, whatever the links of
  // others carry: the busiest link may get more (by 10.01 % at most in 80,000 programs).
  if (plain.link->kind == arch::LinkKind::kMesh)
    never_slower("networks", [](arch::ArchSpec& a) { a.link->networks = 2 * a.link->networks.value_or(1); }, 1.15);
}

// No program of a grid takes less than the grid's bound, nor does one of other blocks and moves.
RC_GTEST_PROP(BspBound, IsNeverAboveATime, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  tile::BspStage s = tests::any_bsp_stage(tests::any_operator(60), a);
  s.prearranged = tests::any_of_range(0, 1) == 1;
  tile::BspStage any_of_grid = s;
  any_of_grid.dataflow.assign(s.dataflow.size(), {tile::Dataflow::kStationary, 1, 1, -1});
  for (std::size_t x = 0; x < s.grid.size(); ++x) any_of_grid.block[x] = s.part(x);
  const double us = total_us(s, a, Links::kClosedForm);
  RC_LOG() << a.name << " " << s.space->stage().text << " " << tile::in_words(s) << " " << us << " us";
  RC_ASSERT(GridBound(any_of_grid, a).of(s) <= us * (1 + 1e-12));
  RC_ASSERT(GridBound(any_of_grid, a).of(any_of_grid) <= us * (1 + 1e-12));
}

// Eight cores hold one row each of A and all of B, 64 x 16 of f16: by hand, what a gather of B takes and what ports
// that work in pairs spare. A slice of 8 rows is 256 B, 64 cycles of a port, one piece; a port brings seven of them, or
// half of each of eight where each goes to all others at once.
TEST(BspExchange, GathersInOneSliceOfEveryCore) {
  arch::ArchSpec a = tests::chip("ipu_gc200", {{"calibration.link.copy.ratio", "1"}, {"link.port_pairing", "1"}});
  a.core.count = 8;
  tile::BspStage s =
      held(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8,n=16,k=64", {}, base::Dtype::kF16), {8, 1, 1});
  s.instruction = "amp.f16";
  s.dataflow[1] = {tile::Dataflow::kStationary, 1, 8, 2};
  const double way = 190, cycle_us = 1e6 / 1.33e9;
  // A's row lies at home; that B's slice does too the model does not know.
  const double brought = 64 + way;
  EXPECT_NEAR(estimate({&s, 1}, a).term_us(kArrange), (brought + 7 * 64 + 6 * 160 + way) * cycle_us, 1e-9);
  a.link->port_pairing = 2;
  EXPECT_NEAR(estimate({&s, 1}, a).term_us(kArrange), (brought + 8 * 32 + 7 * 160 + way) * cycle_us, 1e-9);
}

// A sending over an empty mesh, by hand: all that core 1 wants of core 0, ports, hops and the bytes with their header.
TEST(BspExchange, OneSendingOverAMeshTakesItsWay) {
  arch::ArchSpec a = tests::chip("wormhole_n150");
  a.link->rows = 1, a.link->columns = 2;
  a.core.count = 2;
  const expr::Expression e = tests::expression("C[m] +=! A[m,k]", "m=2,k=2048", {}, base::Dtype::kBf16);
  tile::BspStage s = held(e, {1, 1});
  s.instruction = "fma.f32";
  s.tensors_in_cores = true;
  EXPECT_DOUBLE_EQ(estimate({&s, 1}, a).term_us(kArrange) * 1e3, 2 * 5 + 9 + (2048 * 2 + 32) / 32.0);
  EXPECT_DOUBLE_EQ(estimate({&s, 1}, a).occupancy.ratio, 0.5);  // one of two cores computes
}

const arch::ComputeSpec& instruction(const arch::ArchSpec& a, std::string_view name) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == name) return c;
  throw std::runtime_error(fmt::format("{} has no {}", a.name, name));
}

double cycles_of(const char* op, const std::string& size, const tile::Extents& block, std::string_view name,
                 const arch::ArchSpec& a) {
  const arch::ComputeSpec& c = instruction(a, name);
  const expr::Expression e = tests::expression(op, size, {}, c.dtype);
  return vertex_cycles(*tile::make_space(e, tile::no_collapse(e.stages.front())), block, c, a).all;
}

// Six workers share 13 results of f32, two a vector: the busiest has three, so two vectors, each with two cycles of the
// loop beside a load, a sum and a store, one every six cycles: together, or one after another.
TEST(BspVertex, LastsAsLongAsTheBusiestWorker) {
  for (const bool overlap : {false, true}) {
    const arch::ArchSpec a = tests::chip("ipu_gc200", {{"memory.sram.overlap", overlap ? "true" : "false"}});
    EXPECT_EQ(cycles_of("C[m] = A[m] + B[m]", "m=13", {13}, "fma.f32", a), 11 + 6 * (29 + 2 * (2 + (overlap ? 1 : 3))));
  }
}

// Of loops that one load does not feed, loads, arithmetic and stores take turns: five loads, four sums, a store.
TEST(BspVertex, OverlapsWhatOneLoadBrings) {
  EXPECT_EQ(
      cycles_of("C[m] = A[m] + A[m+1] + A[m+2] + A[m+3] + A[m+4]", "m=12", {12}, "fma.f32", tests::chip("ipu_gc200")),
      11 + 6 * (29 + 2 + 5 + 4 + 1));
}

// poplibs' popopsCycleEstimators.cpp of revision 7eac0f2: 11 + 6 (26 + 3 ceil(ceil(x / 6) / 4)) of two vectors of f16,
// 29 and 2 in place of 26 and 4 of f32; a triad's loop is one instruction.
TEST(BspVertex, OfTwoVectorsIsThatOfPoplibs) {
  for (const char* chip : {"ipu_gc2", "ipu_gc200", "bow_ipu"}) {
    const arch::ArchSpec a = tests::chip(chip);
    for (const std::int64_t x : {1, 100, 4096}) {
      const auto worker = static_cast<double>((x + 5) / 6);
      const std::string size = fmt::format("i={}", x);
      EXPECT_EQ(cycles_of("C[i] = A[i] + B[i]", size, {x}, "fma.f16", a), 11 + 6 * (26 + 3 * std::ceil(worker / 4)));
      EXPECT_EQ(cycles_of("C[i] = A[i] + B[i]", size, {x}, "fma.f32", a), 11 + 6 * (29 + 3 * std::ceil(worker / 2)));
      EXPECT_EQ(cycles_of("C[i] = A[i] + 0.5 * B[i]", size, {x}, "fma.f32", a), 11 + 6 * (29 + std::ceil(worker / 2)));
    }
  }
}

// Sums of a matrix's columns: a worker adds vectors, each a load and an addition for a row, a store, and poplibs' five
// cycles beside; of its rows: runs of 20 cycles and a vector each.
TEST(BspVertex, SumsSideBySideAreVectors) {
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  EXPECT_EQ(cycles_of("R[i] +=! P[p,i]", "i=576,p=15", {576, 15}, "fma.f16", a), 11 + 6 * (26 + 24 * (15 + 1 + 5)));
  EXPECT_EQ(cycles_of("R[i] +=! P[i,p]", "i=576,p=15", {576, 15}, "fma.f16", a), 11 + 6 * 96 * (20 + 4));
}

// Matrix units of both chips by poplibs' PerformanceEstimation.hpp of revision 7eac0f2, evaluated apart from this code:
// whatever rows a worker has.
TEST(BspVertex, OfProductsIsThatOfPoplibs) {
  struct Unit {
    const char *chip, *instruction;
    std::int64_t columns, depth, load;  // of a block; cycles in which its coefficients come
    bool half;
  };
  for (const Unit& u : {Unit{"ipu_gc200", "amp.f16", 16, 16, 32, true}, Unit{"ipu_gc2", "amp.f16", 8, 16, 16, true},
                        Unit{"ipu_gc200", "amp.f32", 16, 8, 32, false}, Unit{"ipu_gc2", "amp.f32", 8, 8, 16, false}})
    for (const std::int64_t m : {1, 6, 7, 12, 13, 18, 100}) {
      const std::int64_t k = 4 * u.depth, n = 3 * u.columns;
      std::int64_t busiest = 0;
      for (const std::int64_t r : {m / 6, (m + 5) / 6}) {
        const std::int64_t few[] = {22, u.half ? 33 : 47, u.half ? 42 : 46};
        busiest =
            std::max(busiest, (r < 3 ? few[r] : (u.half ? 38 + 4 * (r - 3) : 46 + 8 * (r - 3))) - (u.half ? 7 : 0));
      }
      const std::int64_t expected =
          50 + (u.half ? 6 * (7 + 3 * 3) : 0) + 4 * 15 + 4 * 3 * (19 + 6 + u.load + 6 * busiest);
      EXPECT_EQ(cycles_of("C[m,n] +=! A[m,k] * B[k,n]", fmt::format("m={},n={},k={}", m, n, k), {m, n, k},
                          u.instruction, tests::chip(u.chip)),
                expected)
          << u.chip << " " << u.instruction << " " << m;
    }
}

// Two cores of a mesh have partial sums of 16 results and add up eight each, which come in one packet of 32 B behind a
// header of 32 B; three have 5 of 15, which come from two.
TEST(BspExchange, SharesOfSumsGoToThoseWhoAddThem) {
  for (const std::int64_t cores : {2, 3}) {
    arch::ArchSpec a = tests::chip("wormhole_n150");
    a.link->rows = 1, a.link->columns = cores, a.link->networks = 1, a.link->torus = arch::Torus::kNone;
    a.core.count = cores;
    const std::int64_t share = cores == 2 ? 8 : 5;
    const expr::Expression e = tests::expression("C[m] +=! A[m,k]", fmt::format("m={},k={}", cores * share, 64 * cores),
                                                 {}, base::Dtype::kF32);
    tile::BspStage s = held(e, {1, cores});
    s.instruction = "fma.f32";
    s.tensors_in_cores = true;
    const double packet = (static_cast<double>(share) * 4 + 32) / 32;
    // The middle one of three gets one from each side, the outer ones two over one link.
    const double exchange = 2 * 5 + 9 * static_cast<double>(cores - 1) + static_cast<double>(cores - 1) * packet;
    const double adding = addition_cycles(share, cores, base::Dtype::kF32,
                                          *arch::scalar_unit_of(a, base::Dtype::kF32, base::Dtype::kF32), a);
    EXPECT_DOUBLE_EQ(estimate({&s, 1}, a).term_us(kReduce) * 1e3, exchange + adding) << cores;
  }
}

// What the DRAM gives takes its bytes over the rate of its channels.
TEST(BspModel, LevelsSayWhatTheirRateTakes) {
  const arch::ArchSpec a = tests::chip("wormhole_n150");
  tile::BspStage s =
      held(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", {}, base::Dtype::kBf16), {8, 8, 1});
  s.instruction = "mma.bf16_hifi4";
  const LevelUse dram = estimate({&s, 1}, a).level("dram");
  EXPECT_GT(dram.bytes, 3 * 512 * 512 * 2 - 1);
  EXPECT_DOUBLE_EQ(dram.time_us, dram.bytes / arch::bandwidth_of(a, *arch::dram_of(a)).v * 1e6);
}

}  // namespace
}  // namespace tilescope::model::bsp
