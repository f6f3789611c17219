// SPDX-License-Identifier: Apache-2.0
// Bank passes, granules and lane addresses against naive counting and a per-thread evaluation of what a program means
// (tile/program.h).

#include "model/simt/warp_access.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/simt/cached_costs.h"
#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "tests/support/build.h"
#include "tests/support/points.h"
#include "tests/support/random_program.h"

namespace tilescope::model {
namespace {

// Passes take the port for as long as their words need, and lanes are taken so many a cycle: the longer counts.
TEST(CachedAccess, PassesAPortOfSomeWidthAndLanes) {
  WarpAccess words, quads;
  words.bytes = 4, quads.bytes = 16;
  for (std::int64_t lane = 0; lane < 32; ++lane) words.offset.push_back(4 * lane), quads.offset.push_back(16 * lane);
  const auto served = [](const WarpAccess& a, const std::vector<arch::Override>& set) {
    const arch::ArchSpec chip = tests::chip("v100", set);
    const Machine m = make_machine(chip);
    return cycles_of_access(cached_access(AccessPattern(a), 1, 1, m), m);
  };
  EXPECT_EQ(served(words, {}), 1);
  EXPECT_EQ(served(words, {{"memory.smem.width", "64 B"}}), 2);
  EXPECT_EQ(served(words, {{"core.pipes.lsu.lanes", "8"}}), 4);
  EXPECT_EQ(served(quads, {}), 4);
  EXPECT_EQ(served(quads, {{"core.pipes.lsu.lanes", "8"}}), 4);
  EXPECT_EQ(served(quads, {{"memory.smem.width", "48 B"}}), 12) << "three cycles a pass";
}

// Four neighbours of one thread read six places for three taps, and the same six again at every tap where no loop is
// unrolled.
TEST(CachedRead, TakesWhatTapsShareOnce) {
  const expr::Expression e = tests::expression("O[x] +=! I[x+s] * F[s]", "x=4096,s=3");
  tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 32, 4}}, {1, 3}, {16});
  const auto reads = [&](std::size_t i) {
    const CachedRead read = cached_read(tile::Fma{}, p, i, 32, base::Bytes{4});
    return read.accesses * read.left;
  };
  EXPECT_EQ(reads(0), 12);
  p.unroll = 12;
  EXPECT_EQ(reads(0), 6);
  EXPECT_EQ(reads(1), 3);
  p.mapping[0] = {4, 32, 1};  // 32 apart, so that none is shared
  EXPECT_EQ(reads(0), 12);
  p.mapping[0] = {2, 2, 2};  // {0, 1, 4, 5} and three taps: 0 to 7
  EXPECT_EQ(reads(0), 8);
}

using tests::any_of_range;
using tests::Point;

std::int64_t naive_passes(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width) {
  const std::int64_t group = std::max<std::int64_t>(1, banks * bank_width / access.bytes);
  std::int64_t passes = 0;
  for (std::size_t first = 0; first < access.offset.size(); first += static_cast<std::size_t>(group)) {
    std::map<std::int64_t, std::set<std::int64_t>> words_of_bank;
    for (std::size_t l = first; l < access.offset.size() && l < first + static_cast<std::size_t>(group); ++l)
      for (std::int64_t b = access.offset[l]; b < access.offset[l] + access.bytes; ++b)
        words_of_bank[b / bank_width % banks].insert(b / bank_width);
    std::size_t worst = 0;
    for (const auto& [bank, words] : words_of_bank) worst = std::max(worst, words.size());
    passes += static_cast<std::int64_t>(worst);
  }
  return passes;
}

std::int64_t naive_granules(const WarpAccess& access, std::int64_t granule) {
  std::set<std::int64_t> seen;
  for (const std::int64_t offset : access.offset)
    for (std::int64_t b = offset; b < offset + access.bytes; ++b) seen.insert((b + (granule << 40)) / granule);
  return static_cast<std::int64_t>(seen.size());
}

// Strided, scattered or broadcast lanes.
WarpAccess any_access(std::int64_t min_offset) {
  WarpAccess access;
  access.bytes = tests::any_element<std::int64_t>({1, 2, 4, 8, 16});
  const std::int64_t stride = any_of_range(0, 80), wrap = any_of_range(1, 64), width = any_of_range(1, 400);
  const bool scattered = any_of_range(0, 2) == 0;
  for (std::int64_t lanes = any_of_range(1, 128), l = 0; l < lanes; ++l)
    access.offset.push_back((scattered ? any_of_range(min_offset, 4000) : l / wrap * width + l % wrap * stride) *
                            access.bytes);
  return access;
}

