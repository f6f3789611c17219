// SPDX-License-Identifier: Apache-2.0
// The order of blocks, walked through by loops.

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tile/program.h"

namespace tilescope::tile {
namespace {

using Block = std::array<std::int64_t, 2>;  // of m, of n

// 24 blocks along m, 10 along n.
StageProgram program(BlockOrder block_order, std::int64_t group_m) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=768,n=320,k=32");
  StageProgram p =
      make_stage_program(make_space(e, no_collapse(e.stages.front())), {{1, 32, 1}, {1, 32, 1}}, {1, 1, 32}, {16});
  p.block_order = block_order;
  p.group_m = group_m;
  return p;
}

std::vector<Block> numbered(const StageProgram& p) {
  std::vector<Block> out;
  for (std::int64_t number = 0; number < p.blocks(); ++number) {
    Block at{};
    std::int64_t rest = number;
    const auto digits = p.block_digits();
    for (std::size_t i = digits.size(); i-- > 0;) {
      at[digits[i].axis] += rest % digits[i].count * digits[i].stride;
      rest /= digits[i].count;
    }
    out.push_back(at);
  }
  return out;
}

TEST(BlockOrders, OfRowsAndColumns) {
  std::vector<Block> rows, columns;
  for (std::int64_t m = 0; m < 24; ++m)
    for (std::int64_t n = 0; n < 10; ++n) rows.push_back({m, n});
  for (std::int64_t n = 0; n < 10; ++n)
    for (std::int64_t m = 0; m < 24; ++m) columns.push_back({m, n});
  EXPECT_EQ(numbered(program(BlockOrder::kRow, 1)), rows);
  EXPECT_EQ(numbered(program(BlockOrder::kColumn, 1)), columns);
}

TEST(BlockOrders, OfBands) {
  std::vector<Block> rows, columns;
  for (std::int64_t first = 0; first < 24; first += 8)
    for (std::int64_t n = 0; n < 10; ++n)
      for (std::int64_t m = first; m < first + 8; ++m) rows.push_back({m, n});
  for (std::int64_t first = 0; first < 10; first += 5)
    for (std::int64_t m = 0; m < 24; ++m)
      for (std::int64_t n = first; n < first + 5; ++n) columns.push_back({m, n});
  EXPECT_EQ(numbered(program(BlockOrder::kRow, 8)), rows);
  EXPECT_EQ(numbered(program(BlockOrder::kColumn, 5)), columns);
}

}  // namespace
}  // namespace tilescope::tile
