// SPDX-License-Identifier: Apache-2.0
// Parts of the simulator of cores that exchange, against published formulas and times by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "lower/bsp/lower.h"
#include "sim/bsp/detail/arithmetic.h"
#include "sim/bsp/detail/fabric.h"
#include "sim/bsp/simulate.h"
#include "tests/support/build.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope::sim::bsp {
namespace {

struct Block {
  std::int64_t m, k, n;
  double poplibs;  // cycles of one call, in f16: PerformanceEstimation.hpp of revision 7eac0f2, evaluated by hand
};

TEST(BspArithmetic, OfOneCoreIsThatOfPoplibsWithinTenPercent) {
  const arch::ArchSpec a = tests::chip("ipu_gc200");
  for (const Block& b : {Block{24, 64, 16, 1333}, Block{48, 128, 64, 12387}}) {
    const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]",
                                                 fmt::format("m={},n={},k={}", b.m, b.n, b.k), {}, base::Dtype::kF16);
    tile::BspStage s;
    s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    s.grid = {1, 1, 1};
    s.block = {b.m, b.n, b.k};
    s.core_order = s.loop_order = {0, 1, 2};
    s.dataflow.assign(2, {tile::Dataflow::kStationary, 1, 1, -1});
    s.instruction = "amp.f16";
    base::Diagnostics diags;
    const auto p = lower::bsp::lower({&s, 1}, a, diags);
    ASSERT_TRUE(p.has_value());
    Arithmetic arithmetic(*p, p->stages.front(), a);
    const auto cycles = static_cast<double>(arithmetic.block({b.m, b.n, b.k}));
    EXPECT_NEAR(cycles, b.poplibs, 0.1 * b.poplibs);
  }
}

arch::ArchSpec mesh(arch::Torus torus, std::int64_t networks) {
  arch::ArchSpec a = tests::chip("wormhole_n150");
  arch::LinkSpec& l = *a.link;
  l.rows = l.columns = 4;
  a.core.count = 16;
  for (arch::Level& level : a.memory)
    if (auto* dram = std::get_if<arch::DramLevel>(&level)) dram->ports = "r0c0 r3c3";
  l.torus = torus;
  l.networks = networks;
  l.header.reset();
  l.port = base::Cycles{5};
  l.hop = base::Cycles{9};
  l.width = base::Bytes{32};
  return a;
}

std::int64_t time_of(const arch::ArchSpec& a, const Exchange& e) {
  const auto fabric = a.link->kind == arch::LinkKind::kMesh ? make_mesh(a, [](const PortUse&) {})
                                                            : make_ports(a, [](const PortUse&) {});
  fabric->begin(e, 0_cycles);
  while (const auto next = fabric->next()) fabric->advance(*next);
  return fabric->end().count();
}

constexpr std::int64_t kBytes = 3200;  // a hundred cycles of a link

// From core 0 to core 15: port, hops, port, and the bytes; three and three hops, or one each where ends are neighbours.
TEST(BspMesh, OneSendingTakesItsWay) {
  const Exchange e{{{15}}, {{0, kBytes, 1, 0, 0}}, 0};
  EXPECT_EQ(time_of(mesh(arch::Torus::kNone, 1), e), 2 * 5 + 6 * 9 + 100);
  EXPECT_EQ(time_of(mesh(arch::Torus::kBothWays, 1), e), 2 * 5 + 2 * 9 + 100);
  EXPECT_EQ(time_of(mesh(arch::Torus::kOneWay, 1), e), 2 * 5 + 6 * 9 + 100);
  EXPECT_EQ(time_of(mesh(arch::Torus::kOneWay, 2), e), 2 * 5 + 2 * 9 + 100) << "the second network goes the other way";
}

// Both want the link from column 1 to column 2: the second one's head waits for the first one's tail.
TEST(BspMesh, WhatSharesALinkWaits) {
  const Exchange apart{{{2}, {6}}, {{0, kBytes, 1, 0, 0}, {4, kBytes, 1, 1, 0}}, 0};
  const Exchange shared{{{2}, {3}}, {{0, kBytes, 1, 0, 0}, {1, kBytes, 1, 1, 0}}, 0};
  const arch::ArchSpec a = mesh(arch::Torus::kNone, 1);
  EXPECT_EQ(time_of(a, apart), 2 * 5 + 2 * 9 + 100);
  EXPECT_EQ(time_of(a, shared), 5 + 100 + 9 + 5 + 100) << "core 1 is nearer to the link";
}

// To all cores of a rectangle at once; one after another without multicast.
TEST(BspMesh, MulticastSendsOnce) {
  const Exchange e{{{5, 6, 9, 10}}, {{0, kBytes, 1, 0, 0}}, 0};
  arch::ArchSpec a = mesh(arch::Torus::kNone, 1);
  EXPECT_EQ(time_of(a, e), 2 * 5 + 4 * 9 + 100);
  a.link->multicast = arch::Multicast::kNone;
  EXPECT_EQ(time_of(a, e), 2 * 5 + 4 * 9 + 400);
}