RC_GTEST_PROP(BankPasses, AreThoseOfANaiveCount, ()) {
  const WarpAccess access = any_access(0);
  const std::int64_t banks = any_of_range(1, 128), width = tests::any_element<std::int64_t>({1, 2, 4, 8, 16});
  RC_ASSERT(bank_use(access, banks, width).passes == naive_passes(access, banks, width));
}

RC_GTEST_PROP(GranulesTouched, AreThoseOfANaiveCount, ()) {
  const WarpAccess access = any_access(-4000);  // a loop that runs backwards stands before the first lane
  const std::int64_t granule = tests::any_element<std::int64_t>({1, 4, 24, 32, 64, 128});
  RC_ASSERT(granules_touched(access, granule) == naive_granules(access, granule));
}

WarpAccess strided(std::int64_t lanes, std::int64_t stride, std::int64_t bytes) {
  WarpAccess a;
  a.bytes = bytes;
  for (std::int64_t l = 0; l < lanes; ++l) a.offset.push_back(l * stride);
  return a;
}

std::int64_t passes_of(const WarpAccess& access, std::int64_t banks, std::int64_t width) {
  return bank_use(access, banks, width).passes;
}

TEST(BankPasses, OfWellKnownPatterns) {
  EXPECT_EQ(passes_of(strided(32, 4, 4), 32, 4), 1) << "neighbours";
  EXPECT_EQ(passes_of(strided(32, 0, 4), 32, 4), 1) << "broadcast";
  EXPECT_EQ(passes_of(strided(32, 128, 4), 32, 4), 32) << "a column of 32 words";
  EXPECT_EQ(passes_of(strided(32, 132, 4), 32, 4), 1) << "a padded column";
  EXPECT_EQ(passes_of(strided(32, 8, 4), 32, 4), 2);
  EXPECT_EQ(passes_of(strided(32, 16, 16), 32, 4), 4) << "16 B a lane: four groups of eight lanes";
  EXPECT_EQ(passes_of(strided(32, 2, 2), 32, 4), 1) << "two lanes share a word";
  EXPECT_EQ(passes_of(strided(64, 4, 4), 32, 4), 2) << "a wavefront of 64 in two groups";
}

TEST(GranulesTouched, WidestAccessesOfTheWidestWarp) {
  EXPECT_EQ(granules_touched(strided(128, 512, 512), 4), 128 * 128);
  EXPECT_EQ(passes_of(strided(128, 512, 512), 512, 1), 128);
}

// Per-axis index of a thread's first element: vthread 0, per_thread 0, block 0.
Point first_index(const tile::StageProgram& p, std::int64_t thread) {
  Point index(p.space->axes.size(), 0);
  for (std::size_t i = p.thread_order.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(p.thread_order[i]);
    index[a] = thread % p.mapping[a].threads * p.mapping[a].per_thread;
    thread /= p.mapping[a].threads;
  }
  return index;
}

// Coordinates of the block's lowest corner and the size of the box, over the operand's reads.
struct Box {
  Point low, size;
};
Box box_of_block(const tile::StageProgram& p, const std::vector<expr::Read>& reads) {
  Box box;
  Point high;
  for (const expr::Read& read : reads)
    tests::each_index(tests::to_point(p.block), [&](const Point& index) {
      const Point at = tests::coordinates_at(read, tests::stage_point(*p.space, index));
      if (high.empty()) box.low = high = at;
      for (std::size_t d = 0; d < at.size(); ++d) {
        box.low[d] = std::min(box.low[d], at[d]);
        high[d] = std::max(high[d], at[d]);
      }
    });
  for (std::size_t d = 0; d < high.size(); ++d) box.size.push_back(high[d] - box.low[d] + 1);
  return box;
}

// The read of least offsets: what stands at the first element of the data tile.
expr::Read lowest(const std::vector<expr::Read>& reads) {
  expr::Read out = reads.front();
  for (const expr::Read& r : reads)
    for (std::size_t d = 0; d < out.at.size(); ++d) out.at[d].offset = std::min(out.at[d].offset, r.at[d].offset);
  return out;
}

bool any_whole(const tile::Operand& o) {
  return std::any_of(o.dims.begin(), o.dims.end(), [](const tile::TileDim& d) { return d.whole; });
}

