// SPDX-License-Identifier: Apache-2.0
// Traffic against enumeration of every sector that every block touches.

#include "model/simt/detail/traffic.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/points.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"
#include "tests/unit/model/naive_traffic.h"

namespace tilescope::model {
namespace {

using tests::any_of_range;
using tests::machine;
using tests::naive_cache_bytes;
using tests::Point;
using tests::with_blocks;

RC_GTEST_PROP(RunBytesInSectors, IsTheAverageOverAllStarts, ()) {
  const std::int64_t element = tests::any_element<std::int64_t>({1, 2, 4}),
                     sector = tests::any_element<std::int64_t>({32, 64});
  const std::int64_t length = any_of_range(1, 100);
  std::int64_t alignment = element;
  while (alignment < sector && any_of_range(0, 2) > 0) alignment *= 2;
  double sum = 0, starts = 0;
  for (std::int64_t start = 0; start < sector; start += alignment, ++starts) {
    std::set<std::int64_t> touched;
    for (std::int64_t b = start; b < start + length * element; ++b) touched.insert(b / sector);
    sum += static_cast<double>(static_cast<std::int64_t>(touched.size()) * sector);
  }
  RC_ASSERT(std::abs(run_bytes_in_sectors(length, 1, element, alignment, sector) - sum / starts) < 1e-6);
}

TEST(RunBytesInSectors, OfStrides) {
  EXPECT_EQ(run_bytes_in_sectors(10, 8, 4, 32, 32), 320) << "an element a sector";
  EXPECT_EQ(run_bytes_in_sectors(10, 100, 4, 32, 32), 320);
  EXPECT_EQ(run_bytes_in_sectors(16, 2, 4, 32, 32), 128) << "every second element of four sectors";
}

std::int64_t distinct_bytes(const tile::TileSpace& space, std::size_t operand) {
  std::set<std::int64_t> elements;
  Point all;
  for (const tile::TileAxis& a : space.axes) all.push_back(a.extent);
  for (const expr::Read& read : tests::reads_of(space, operand))
    tests::each_index(all, [&](const Point& index) {
      const Point at = tests::coordinates_at(read, tests::stage_point(space, index));
      if (tests::inside(space, read, at)) elements.insert(tests::flat_element(space, read, at));
    });
  return static_cast<std::int64_t>(elements.size()) * space.operand(operand).element.n;
}

// Every extent and tile a multiple of a sector's eight elements: nothing is estimated.
RC_GTEST_PROP(Traffic, OfAlignedTilesIsExact, ()) {
  Machine m = machine("v100");
  m.core_cache_bytes = 0;
  const auto size = [] { return 8 * any_of_range(1, 5); };
  const expr::Expression e = tests::any_element<expr::Expression>(
      {tests::expression("C[m,n] +=! A[m,k] * B[k,n]", fmt::format("m={},n={},k={}", size(), size(), size())),
       tests::expression("O[j,i] = I[i,j]", fmt::format("i={},j={}", size(), size())),
       tests::expression("O[i] +=! I[i,j]", fmt::format("i={},j={}", size(), size())),
       tests::expression("O[i,j] = I[i,j] + J[j]", fmt::format("i={},j={}", size(), size()))});
  const auto space = tile::make_space(e, tests::any_collapse(e));
  tile::Extents block;
  for (const tile::TileAxis& a : space->axes) {
    std::int64_t n = 8 * any_of_range(1, 5);
    while (a.extent % n != 0) n -= 8;
    block.push_back(n);
  }
  const tile::StageProgram p = with_blocks(space, block);
  const Traffic t = traffic_of(p, m, 1);
  RC_LOG() << e.stages.front().text << '\n';
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    RC_ASSERT(std::abs(t.operand[i].cache_bytes - naive_cache_bytes(p, i, 32)) < 1e-6);
    RC_ASSERT(t.operand[i].total_bytes == static_cast<double>(distinct_bytes(*space, i)));
  }
}

// Strides leave gaps in the box that a tile is, and so does a stencil in its corners.
bool leaves_gaps(const expr::Expression& e) {
  const std::string& text = e.stages.front().text;
  return text.find("*2") != std::string::npos || text.find("*3") != std::string::npos ||
         text.find("+1") != std::string::npos;
}

// Any sizes: the average over starts stands for the starts that occur, and a tile that is cut off for its share. Known
// gaps, counted too high: rows of a tensor that are shorter than a sector share sectors, and so do a filter's taps in a
// gathered tile. Bytes are left out: a few of them straddle two sectors in every block or in none.
void expect_any_tiles_close(const Machine& m, tests::Steps steps) {
  const expr::Expression e = tests::any_operator(14);
  const auto space = tile::make_space(e, tests::any_collapse(e));
  tile::Extents block;
  for (const tile::TileAxis& a : space->axes) block.push_back(any_of_range(1, std::min<std::int64_t>(a.extent, 8)));
  const tile::StageProgram p = with_blocks(space, block);
  const Traffic t = traffic_of(p, m, 1);
  RC_LOG() << e.stages.front().text << '\n';
  constexpr double kTooLow = 3, kTooHigh = 2.5;
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const tile::Operand& o = space->operand(i);
    const auto& shape = e.tensors[static_cast<std::size_t>(o.tensor)].shape;
    if (shape.back() * o.element.n < 32 || o.element.n == 1) continue;
    const double naive = naive_cache_bytes(p, i, 32, steps);
    RC_LOG() << o.name << ' ' << t.operand[i].cache_bytes << " for " << naive << '\n';
    const bool whole = std::any_of(o.dims.begin(), o.dims.end(), [](const tile::TileDim& d) { return d.whole; });
    RC_ASSERT(t.operand[i].cache_bytes >= naive / kTooLow);
    const bool taps = o.im2col && e.stages.front().text.find("+r") != std::string::npos;
    RC_ASSERT(whole || taps || leaves_gaps(e) || t.operand[i].cache_bytes <= naive * kTooHigh);
  }
}