// A row of receivers beside the sender's rows: the trunk goes along the column, one branch along the row, not a branch
// for each receiver.
TEST(BspMesh, AMulticastTakesTheShorterTree) {
  const arch::ArchSpec a = mesh(arch::Torus::kNone, 1);
  const Exchange e{{{12, 13, 14, 15}}, {{0, kBytes, 1, 0, 0}}, 0};
  const auto load = make_mesh(a, [](const PortUse&) {})->load(e);
  EXPECT_EQ(load->links_taken, 3 + 3 + 4) << "links, and deliveries";
  EXPECT_EQ(time_of(a, e), 2 * 5 + 6 * 9 + 100);
}

// What a port takes between pieces holds that port and not the links: another one's bytes pass meanwhile.
TEST(BspMesh, GapsBetweenPiecesHoldNoLink) {
  arch::ArchSpec a = mesh(arch::Torus::kNone, 1);
  a.link->noncontiguous_gap = base::Cycles{160};
  EXPECT_EQ(time_of(a, {{{2}, {3}}, {{0, kBytes, 5, 0, 0}, {1, kBytes, 1, 1, 0}}, 0}), 5 + 100 + 9 + 5 + 100 + 4 * 160);
}

Exchange any_exchange(std::int64_t cores) {
  Exchange e;
  for (std::int64_t g = tests::any_of_range(1, 12); g > 0; --g) {
    std::vector<std::int64_t> group;
    const std::int64_t first = tests::any_of_range(0, cores - 1);
    for (std::int64_t core = first; core < std::min(cores, first + tests::any_of_range(1, 9)); ++core)
      group.push_back(core);
    e.groups.push_back(std::move(group));
    for (std::int64_t t = tests::any_of_range(1, 4); t > 0; --t)
      e.transfers.push_back({tests::any_of_range(0, cores - 1), tests::any_of_range(1, 9000), tests::any_of_range(1, 3),
                             e.groups.size() - 1, 0});
  }
  return e;
}

// What the busiest link or port carries is counted as it is scheduled: each is held for so long and no schedule ends
// before. Held times come from the watch of ports; those of links from what no schedule can undercut.
RC_GTEST_PROP(BspMesh, NoScheduleUndercutsTheCount, ()) {
  arch::ArchSpec a = mesh(static_cast<arch::Torus>(tests::any_of_range(0, 2)), tests::any_of_range(1, 2));
  if (tests::any_of_range(0, 1) == 1) a.link->multicast = arch::Multicast::kNone;
  if (tests::any_of_range(0, 1) == 1) a.link->noncontiguous_gap = base::Cycles{tests::any_of_range(1, 99)};
  const Exchange e = any_exchange(16);
  const auto load = make_mesh(a, [](const PortUse&) {})->load(e);
  RC_ASSERT(time_of(a, e) >= load->busiest.count());
  RC_ASSERT(time_of(a, e) >= load->way.count());
  // One sending alone takes what is counted, no more.
  Exchange one{{{e.groups.front().front()}}, {e.transfers.front()}, 0};
  one.transfers.front().group = 0;
  const auto alone = make_mesh(a, [](const PortUse&) {})->load(one);
  RC_ASSERT(time_of(a, one) == (alone->busiest + alone->way).count());
}

// Ports of an exchange: what two cores send to a third comes one after the other; what each sends to another, at once.
TEST(BspPorts, AReceiverTakesOneAfterAnother) {
  arch::ArchSpec a =
      tests::chip("ipu_gc200", {{"link.latency_spread", "1 cycle"}, {"link.noncontiguous_gap", "1 cycle"}});
  a.core.count = 4;
  const std::int64_t one = time_of(a, {{{2}}, {{0, kBytes, 1, 0, 0}}, 0});
  EXPECT_GE(one, kBytes / 4);
  EXPECT_GE(time_of(a, {{{2}, {2}}, {{0, kBytes, 1, 0, 0}, {1, kBytes, 1, 1, 0}}, 0}), 2 * kBytes / 4);
  EXPECT_LE(time_of(a, {{{2}, {3}}, {{0, kBytes, 1, 0, 0}, {1, kBytes, 1, 1, 0}}, 0}), kBytes / 4 + 2);
}

// All to all: a schedule by list comes near what the busiest port takes.
TEST(BspPorts, AllToAllIsNearTheBusiestPort) {
  arch::ArchSpec a = tests::chip("ipu_gc200", {{"link.latency_spread", "1 cycle"}});
  a.core.count = 32;
  Exchange e;
  for (std::int64_t to = 0; to < 32; ++to) {
    e.groups.push_back({to});
    for (std::int64_t from = 0; from < 32; ++from)
      if (from != to) e.transfers.push_back({from, 64000, 1, e.groups.size() - 1, 0});
  }
  const double busiest = 31 * (64000 / 4.0 + 160);
  EXPECT_NEAR(static_cast<double>(time_of(a, e)), busiest, 0.15 * busiest);
}

// A DRAM of four channels at the corners of a mesh; each core reads or writes 8 KiB pieces of every channel.
struct Stream {
  arch::ArchSpec chip = mesh(arch::Torus::kBothWays, 2);
  Exchange exchange;
  double peak = 0;  // bytes a cycle

