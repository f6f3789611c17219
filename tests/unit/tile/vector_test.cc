// SPDX-License-Identifier: Apache-2.0
// Vector accesses against enumeration: no piece of a copy may straddle two runs of memory or start between its
// multiples.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/points.h"
#include "tests/support/random_program.h"
#include "tile/program.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {
namespace {

using tests::Point;

// The element of memory that stands at a place of the data tile of a block, or nothing where the tile reaches beyond
// the range of a gathered loop. Plain operands: low corner of the block plus the place; gathered: a place is an index.
std::int64_t element_at(const TileSpace& space, std::size_t operand, const Point& block_start, const Point& place) {
  const Operand& o = space.operand(operand);
  const expr::Read read = tests::reads_of(space, operand).front();
  Point index = block_start;
  if (o.im2col) {
    for (std::size_t d = 0; d < place.size(); ++d) index[static_cast<std::size_t>(o.dims[d].terms[0].axis)] += place[d];
    return tests::flat_element(space, read, tests::coordinates_at(read, tests::stage_point(space, index)));
  }
  const std::int64_t start =
      tests::flat_element(space, read, tests::coordinates_at(read, tests::stage_point(space, index)));
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < place.size(); ++d) offset += place[d] * o.steps[d].front().stride;
  return start + offset;
}

// Sizes that are mostly even, so that there is something to vectorise.
expr::Expression any_vector_operator() {
  const auto size = [] { return tests::any_element<std::int64_t>({1, 2, 3, 4, 6, 8, 12}); };
  switch (tests::any_of_range(0, 7)) {
    case 0:
      return tests::expression("C[m,n] +=! A[m,k] * B[k,n]", fmt::format("m={},n={},k={}", size(), size(), size()));
    case 1:
      return tests::expression("O[n,f,y,x] +=! I[n,c,y,x] * W[f,c]",
                               fmt::format("n={},f={},y={},x={},c={}", size(), size(), size(), size(), size()));
    case 2:
      return tests::expression("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]",
                               fmt::format("n=2,f={},y={},x={},c={},r=2,s=2", size(), size(), size(), size()));
    case 3: {  // a tensor of its own size: reads may leave it anywhere
      const auto offset = [] { return tests::any_element<std::string>({"", "+1", "-1"}); };
      const auto some = [&] { return std::max<std::int64_t>(2, size()); };
      const std::string text =
          fmt::format("T[i,j] = relu(I[i,j]); O[y,x] +=! T[y+r{},x+s{}] * W[r,s]", offset(), offset());
      const std::string sizes = fmt::format("i={},j={},y={},x={},r={},s={}", some(), some(), some(), some(),
                                            tests::any_of_range(1, 2), tests::any_of_range(1, 2));
      return expr::single_stage(tests::expression(text, sizes), 1);
    }
    case 4: {  // the same, along diagonals and backwards
      const auto at = tests::any_element<std::string>({"y,x+y", "y,x-y", "y,7-x", "7-y,x", "y*2,x"});
      const std::string text = fmt::format("T[k,i,j] = relu(I[k,i,j]); O[n,y,x] +=! T[k,{}] * W[n,k]", at);
      return expr::single_stage(tests::expression(text, fmt::format("k={},i={},j={},n=2,y={},x={}", size(), size() + 7,
                                                                    size() + 7, size(), size())),
                                1);
    }
    case 5: {  // a last tile of taps goes on behind the tensor's end
      const std::string text = "T[k,i,j] = relu(I[k,i,j]); O[f,x] +=! T[c*2,r*2,x] * W[f,c,r]";
      return expr::single_stage(
          tests::expression(text, fmt::format("k=3,i=3,j={},f=2,x={},c=2,r=2", size() + 1, size())), 1);
    }
    case 6:
      return tests::expression("O[i] max=! I[i*3+j]", fmt::format("i={},j={}", size(), size()));
    default:
      return tests::expression("O[i] +=! I[k,i*3]", fmt::format("i={},k={}", size(), size()));
  }
}

// Whether the element at a place of a gathered tile is one of the tensor, not one of the zeros around it.
bool in_tensor(const TileSpace& space, std::size_t operand, Point index, const Point& place) {
  const Operand& o = space.operand(operand);
  const expr::Read read = tests::reads_of(space, operand).front();
  for (std::size_t d = 0; d < place.size(); ++d) index[static_cast<std::size_t>(o.dims[d].terms[0].axis)] += place[d];
  return tests::inside(space, read, tests::coordinates_at(read, tests::stage_point(space, index)));
}

