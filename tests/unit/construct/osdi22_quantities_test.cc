// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/osdi22_quantities.h"

#include <gtest/gtest.h>

#include "tests/support/osdi22.h"

namespace tilescope::tests {
namespace {

using construct::Osdi22Quantities;

std::shared_ptr<const tile::TileSpace> uncollapsed(const expr::Expression& e) {
  return tile::make_space(e, tile::no_collapse(e.stages.front()));
}

TEST(Osdi22Quantities, CountsAMatmulOverWholeSteps) {
  const auto space = uncollapsed(expression_of("C[m,n] +=! A[m,k] * B[k,n]", {{"m", 512}, {"n", 512}, {"k", 100}}));
  const Osdi22Quantities q(*space);
  const tile::Extents block = {64, 32, 8};  // 100 in steps of 8 are 104
  EXPECT_EQ(q.operations(block), 2.0 * 64 * 32 * 104);
  EXPECT_EQ(q.traffic_bytes(block), 4.0 * (64 * 104 + 104 * 32 + 64 * 32));
  EXPECT_EQ(q.footprint_bytes(block), 4.0 * (64 * 8 + 8 * 32));
  EXPECT_EQ(q.registers({8, 4, 1}), 8.0 + 4 + 8 * 4);
}

TEST(Osdi22Quantities, PoolingLosesItsPaddingInEveryTile) {
  const auto space = uncollapsed(
      expression_of("O[b,y,x] mean=! I[b,y*2+r-1,x*2+s-1]", {{"b", 64}, {"y", 11}, {"x", 11}, {"r", 3}, {"s", 3}}));
  const Osdi22Quantities q(*space);
  EXPECT_EQ(q.footprint_bytes({1, 4, 8, 3, 3}), 4.0 * (3 * 2 + 3 - 2) * (7 * 2 + 3 - 2));
  EXPECT_EQ(q.registers({1, 1, 2, 1, 1}), -1.0 * 1 + 2) << "a tile may even have -1 rows";
}

TEST(Osdi22Quantities, DepthwiseConvolutionKeepsItsPadding) {
  const auto space = uncollapsed(expression_of("O[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]",
                                               {{"n", 8}, {"c", 16}, {"y", 14}, {"x", 14}, {"r", 3}, {"s", 3}}));
  const Osdi22Quantities q(*space);
  EXPECT_EQ(q.footprint_bytes({1, 2, 4, 8, 3, 3}), 4.0 * (2 * 6 * 10 + 2 * 3 * 3));
}

TEST(Osdi22Quantities, TransactionsEndWithTheTileOrTheTensor) {
  const auto space = uncollapsed(expression_of("O[i] +=! I[i,j]", {{"i", 1024}, {"j", 121}}));
  const Osdi22Quantities q(*space);
  EXPECT_TRUE(q.fills_transactions({64, 32}, 8));
  EXPECT_TRUE(q.fills_transactions({64, 121}, 8)) << "121 is the whole row";
  EXPECT_FALSE(q.fills_transactions({64, 100}, 8)) << "the reduction step ends within a transaction";
  EXPECT_FALSE(q.fills_transactions({63, 32}, 8)) << "the output's tile ends within a transaction";
}

TEST(Osdi22Quantities, ReuseThatGrowsIsIoDependent) {
  const auto io_dependent = [](const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
    return Osdi22Quantities(*uncollapsed(expression_of(text, sizes))).io_dependent();
  };
  EXPECT_TRUE(io_dependent("C[m,n] +=! A[m,k] * B[k,n]", {{"m", 128}, {"n", 1000}, {"k", 2048}}));
  EXPECT_FALSE(io_dependent("O[i] = relu(I[i])", {{"i", 1 << 20}}));
  EXPECT_FALSE(io_dependent("O[i] +=! I[i,j]", {{"i", 65536}, {"j", 1024}}));
  EXPECT_FALSE(io_dependent("O[b,y,x] mean=! I[b,y*2+r,x*2+s]", {{"b", 64}, {"y", 42}, {"x", 42}, {"r", 1}, {"s", 1}}));
}

}  // namespace
}  // namespace tilescope::tests
