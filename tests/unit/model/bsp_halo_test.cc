// SPDX-License-Identifier: Apache-2.0
// The model's count of what neighbours exchange of a prearranged input, against loops over elements, and the time of a
// halo by hand.

#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/bsp/detail/halo.h"
#include "model/bsp/estimate.h"
#include "tests/support/random_bsp_stage.h"
#include "tile/bsp/document.h"

namespace tilescope::model::bsp {
namespace {

tile::BspStage stationary(const expr::Expression& e, const tile::Extents& grid) {
  tile::BspStage s;
  s.space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  s.grid = grid;
  for (std::size_t a = 0; a < grid.size(); ++a) {
    s.block.push_back(s.part(a));
    s.core_order.push_back(static_cast<int>(a));
    s.loop_order.push_back(static_cast<int>(a));
  }
  s.dataflow.assign(s.space->inputs.size(), {tile::Dataflow::kStationary, 1, 1, -1});
  s.instruction = "fma.f32";
  s.prearranged = true;
  return s;
}

// Rows or columns of an image that one core reads, which has so many results from `first` on.
std::set<std::int64_t> read(std::int64_t first, std::int64_t results, std::int64_t stride, std::int64_t taps) {
  std::set<std::int64_t> out;
  if (results <= 0) return out;
  for (std::int64_t i = first * stride; i < (first + results - 1) * stride + taps; ++i) out.insert(i);
  return out;
}

struct Image {
  expr::Expression e;
  std::int64_t stride = 1;
};

Image any_image() {
  const std::int64_t stride = tests::any_of_range(1, 3);
  const char* op = stride == 1   ? "O[f,y,x] +=! I[y+r,x+s] * W[f,r,s]"
                   : stride == 2 ? "O[f,y,x] +=! I[y*2+r,x*2+s] * W[f,r,s]"
                                 : "O[f,y,x] +=! I[y*3+r,x*3+s] * W[f,r,s]";
  std::string sizes =
      fmt::format("f={},r={},s={}", tests::any_of_range(1, 5), tests::any_of_range(1, 5), tests::any_of_range(1, 5));
  for (const char axis : {'y', 'x'}) sizes += fmt::format(",{}={}", axis, tests::any_of_range(1, 20));
  return {tests::expression(op, sizes), stride};
}

// All cores together receive what their windows have more than the image has elements that any of them reads; filters
// that lie on other cores have windows of their own.
RC_GTEST_PROP(BspHalo, IsWhatWindowsHaveMoreThanOnce, ()) {
  const Image image = any_image();
  tile::Extents grid = {tests::any_of_range(1, 3), tests::any_of_range(1, 6), tests::any_of_range(1, 6), 1, 1};
  const auto space = tile::make_space(image.e, tile::no_collapse(image.e.stages.front()));
  for (std::size_t a = 0; a < grid.size(); ++a) grid[a] = std::min(grid[a], space->axes[a].extent);
  const tile::BspStage s = stationary(image.e, grid);
  RC_LOG() << tile::in_words(s);
  std::int64_t windows = 0, filters = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> once;
  for (std::int64_t f = 0; f < grid[0]; ++f) {
    if (f * s.part(0) >= space->axes[0].extent) continue;
    ++filters;
    for (std::int64_t y = 0; y < grid[1]; ++y)
      for (std::int64_t x = 0; x < grid[2]; ++x) {
        const auto results = [&](std::size_t a, std::int64_t at) {
          return std::min(s.part(a), space->axes[a].extent - at * s.part(a));
        };
        const auto rows = read(y * s.part(1), results(1, y), image.stride, space->axes[3].extent),
                   columns = read(x * s.part(2), results(2, x), image.stride, space->axes[4].extent);
        windows += std::ssize(rows) * std::ssize(columns);
        for (const std::int64_t row : rows)
          for (const std::int64_t column : columns) once.emplace(row, column);
      }
  }
  const std::int64_t halo = 4 * (windows - filters * std::ssize(once));
  RC_ASSERT(halo_bytes(s, 0) == static_cast<double>(halo));
  RC_ASSERT(halo_bytes(s, 1) == 0);
  std::int64_t of_cores = 0, most = 0;
  for (std::int64_t core = 0; core < s.cores(); ++core) {
    std::int64_t of_core = 0;
    for (const HaloPart& p : halo_parts(s, 0, core)) {
      RC_ASSERT(p.from != core && p.from >= 0 && p.from < s.cores());
      of_core += p.bytes;
    }
    of_cores += of_core;
    most = std::max(most, of_core);
  }
  RC_ASSERT(of_cores == halo);
  std::int64_t of_busiest = 0;
  for (const HaloPart& p : halo_parts(s, 0, core_of_most_halo(s))) of_busiest += p.bytes;
  RC_ASSERT(of_busiest <= most);
  // What only neighbours share comes to a core between two of them.
  if (space->axes[3].extent <= s.part(1) * image.stride && space->axes[4].extent <= s.part(2) * image.stride &&
      space->axes[1].extent % s.part(1) == 0 && space->axes[2].extent % s.part(2) == 0)
    RC_ASSERT(of_busiest == most);
}

// A row of three cores, four rows of 64 f32 each, which read two rows more: of the two that neighbours share one lies
// on each. The one in the middle gets 256 B from either side, over a port of 4 B a cycle, in two pieces.
TEST(BspHalo, TakesItsBytesAndPieces) {
  arch::ArchSpec a = tests::chip("ipu_gc200", {{"calibration.link.copy.ratio", "1"}, {"link.port_pairing", "1"}});
  a.core.count = 3;
  const expr::Expression e = tests::expression("B[y,x] = A[y,x] + A[y+1,x] + A[y+2,x]", "y=12,x=64");
  tile::BspStage s = stationary(e, {3, 1});
  const double cycle_us = 1e6 / 1.33e9, two_rows = 2 * 256 / 4.0;
  const Estimate stencil = estimate({&s, 1}, a);
  EXPECT_NEAR(stencil.term_us(kArrange), (two_rows + 160 + 190) * cycle_us, 1e-9);
  // The outer ones get one row each.
  EXPECT_DOUBLE_EQ(stencil.levels[0].bytes, 4 * 256);
  EXPECT_GT(stencil.term_us(kSync), 0);
  // Rows that no other core reads are not exchanged.
  s = stationary(tests::expression("B[y,x] = A[y,x] + A[y,x+1]", "y=12,x=64"), {3, 1});
  EXPECT_EQ(estimate({&s, 1}, a).term_us(kArrange), 0);
  EXPECT_EQ(estimate({&s, 1}, a).levels[0].bytes, 0);
}

// Copies of what several cores read alike cost nothing.
TEST(BspHalo, IsNoneOfCopies) {
  const tile::BspStage s = stationary(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64"), {4, 4, 1});
  for (std::size_t input : {0, 1}) {
    EXPECT_EQ(halo_bytes(s, input), 0);
    for (std::int64_t core = 0; core < s.cores(); ++core) EXPECT_TRUE(halo_parts(s, input, core).empty());
  }
}

}  // namespace
}  // namespace tilescope::model::bsp