RC_GTEST_PROP(WidestVector, PiecesAreAlignedAndConsecutive, ()) {
  const expr::Expression e = any_vector_operator();
  const auto space = make_space(e, tests::any_collapse(e));
  Extents tile;
  for (const TileAxis& a : space->axes)
    tile.push_back(std::min(a.extent, tests::any_element<std::int64_t>({1, 2, 3, 4, 6, 8, 16, 24})));
  const std::int64_t padding = tests::any_of_range(0, 4);
  RC_LOG() << e.stages.front().text << '\n';
  Point grid;
  for (std::size_t a = 0; a < tile.size(); ++a) grid.push_back((space->axes[a].extent + tile[a] - 1) / tile[a]);
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const Operand& o = space->operand(i);
    const std::int64_t v = widest_vector(o, tile, padding, {16});
    const TileShape shape = data_tile(o, tile);
    RC_ASSERT(v >= 1 && (v & (v - 1)) == 0);
    RC_ASSERT(v * o.element.n <= 16);
    RC_ASSERT(shape.back() % v == 0 && padding % v == 0);
    if (v == 1) continue;
    tests::each_index(grid, [&](const Point& block) {
      Point start;
      for (std::size_t a = 0; a < tile.size(); ++a) start.push_back(block[a] * tile[a]);
      tests::each_index(Point(shape.begin(), shape.end()), [&](Point place) {
        if (place.back() % v != 0) return;
        bool behind = false;  // the end of a loop: whatever is read there is used by nothing
        for (std::size_t d = 0; d < place.size() && o.im2col; ++d) {
          const auto axis = static_cast<std::size_t>(o.dims[d].terms[0].axis);
          behind = behind || start[axis] + place[d] >= space->axes[axis].extent;
        }
        const std::int64_t first = element_at(*space, i, start, place);
        if (behind) {
          if (in_tensor(*space, i, start, place) && first + v > o.elements)
            RC_FAIL("operand " + o.name + ": a piece ends behind the tensor");
          return;
        }
        if (first % v != 0) RC_FAIL("operand " + o.name + ": a piece starts between the vector's multiples");
        const bool whole = o.im2col && in_tensor(*space, i, start, place);
        for (std::int64_t k = 1; k < v; ++k) {
          ++place.back();
          if (element_at(*space, i, start, place) != first + k)
            RC_FAIL("operand " + o.name + ": a piece straddles runs");
          if (o.im2col && in_tensor(*space, i, start, place) != whole)
            RC_FAIL("operand " + o.name + ": a piece lies partly outside the tensor");
        }
      });
    });
  }
}

TEST(WidestVector, OfAMatrixProduct) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  EXPECT_EQ(widest_vector(space->inputs[0], {8, 8, 8}, 0, {16}), 4);
  EXPECT_EQ(widest_vector(space->inputs[0], {8, 8, 8}, 4, {16}), 4);
  EXPECT_EQ(widest_vector(space->inputs[0], {8, 8, 8}, 1, {16}), 1) << "rows of nine elements";
  EXPECT_EQ(widest_vector(space->inputs[0], {8, 8, 6}, 0, {16}), 2);
  EXPECT_EQ(widest_vector(space->inputs[1], {8, 8, 8}, 0, {8}), 2);
}

// Of a tensor of 4 x 4 x 16, gathered, along its rows.
TEST(WidestVector, OfGatheredReads) {
  const auto widest = [](const std::string& read, int x) {
    const expr::Expression e = tests::expression("T[k,i,j] = relu(I[k,i,j]); O[n,y,x] +=! T[" + read + "] * W[n,k]",
                                                 fmt::format("k=4,i=4,j=16,n=8,y=4,x={}", x));
    const auto space = make_space(expr::single_stage(e, 1), contraction_collapse(expr::single_stage(e, 1)).value());
    const auto input = std::find_if(space->inputs.begin(), space->inputs.end(),
                                    [&](const Operand& o) { return space->tensor_name(o) == "T"; });
    EXPECT_TRUE(input->im2col) << read;
    return widest_vector(*input, {8, 8, 4}, 0, {16});
  };
  EXPECT_EQ(widest("k,y,x", 8), 4);
  EXPECT_EQ(widest("k,y,x+4", 8), 4);
  EXPECT_EQ(widest("k,y,x+2", 8), 2);
  EXPECT_EQ(widest("k,y,x+1", 8), 1);
  EXPECT_EQ(widest("k,y+1,x", 8), 4) << "leaves whole rows";
  EXPECT_EQ(widest("k,y,x", 24), 4) << "leaves rows at a multiple of four";
  EXPECT_EQ(widest("k,y,x+y", 8), 1) << "begins anywhere";
  EXPECT_EQ(widest("k,y,8-x", 8), 1) << "runs backwards";
}

TEST(MakeStageProgram, StagesWhatAReductionReuses) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  const StageProgram p = make_stage_program(space, {{2, 8, 1}, {1, 8, 2}}, {1, 1, 8}, {16});
  EXPECT_EQ(p.block, (Extents{16, 16, 8}));
  EXPECT_EQ(p.thread, (Extents{2, 2, 1}));
  EXPECT_EQ(p.threads(), 64);
  EXPECT_EQ(p.blocks(), 16);
  EXPECT_EQ(p.steps(), 8);
  EXPECT_EQ(p.operands[0], (OperandPlan{true, 0, 4}));
  EXPECT_EQ(p.operands[2], (OperandPlan{false, 0, 2})) << "a thread owns two neighbours";
}

TEST(MakeStageProgram, LeavesInRegistersWhatNothingReduces) {
  const expr::Expression e = tests::expression("O[i] = relu(I[i])", "i=4096");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  const StageProgram p = make_stage_program(space, {{1, 64, 4}}, {1}, {16});
  EXPECT_EQ(p.operands[0], (OperandPlan{false, 0, 4}));
  EXPECT_EQ(p.steps(), 1);
}

}  // namespace
}  // namespace tilescope::tile
