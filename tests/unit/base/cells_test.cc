// SPDX-License-Identifier: Apache-2.0
// Tables as columns: two that are read apart and put together are the one that is read at once.

#include "base/cells.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilescope::base {
namespace {

constexpr std::size_t kColumns = 6;

// A cell of any kind, of few texts; each column has cells of one kind, but for the last two.
Value random_cell(std::mt19937& draw, std::size_t column) {
  const std::size_t kind = column + 2 < kColumns ? column : draw() % kColumns;
  if (draw() % 3 == 0) return nullptr;
  switch (kind) {
    case 0:
      return static_cast<double>(draw() % 100) / 8;
    case 1:
      return static_cast<std::int64_t>(draw() % 100);
    case 2:
      return draw() % 2 == 0;
    default:
      return std::string(1, static_cast<char>('a' + draw() % 4));
  }
}

using Rows = std::vector<std::vector<Value>>;  // of the first columns each

Cells cells_of_rows(const Rows& rows, std::size_t first, std::size_t last) {
  Cells out(rows.size());
  for (std::size_t row = first; row < last; ++row) {
    out.add_row();
    for (std::size_t c = 0; c < rows[row].size(); ++c)
      out.put({"c" + std::to_string(c), c == 0 ? "us" : "", "A column."}, rows[row][c]);
  }
  return out;
}

void expect_equal(const Cells& one, const Cells& other) {
  ASSERT_EQ(one.rows(), other.rows());
  ASSERT_EQ(one.columns().size(), other.columns().size());
  for (std::size_t c = 0; c < one.columns().size(); ++c) {
    const CellColumn &a = one.columns()[c], &b = other.columns()[c];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.unit, b.unit);
    EXPECT_EQ(a.seen, b.seen) << a.name;
    EXPECT_EQ(a.texts, b.texts) << a.name;
    for (std::size_t row = 0; row < one.rows(); ++row) {
      ASSERT_EQ(a.kind(row), b.kind(row)) << a.name << " of row " << row;
      EXPECT_STREQ(a.text(row), b.text(row));  // null where there is none
      EXPECT_TRUE(a.number(row) == b.number(row) || (std::isnan(a.number(row)) && std::isnan(b.number(row))));
    }
  }
}

TEST(Cells, PartsPutTogetherAreTheWhole) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Rows rows(draw() % 20);
    for (auto& row : rows) {
      row.resize(1 + draw() % kColumns);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = random_cell(draw, c);
    }
    const std::size_t cut = draw() % (rows.size() + 1), second = cut + draw() % (rows.size() - cut + 1);
    Cells parts = cells_of_rows(rows, 0, cut);
    parts.append(cells_of_rows(rows, cut, second));
    parts.append(cells_of_rows(rows, second, rows.size()));
    expect_equal(parts, cells_of_rows(rows, 0, rows.size()));
  }
}

}  // namespace
}  // namespace tilescope::base