RC_GTEST_PROP(Traffic, OfAnyTilesIsClose, ()) {
  Machine m = machine("v100");
  m.core_cache_bytes = 0;
  expect_any_tiles_close(m, tests::Steps::kApart);
}

// A core's cache that holds everything keeps the sectors that a block's steps share.
RC_GTEST_PROP(Traffic, OfStepsThatShareSectorsIsClose, ()) {
  Machine m = machine("v100");
  m.core_cache_bytes = 1e18;
  expect_any_tiles_close(m, tests::Steps::kTogether);
}

// Rows of A run along the reduction: a step reads a part of each row's sectors, and the next step the next part. The
// core's cache holds an eighth more than two steps touch.
RC_GTEST_PROP(Traffic, OfStepsThatFollowEachOtherIsThatOfACacheInOrder, ()) {
  const std::int64_t m = any_of_range(1, 6) * 8, n = any_of_range(1, 4) * 32, k = any_of_range(4, 12) * 32;
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", fmt::format("m={},n={},k={}", m, n, k));
  const std::int64_t step = std::int64_t{1} << any_of_range(0, 5);
  const tile::StageProgram p = with_blocks(tile::make_space(e, tile::no_collapse(e.stages.front())), {m, n, step});
  Machine machine_of = machine("v100");
  const auto line = static_cast<std::int64_t>(machine_of.line_bytes), sector = machine_of.load_sector_bytes;
  const std::int64_t lines = (m + 2 * step * (n * 4 / line)) * 9 / 8;  // every row of A, rows of B
  machine_of.core_cache_shared = false;
  machine_of.core_cache_bytes = static_cast<double>(lines * line);
  const Traffic t = traffic_of(p, machine_of, 1);
  const std::vector<double> naive = tests::naive_fetched_bytes(p, lines, line, sector);
  for (std::size_t i = 0; i < 2; ++i) {
    RC_LOG() << e.stages.front().text << " by " << step << ": " << t.operand[i].block_bytes << " for " << naive[i]
             << '\n';
    RC_ASSERT(std::abs(t.operand[i].block_bytes - naive[i]) <= 0.01 * naive[i]);
  }
}

// Asynchronous copies pass by the core's cache: no step finds there what the one before has copied.
TEST(Traffic, OfAsynchronousCopiesIsThatOfEachStepByItself) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=256");
  for (const std::int64_t step : {1, 2, 4}) {
    tile::StageProgram p = with_blocks(tile::make_space(e, tile::no_collapse(e.stages.front())), {64, 64, step});
    const auto bytes = [&] { return traffic_of(p, machine("a100"), 1).operand[0].cache_bytes; };
    const double once = naive_cache_bytes(p, 0, 32, tests::Steps::kTogether);
    EXPECT_NEAR(bytes(), once, 0.001 * once) << "thread by thread, step " << step;
    p.num_stages = 2;
    EXPECT_DOUBLE_EQ(bytes(), naive_cache_bytes(p, 0, 32)) << "step " << step;
  }
}

