// SPDX-License-Identifier: Apache-2.0
// Sendings over an empty mesh, whose links, ports and ways are counted by hand.

#include "model/bsp/detail/mesh_load.h"

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/support/paths.h"

namespace tilescope::model::bsp {
namespace {

// Four rows of five cores, one network, 32 B a cycle, no headers.
arch::ArchSpec mesh(arch::Torus torus = arch::Torus::kNone) {
  arch::ArchSpec a = tests::chip("wormhole_n150");
  arch::LinkSpec& l = *a.link;
  l.rows = 4, l.columns = 5, l.networks = 1;
  l.width = {32}, l.torus = torus;
  l.header.reset(), l.max_packet.reset();
  l.noncontiguous_gap = arch::Cycles{0};
  l.port = arch::Cycles{3}, l.hop = arch::Cycles{2};
  return a;
}

MeshLoad::Rectangle only(MeshLoad::Place p) { return {p.row, p.column, p.row, p.column}; }

TEST(MeshLoad, ASendingTakesItsPortsAndTheHopsOfItsWay) {
  const arch::ArchSpec a = mesh();
  MeshLoad m(a);
  m.send(m.place_of(1), only(m.place_of(13)), {320, 1});  // two rows down, two columns on
  EXPECT_DOUBLE_EQ(m.busiest(), 10);
  EXPECT_DOUBLE_EQ(m.longest_way(), 2 * 3 + 2 * 4);
  m.send(m.place_of(2), only(m.place_of(13)), {320, 1});  // joins its way for a hop, then goes down beside
  EXPECT_DOUBLE_EQ(m.busiest(), 20) << "both come in at one port";
}

TEST(MeshLoad, WhatACoreHasItselfIsNotSent) {
  const arch::ArchSpec a = mesh();
  MeshLoad m(a);
  m.send(m.place_of(7), only(m.place_of(7)), {320, 1});
  EXPECT_EQ(m.busiest(), 0);
  EXPECT_EQ(m.longest_way(), 0);
}

TEST(MeshLoad, ATorusIsGoneRoundWhereThatIsShorter) {
  const arch::ArchSpec plain = mesh(), both = mesh(arch::Torus::kBothWays), one = mesh(arch::Torus::kOneWay);
  for (const auto& [a, hops] : {std::pair(&plain, 4), {&both, 1}, {&one, 4}}) {
    MeshLoad m(*a);
    m.send(m.place_of(0), only(m.place_of(4)), {32, 1});
    EXPECT_DOUBLE_EQ(m.longest_way(), 6 + 2 * hops);
  }
  MeshLoad back(one);
  back.send(back.place_of(4), only(back.place_of(0)), {32, 1});
  EXPECT_DOUBLE_EQ(back.longest_way(), 6 + 2);
}

TEST(MeshLoad, ARectangleIsReachedAtOnceWhereTheLinkSendsToSeveral) {
  arch::ArchSpec a = mesh();
  const std::vector<std::int64_t> square = {6, 7, 11, 12}, bent = {6, 7, 11};
  a.link->multicast = arch::Multicast::kNone;
  EXPECT_EQ(MeshLoad(a).rectangles(square).size(), 4u);
  for (const arch::Multicast how : {arch::Multicast::kRectangle, arch::Multicast::kAny}) {
    a.link->multicast = how;
    const MeshLoad m(a);
    ASSERT_EQ(m.rectangles(square).size(), 1u);
    EXPECT_EQ(m.rectangles(square)[0].bottom, 2);
    EXPECT_EQ(m.rectangles(square)[0].right, 2);
    EXPECT_EQ(m.rectangles(bent).size(), 2u) << "a row of two and one alone";
  }
}

}  // namespace
}  // namespace tilescope::model::bsp