// A small program whose blocks can be enumerated and whose loops are not collapsed where dimensions have to be told
// apart.
tile::StageProgram any_small_program() {
  const expr::Expression e = tests::any_operator(6);
  const auto space = tile::make_space(e, tests::any_collapse(e));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a) mapping.push_back({1, any_of_range(1, 3), any_of_range(1, 2)});
  tile::Extents step(space->axes.size(), 1);
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    step[a] = any_of_range(1, std::min<std::int64_t>(3, space->axes[a].extent));
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  std::reverse(p.thread_order.begin(), p.thread_order.end());
  for (std::size_t i = 0; i < space->operand_count(); ++i)
    p.operands[i] = {i < space->inputs.size(), any_of_range(0, 3), tests::any_element<std::int64_t>({1, 2}),
                     any_of_range(0, 3), any_of_range(0, 1) == 1};
  return p;
}

bool plain_single_loops(const tile::StageProgram& p) {
  return std::all_of(p.space->axes.begin(), p.space->axes.end(), [](const auto& a) { return a.axes.size() == 1; });
}

// Where the e-th element of a cached tile lies whose rows are `length` long: each row rotated and padded.
std::int64_t place_of(std::int64_t e, std::int64_t length, const tile::OperandPlan& plan) {
  const std::int64_t row = e / length, column = e % length;
  return row * (length + plan.padding) + (column + row * plan.rotate) % length;
}

RC_GTEST_PROP(ScratchpadRead, EveryLaneReadsItsFirstElement, ()) {
  const tile::StageProgram p = any_small_program();
  RC_LOG() << p.space->stage().text << '\n';
  const std::int64_t warp = tests::any_element<std::int64_t>({4, 32, 64});
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const tile::Operand& o = p.space->inputs[i];
    if (any_whole(o) || (!o.im2col && !plain_single_loops(p))) continue;
    const auto reads = tests::reads_of(*p.space, i);
    const expr::Read read = lowest(reads);
    const Box box = o.im2col ? Box{} : box_of_block(p, reads);
    const WarpAccess access = scratchpad_read(p, i, 2, warp).addresses();
    RC_ASSERT(access.bytes == 2 * o.element.n);
    RC_ASSERT(static_cast<std::int64_t>(access.offset.size()) == std::min(warp, p.threads()));
    for (std::int64_t lane = 0; lane < std::min(warp, p.threads()); ++lane) {
      const Point index = first_index(p, lane);
      Point at, size;
      if (o.im2col) {
        for (const tile::TileDim& d : o.dims) {
          at.push_back(index[static_cast<std::size_t>(d.terms[0].axis)]);
          size.push_back(p.block[static_cast<std::size_t>(d.terms[0].axis)]);
        }
      } else {
        at = tests::coordinates_at(read, tests::stage_point(*p.space, index));
        for (std::size_t d = 0; d < at.size(); ++d) at[d] -= box.low[d];
        size = box.size;
      }
      std::int64_t element = 0;
      for (std::size_t d = 0; d < at.size(); ++d) element = element * size[d] + at[d];
      element = place_of(element, size.back(), p.operands[i]);
      RC_ASSERT(access.offset[static_cast<std::size_t>(lane)] == element * o.element.n);
    }
  }
}

RC_GTEST_PROP(MemoryAccess, EveryLaneAddressesItsFirstElement, ()) {
  const tile::StageProgram p = any_small_program();
  RC_LOG() << p.space->stage().text << '\n';
  const std::int64_t warp = tests::any_element<std::int64_t>({4, 32, 64});
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    const tile::Operand& o = p.space->operand(i);
    if (any_whole(o)) continue;
    const auto reads = tests::reads_of(*p.space, i);
    const expr::Read read = lowest(reads);
    // Gathered: from the block's first element; plain: from the lowest corner of its tile.
    std::int64_t origin = tests::flat_element(
        *p.space, read, tests::coordinates_at(read, tests::stage_point(*p.space, Point(p.block.size(), 0))));
    if (!o.im2col && plain_single_loops(p)) origin = tests::flat_element(*p.space, read, box_of_block(p, reads).low);
    const WarpAccess access = memory_access(p, i, warp).addresses();
    RC_ASSERT(access.bytes == p.operands[i].vector * o.element.n);
    for (std::int64_t lane = 0; lane < std::min(warp, p.threads()); ++lane) {
      const Point index = first_index(p, lane);
      bool active = true;
      for (std::size_t a = 0; a < index.size(); ++a) active = active && index[a] < p.space->axes[a].extent;
      if (!active) continue;  // a lane beyond the range accesses nothing
      const Point at = tests::coordinates_at(read, tests::stage_point(*p.space, index));
      RC_ASSERT(access.offset[static_cast<std::size_t>(lane)] ==
                (tests::flat_element(*p.space, read, at) - origin) * o.element.n);
    }
  }
}