  Stream(std::int64_t packets, bool writes) {
    for (arch::Level& l : chip.memory)
      if (auto* dram = std::get_if<arch::DramLevel>(&l)) {
        dram->channels = 4;
        dram->ports = "r0c0 r0c3 r3c0 r3c3";
        peak = arch::bandwidth_of(chip, *dram).v / static_cast<double>(chip.clock.n);
      }
    for (std::int64_t node = 0; node < (writes ? 20 : 16); ++node) exchange.groups.push_back({node});
    for (std::int64_t n = 0; n < packets; ++n)
      for (std::int64_t core = 0; core < 16; ++core)
        for (std::int64_t channel = 0; channel < 4; ++channel) {
          exchange.transfers.push_back({.from = writes ? core : 16 + channel,
                                        .bytes = 8192,
                                        .pieces = 1,
                                        .group = static_cast<std::size_t>(writes ? 16 + channel : core),
                                        .first_access = exchange.accesses.size(),
                                        .accesses = 1});
          exchange.accesses.push_back({(n * 16 + core) * 8192, 8192});
        }
  }
  double bytes() const { return static_cast<double>(exchange.transfers.size()) * 8192; }
};

TEST(BspDram, StreamsNearItsPeak) {
  for (const bool writes : {false, true}) {
    const Stream s(32, writes);
    const auto time = static_cast<double>(time_of(s.chip, s.exchange));
    EXPECT_GE(time, s.bytes() / s.peak) << writes;
    EXPECT_LE(time, s.bytes() / (0.85 * s.peak) + 1000) << writes;
  }
}

// An idle read of a burst takes the level's latency, its way and what the link takes for it.
TEST(BspDram, AnIdleReadTakesItsLatency) {
  const Stream chip(1, false);
  const Exchange e{.groups = {{1}},
                   .transfers = {{.from = 16, .bytes = 32, .pieces = 1, .group = 0, .accesses = 1}},
                   .accesses = {{0, 32}}};
  EXPECT_NEAR(static_cast<double>(time_of(chip.chip, e)), 400 + 2 * 5 + 9 + 1, 40) << "its row is closed: no precharge";
}

// An exchange that is counted brings the same bytes, in nearly the time of its schedule; and the report says so.
TEST(BspSimulation, CountedExchangesAreNearScheduledOnes) {
  arch::ArchSpec a = tests::chip("wse2");
  a.link->rows = 24, a.link->columns = 20;
  a.core.count = 480;
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=480,n=600,k=96");
  for (const auto& [grid, moves] : {std::pair{tile::Extents{24, 20, 1}, tile::Dataflow::kFetch},
                                    {tile::Extents{24, 20, 1}, tile::Dataflow::kStationary},
                                    {tile::Extents{12, 10, 4}, tile::Dataflow::kStationary}}) {
    tile::BspStage s;
    s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
    s.grid = grid;
    s.core_order = s.loop_order = {0, 1, 2};
    s.dataflow.assign(2, {moves, 1, 1, -1});
    s.instruction = "fma.f32";
    for (std::size_t axis = 0; axis < grid.size(); ++axis) s.block.push_back(s.part(axis));
    if (moves == tile::Dataflow::kFetch) s.block[2] = 12;
    base::Diagnostics diags;
    const auto p = lower::bsp::lower({&s, 1}, a, diags);
    ASSERT_TRUE(p.has_value());
    const SimReport full = simulate(*p, a, {.mode = Mode::kFull}),
                    counted = simulate(*p, a, {.mode = Mode::kSampled}, nullptr, 0);
    const auto cycles = static_cast<double>(full.cycles);
    EXPECT_NEAR(static_cast<double>(counted.cycles), cycles, 0.03 * cycles) << tile::in_words(s);
    EXPECT_EQ(counted.levels.front().amounts, full.levels.front().amounts);
    EXPECT_FALSE(counted.kernels.front().exact);
    EXPECT_TRUE(full.kernels.front().exact);
  }
}

// Stalls add up, and what is left out was steady.
RC_GTEST_PROP(BspSimulation, IsTheSameSampledAndInFull, ()) {
  const arch::ArchSpec a = tests::any_chip_of_exchanging_cores();
  const tile::BspStage s = tests::any_bsp_stage(tests::any_operator(40), a);
  RC_LOG() << s.space->stage().text << " " << tile::in_words(s);
  base::Diagnostics diags;
  const auto p = lower::bsp::lower({&s, 1}, a, diags);
  if (!p) return;
  const SimReport full = simulate(*p, a, {.mode = Mode::kFull}), sampled = simulate(*p, a, {.mode = Mode::kSampled});
  for (const SimReport* r : {&full, &sampled}) {
    std::int64_t all = 0;
    for (const StallReport& stall : r->stalls) all += stall.cycles;
    RC_ASSERT(all == r->cycles);
  }
  RC_ASSERT(full.kernels.front().exact);
  RC_ASSERT(std::abs(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1) < 0.05);
}

}  // namespace
}  // namespace tilescope::sim::bsp
