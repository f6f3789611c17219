// SPDX-License-Identifier: Apache-2.0
// Random affine expressions under random tiles: data tiles, runs and offsets are those of the elements really touched.
// rapidcheck prints the seed of a failure; RC_PARAMS="seed=..." repeats it.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/points.h"
#include "tests/support/random_program.h"
#include "tile/space.h"

namespace tilescope::tile {
namespace {

using tests::any_of_range;
using tests::Point;

constexpr const char* kAxes[] = {"a", "b", "c", "d"};

// `I[2*a-1*c+1,b]` with coefficients from `least`.
std::string any_read(const char* tensor, std::int64_t rank, std::int64_t least) {
  std::vector<std::string> coordinates;
  for (std::int64_t d = 0; d < rank; ++d) {
    std::string c = fmt::format("{}", any_of_range(0, 2));
    for (const char* axis : kAxes) {
      const std::int64_t coefficient = any_of_range(0, 1) * any_of_range(least, 3);
      if (coefficient != 0) c += fmt::format("{:+}*{}", coefficient, axis);
    }
    coordinates.push_back(c);
  }
  return fmt::format("{}[{}]", tensor, fmt::join(coordinates, ","));
}

// A sum over two spatial and two reduced loops of reads with arbitrary affine coordinates. Z makes every range known.
expr::Expression any_affine(std::int64_t min_coefficient) {
  std::vector<std::string> reads;
  const std::int64_t rank = any_of_range(1, 3);
  for (std::int64_t n = any_of_range(1, 3); n > 0; --n) reads.push_back(any_read("I", rank, min_coefficient));
  std::vector<std::string> sizes;
  for (const char* axis : kAxes) sizes.push_back(fmt::format("{}={}", axis, any_of_range(1, 5)));
  // A given shape, so that a read whose every coordinate is negative still lies inside of something.
  std::vector<std::string> shape(static_cast<std::size_t>(rank), "40");
  return tests::expression(fmt::format("O[a,b] +=! Z[a,b,c,d] * ({})", fmt::join(reads, "+")),
                           fmt::format("{}", fmt::join(sizes, ",")), fmt::format("I={}", fmt::join(shape, ",")));
}

Extents any_tile(const TileSpace& space) {
  Extents tile;
  for (const TileAxis& a : space.axes) tile.push_back(any_of_range(1, a.extent));
  return tile;
}

// Lowest and highest coordinate per dimension over a tile at the origin, over all reads of the operand.
std::pair<Point, Point> box_of(const TileSpace& space, std::size_t operand, const Extents& tile) {
  Point low, high;
  for (const expr::Read& read : tests::reads_of(space, operand))
    tests::each_index(tests::to_point(tile), [&](const Point& index) {
      const Point at = tests::coordinates_at(read, tests::stage_point(space, index));
      if (low.empty()) low = high = at;
      for (std::size_t d = 0; d < at.size(); ++d) {
        low[d] = std::min(low[d], at[d]);
        high[d] = std::max(high[d], at[d]);
      }
    });
  return {low, high};
}

// Distinct elements that a tile at the origin touches, in or out of the tensor.
std::set<std::int64_t> touched(const TileSpace& space, std::size_t operand, const Extents& tile) {
  std::set<std::int64_t> out;
  for (const expr::Read& read : tests::reads_of(space, operand))
    tests::each_index(tests::to_point(tile), [&](const Point& index) {
      out.insert(tests::flat_element(space, read, tests::coordinates_at(read, tests::stage_point(space, index))));
    });
  return out;
}

RC_GTEST_PROP(SpaceProperty, ADataTileIsTheBoxAroundWhatIsTouched, ()) {
  const expr::Expression e = any_affine(-2);
  const auto space = make_space(e, no_collapse(e.stages.front()));
  const Extents tile = any_tile(*space);
  RC_LOG() << e.stages.front().text << '\n';
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const auto [low, high] = box_of(*space, i, tile);
    const TileShape shape = data_tile(space->operand(i), tile);
    std::int64_t elements = 1, padded = 1;
    RC_ASSERT(shape.size() == low.size());
    for (std::size_t d = 0; d < low.size(); ++d) {
      RC_ASSERT(shape[d] == high[d] - low[d] + 1);
      elements *= shape[d];
      padded *= shape[d] + (d + 1 == low.size() ? 3 : 0);
    }
    RC_ASSERT(data_tile_elements(space->operand(i), tile) == elements);
    RC_ASSERT(data_tile_elements(space->operand(i), tile, 3) == padded);
  }
}

// Operators whose coordinates are bare axes: collapse or not, the tile holds exactly what is touched.
expr::Expression any_bare_operator() {
  const std::string op = tests::any_element<std::string>(
      {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n,k] = A[m,n,k]", "C[m,n] +=! A[m,n,k] * B[k]", "C[n,m] = A[m,n]",
       "C[m,n] +=! A[m,k] * B[n,k]", "C[m,n,q] +=! A[m,n,q,k] * B[n,q]"});
  std::string sizes;
  for (const char axis : {'m', 'n', 'k', 'q'})
    if (op.find(axis) != std::string::npos)
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", axis, any_of_range(1, 7));
  return tests::expression(op, sizes);
}