// The piece of a cached tile that a thread copies first.
std::int64_t first_piece(const tile::StageProgram& p, std::size_t i, std::int64_t thread) {
  if (!p.operands[i].blocked) return thread;
  const std::int64_t elements = tile::data_tile_elements(p.space->inputs[i], p.block);
  std::int64_t each = 1;
  while (each * p.threads() * p.operands[i].vector < elements) ++each;
  return thread * each;
}

RC_GTEST_PROP(ScratchpadWrite, LanesTakeThePiecesInOrder, ()) {
  const tile::StageProgram p = any_small_program();
  const std::int64_t warp = tests::any_element<std::int64_t>({4, 32});
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const tile::Operand& o = p.space->inputs[i];
    const tile::TileShape shape = tile::data_tile(o, p.block);
    // Byte offset of every element of the cached tile in row-major order.
    std::vector<std::int64_t> place;
    for (std::int64_t e = 0; e < tile::data_tile_elements(o, p.block); ++e)
      place.push_back(place_of(e, shape.back(), p.operands[i]) * o.element.n);
    std::vector<std::int64_t> expected;
    for (std::int64_t lane = 0; lane < std::min(warp, p.threads()); ++lane)
      if (const auto e = static_cast<std::size_t>(first_piece(p, i, lane) * p.operands[i].vector); e < place.size())
        expected.push_back(place[e]);
    const WarpAccess access = scratchpad_write(p, i, warp).addresses();
    RC_ASSERT(std::vector<std::int64_t>(access.offset.begin(), access.offset.end()) == expected);
  }
}

// The pieces of a copy lie where their elements' coordinates say, one by one.
RC_GTEST_PROP(CopiedAccess, FollowsTheTileRowByRow, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(24), 256);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].cached) continue;
    const tile::Operand& o = p.space->inputs[i];
    const tile::TileShape shape = tile::data_tile(o, p.block);
    const WarpAccess access = copied_access(p, i, 32).addresses();
    for (std::size_t lane = 0; lane < access.offset.size(); ++lane) {
      std::int64_t rest = first_piece(p, i, static_cast<std::int64_t>(lane)) * p.operands[i].vector, offset = 0;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
        offset += tile::memory_offset(o, d, rest % shape[d]);
      RC_ASSERT(access.offset[lane] == offset * o.element.n);
    }
  }
}

// Groups of lanes that ask in pairs for the same words are served together where the chip says so.
TEST(BankUse, ServesGroupsTogether) {
  WarpAccess pairs, other;
  pairs.bytes = other.bytes = 16;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    pairs.offset.push_back(lane / 2 * 16);
    other.offset.push_back(lane % 4 * 16);  // as many distinct words, but neighbours differ (NVIDIA forum 77228)
  }
  EXPECT_TRUE(neighbours_agree(pairs));
  EXPECT_FALSE(neighbours_agree(other));
  EXPECT_EQ(bank_use(pairs, 32, 4).passes, 4);
  EXPECT_EQ(bank_use(pairs, 32, 4, 2).passes, 2);
}

TEST(ScratchpadVector, IsWhatAThreadOwnsSideBySide) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = tile::make_stage_program(space, {{1, 8, 4}, {1, 8, 4}}, {1, 1, 8}, {16});
  EXPECT_EQ(scratchpad_vector(p, 0, {16}), 4) << "A's rows run along k, of which every thread reads all";
  p.operands[0].padding = 1;
  EXPECT_EQ(scratchpad_vector(p, 0, {16}), 1) << "rows begin at odd words";
  p.operands[0].padding = 0;
  EXPECT_EQ(scratchpad_vector(p, 1, {16}), 4);
  EXPECT_EQ(scratchpad_vector(p, 1, {8}), 2);
  p.operands[1].padding = 2;
  EXPECT_EQ(scratchpad_vector(p, 1, {16}), 2);
  p = tile::make_stage_program(space, {{4, 8, 1}, {4, 8, 1}}, {1, 1, 8}, {16});
  EXPECT_EQ(scratchpad_vector(p, 1, {16}), 1) << "neighbours belong to other threads";
}

TEST(ScratchpadVector, IsOneWhereALoopRunsBackwards) {
  const expr::Expression e = tests::expression("O[x] +=! I[64-x] * W[k]", "x=64,k=4");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  const tile::StageProgram p = tile::make_stage_program(space, {{1, 8, 4}}, {1, 4}, {16});
  EXPECT_EQ(scratchpad_vector(p, 0, {16}), 1);
}

}  // namespace
}  // namespace tilescope::model
