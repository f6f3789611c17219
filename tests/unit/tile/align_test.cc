// SPDX-License-Identifier: Apache-2.0
// The four alignment rules against direct counting.

#include "tile/align.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/random_program.h"

namespace tilescope::tile {
namespace {

using tests::any_of_range;

// The most words that one of `banks` banks gives when `rows` rows of `stride` elements are read `width` elements each.
std::int64_t worst_bank(std::int64_t stride, std::int64_t width, std::int64_t rows, std::int64_t banks,
                        std::int64_t bank_elements) {
  std::vector<std::int64_t> words(static_cast<std::size_t>(banks), 0);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t w = 0; w < width; w += bank_elements)
      ++words[static_cast<std::size_t>((row * stride + w) / bank_elements % banks)];
  return *std::max_element(words.begin(), words.end());
}

TEST(BankPadding, OfTheDocumentedTile) {
  EXPECT_EQ(worst_bank(4, 1, 3, 4, 1), 3) << "a column of a 3x4 tile lies in one bank of four";
  EXPECT_EQ(bank_padding(4, 1, 4, 1), 1);
  EXPECT_EQ(worst_bank(4 + 1, 1, 3, 4, 1), 1);
}

TEST(BankPadding, IsZeroWhereTheStrideIsRightAlready) {
  EXPECT_EQ(bank_padding(33, 1, 32, 1), 0);
  EXPECT_EQ(bank_padding(4, 4, 32, 1), 0);
  EXPECT_EQ(bank_padding(1, 1, 1, 1), 0) << "one bank has nothing to avoid";
}

RC_GTEST_PROP(BankPadding, MakesTheStrideCongruentToTheRead, ()) {
  const std::int64_t row = any_of_range(1, 300), read = any_of_range(1, 40);
  const std::int64_t banks = any_of_range(1, 64), elements = any_of_range(1, 4);
  const std::int64_t padding = bank_padding(row, read, banks, elements);
  const std::int64_t words = (read + elements - 1) / elements;
  RC_ASSERT(padding >= 0);
  RC_ASSERT(padding < banks * elements);
  RC_ASSERT((row + padding) % (banks * elements) == words * elements % (banks * elements));
}

RC_GTEST_PROP(BankPadding, FreesColumnReadsOfConflicts, ()) {
  const std::int64_t banks = any_of_range(1, 64), elements = any_of_range(1, 4);
  const std::int64_t words = any_of_range(1, banks), read = words * elements;
  const std::int64_t row = any_of_range(1, 300);
  const std::int64_t stride = row + bank_padding(row, read, banks, elements);
  RC_ASSERT(worst_bank(stride, read, banks / words, banks, elements) == 1);
}

RC_GTEST_PROP(WastedRatio, IsTheShareOfPointsOutsideTheAxis, ()) {
  const std::int64_t length = any_of_range(1, 200), extent = any_of_range(1, 250);
  std::int64_t outside = 0;
  for (std::int64_t begin = 0; begin < length; begin += extent)
    for (std::int64_t i = begin; i < begin + extent; ++i) outside += i >= length;
  RC_ASSERT(wasted_ratio(length, extent) == static_cast<double>(outside) / static_cast<double>(length));
}

TEST(FillsUnits, IsAWholeNumberOfWarps) {
  EXPECT_TRUE(fills_units(128, 32));
  EXPECT_FALSE(fills_units(48, 32));
  EXPECT_FALSE(fills_units(32, 64));
}

TEST(FillsTransactions, TakesWholeTransactionsOrTheWholeRow) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=60,k=20");
  const auto space = make_space(e, no_collapse(e.stages.front()));
  const auto fills = [&](std::size_t axis, std::int64_t extent) {
    return fills_transactions(*space, axis, extent, {32});
  };
  EXPECT_TRUE(fills(2, 8)) << "A's rows of 8 f32 along k are one transaction of 32 B";
  EXPECT_FALSE(fills(2, 12));
  EXPECT_TRUE(fills(2, 20)) << "the whole row of A";
  EXPECT_FALSE(fills(1, 20)) << "80 B of B's row of 60 along n";
  EXPECT_TRUE(fills(1, 60));
  EXPECT_TRUE(fills(0, 3)) << "m is innermost nowhere";
}

}  // namespace
}  // namespace tilescope::tile