RC_GTEST_PROP(SpaceProperty, TilesOfBareAxesHoldExactlyWhatIsTouched, ()) {
  const expr::Expression e = any_bare_operator();
  const auto space = make_space(e, tests::any_collapse(e));
  const Extents tile = any_tile(*space);
  RC_LOG() << e.stages.front().text << '\n';
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const auto elements = static_cast<std::int64_t>(touched(*space, i, tile).size());
    RC_ASSERT(data_tile_elements(space->operand(i), tile) == elements);
    RC_ASSERT(data_tile_elements_inside(space->operand(i), tile) == elements);
  }
}

// Maximal runs of consecutive elements.
std::vector<std::int64_t> run_lengths(const std::set<std::int64_t>& elements) {
  std::vector<std::int64_t> out;
  std::int64_t last = 0;
  for (const std::int64_t e : elements) {
    if (!out.empty() && e == last + 1)
      ++out.back();
    else
      out.push_back(1);
    last = e;
  }
  return out;
}

RC_GTEST_PROP(SpaceProperty, RunsOfBareAxesAreTheRunsOfMemory, ()) {
  const expr::Expression e = any_bare_operator();
  const auto space =
      make_space(e, tests::any_element<AxisCollapse>({no_collapse(e.stages.front()), contiguous_collapse(e)}));
  const Extents tile = any_tile(*space);
  RC_LOG() << e.stages.front().text << '\n';
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const Runs runs = runs_of(space->operand(i), tile);
    const auto lengths = run_lengths(touched(*space, i, tile));
    RC_ASSERT(runs.count * runs.length == data_tile_elements(space->operand(i), tile));
    RC_ASSERT(runs.stride == 1);
    // Neighbouring runs may touch where an outer dimension is one long; then they are joined in memory or not at all.
    RC_ASSERT(static_cast<std::int64_t>(lengths.size()) <= runs.count);
    const bool even = std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return n % runs.length == 0; });
    RC_ASSERT(even);
  }
}

// Runs of a gathered operand, where the tile neither cuts a loop nor wraps into the next one halfway.
RC_GTEST_PROP(SpaceProperty, RunsOfGatheredTilesCoverTheTile, ()) {
  const std::int64_t x = any_of_range(1, 6), taken = any_of_range(1, x);
  const expr::Expression e = tests::expression(
      "O[n,f,y,x] +=! I[n,c,y,x] * W[f,c]",
      fmt::format("n={},f=4,y={},x={},c={}", any_of_range(1, 3), any_of_range(1, 4), x, any_of_range(1, 4)));
  const auto space = make_space(e, contraction_collapse(e).value());
  Extents tile;
  for (const TileAxis& a : space->axes) tile.push_back(a.axes.size() > 1 ? taken : any_of_range(1, a.extent));
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const Runs runs = runs_of(space->operand(i), tile);
    RC_ASSERT(runs.count * runs.length == static_cast<std::int64_t>(touched(*space, i, tile).size()));
  }
}

// Any collapse of any operator: walking the data tile's dimensions leads where the access function leads.
RC_GTEST_PROP(SpaceProperty, OffsetsAreThoseOfTheAccessFunction, ()) {
  const bool arbitrary = *rc::gen::arbitrary<bool>();
  const expr::Expression e = arbitrary ? any_affine(-2) : tests::any_operator(5);
  const auto space = make_space(e, tests::any_collapse(e));
  RC_LOG() << e.stages.front().text << '\n';
  Point extents;
  for (const TileAxis& a : space->axes) extents.push_back(a.extent);
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const Operand& o = space->operand(i);
    const expr::Read read = tests::reads_of(*space, i).front();
    if (std::any_of(o.dims.begin(), o.dims.end(), [](const TileDim& d) { return d.whole; })) continue;
    const auto element_at = [&](const Point& index) {
      return tests::flat_element(*space, read, tests::coordinates_at(read, tests::stage_point(*space, index)));
    };
    // Where the data tile of the whole stage stands for an index; loops that run backwards begin at its far end.
    const auto offset_at = [&](const Point& index) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < o.dims.size(); ++d) {
        std::int64_t at = 0;
        for (const expr::Term& t : o.dims[d].terms) {
          const auto axis = static_cast<std::size_t>(t.axis);
          const std::int64_t i_axis = t.coefficient < 0 ? extents[axis] - 1 - index[axis] : index[axis];
          at += std::abs(t.coefficient) * i_axis;
        }
        offset += memory_offset(o, d, at);
      }
      return offset;
    };
    const Point origin(extents.size(), 0);
    tests::each_index(extents, [&](const Point& index) {
      if (offset_at(index) - offset_at(origin) != element_at(index) - element_at(origin)) RC_FAIL("operand " + o.name);
    });
  }
}

}  // namespace
}  // namespace tilescope::tile