RC_GTEST_PROP(Traffic, TotalsAreTheDistinctElements, ()) {
  const expr::Expression e = tests::any_operator(9);
  const auto space = tile::make_space(e, tests::any_collapse(e));
  const tile::StageProgram p = with_blocks(space, tile::Extents(space->axes.size(), 1));
  const Traffic t = traffic_of(p, machine("v100"), 1);
  RC_LOG() << e.stages.front().text << '\n';
  const bool gaps = leaves_gaps(e);
  tile::Extents all;
  for (const tile::TileAxis& a : space->axes) all.push_back(a.extent);
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const auto distinct = static_cast<double>(distinct_bytes(*space, i));
    RC_ASSERT(t.operand[i].total_bytes >= distinct * (1 - 1e-12));
    // Every run of memory may end within a granule of DRAM.
    const auto runs = static_cast<double>(tile::runs_of(space->operand(i), all).count);
    const double seams = runs * static_cast<double>(machine("v100").dram_granule_bytes);
    if (!gaps) RC_ASSERT(t.operand[i].total_bytes <= (distinct + seams) * (1 + 1e-12));
  }
}

RC_GTEST_PROP(Traffic, DramIsBetweenOnceAndEveryTime, ()) {
  const tile::StageProgram p = tests::any_program(tests::any_operator(40), 256);
  const Traffic t = traffic_of(p, machine("v100"), any_of_range(1, 32));
  double read = 0;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    const OperandTraffic& o = t.operand[i];
    RC_ASSERT(o.dram_bytes <= o.cache_bytes);
    RC_ASSERT(o.dram_bytes >= std::min(o.total_bytes, o.cache_bytes));
    RC_ASSERT(o.useful_ratio > 0 && o.useful_ratio <= 1);
    RC_ASSERT(o.wave_bytes <= o.total_bytes);
    read += o.dram_bytes;
  }
  RC_ASSERT(std::abs(read - t.dram.read) <= 1e-9 * read);
}

// A reduction in parts reads everything once all the same.
TEST(Traffic, OfASplitReductionIsThatOfItsParts) {
  const expr::Expression e = tests::expression("O[i] +=! I[i,j]", "i=8,j=96");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = with_blocks(space, {8, 16});
  const double whole = traffic_of(p, machine("v100"), 1).operand[0].cache_bytes;
  p.split[1] = 3;
  EXPECT_DOUBLE_EQ(traffic_of(p, machine("v100"), 1).operand[0].cache_bytes, whole);
  p.split[1] = 4;  // parts of 24: a step of 16 and half a step
  EXPECT_DOUBLE_EQ(traffic_of(p, machine("v100"), 1).operand[0].cache_bytes, whole);
}

// Blocks that are not there keep nothing in a core's cache.
TEST(Traffic, OfFewBlocksDoesNotDependOnHowManyWouldFit) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=256,n=256,k=512");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  tile::StageProgram p = with_blocks(space, {32, 32, 64});
  p.operands[0].cached = p.operands[1].cached = false;
  EXPECT_EQ(traffic_of(p, machine("v100"), 32).cores.read, traffic_of(p, machine("v100"), 1).cores.read);
}

// 16 blocks that run at a time, each of as many rows of A as columns of B: a group of four makes a square of them.
TEST(Traffic, ABandReadsTheSidesOfASquare) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=2048,n=2048,k=2048");
  tile::StageProgram p = with_blocks(tile::make_space(e, tile::no_collapse(e.stages.front())), {32, 32, 32});
  Machine m = machine("v100");
  m.cores = 16;
  m.device_caches[0].capacity_bytes = 0;  // nothing is left from wave to wave
  const double wave = 2048.0 * 4 * 32, waves = 64 * 64 / 16.0;
  EXPECT_DOUBLE_EQ(traffic_of(p, m, 1).dram.read, waves * wave * (1 + 16));
  p.group_m = 4;
  EXPECT_DOUBLE_EQ(traffic_of(p, m, 1).dram.read, waves * wave * (4 + 4));
}

TEST(Traffic, WhatFitsTheDeviceCacheIsFetchedOnce) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512");
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  const tile::StageProgram p = with_blocks(space, {16, 16, 8});
  Machine m = machine("v100");
  const Traffic fits = traffic_of(p, m, 1);
  EXPECT_EQ(fits.dram.read, 2 * 512 * 512 * 4);
  EXPECT_EQ(fits.cores.read, 2.0 * 512 * 512 * 4 * 32);
  m.device_caches[0].capacity_bytes = 0;
  EXPECT_GT(traffic_of(p, m, 1).dram.read, fits.dram.read);
}

}  // namespace
}  // namespace tilescope::model
