// SPDX-License-Identifier: Apache-2.0
// Divisions that stay affine, against dividing.

#include "lower/affine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/integer.h"
#include "lower/detail/lanes.h"

namespace tilescope::lower {
namespace {

Kernel empty(std::int64_t blocks, std::int64_t threads) {
  Kernel k;
  k.blocks = blocks;
  k.threads = threads;
  return k;
}

RC_GTEST_PROP(Affine, QuotientsAreWhatDivisionGives, ()) {
  const auto any = [](std::int64_t least, std::int64_t most) {
    return *rc::gen::inRange<std::int64_t>(least, most + 1);
  };
  Kernel k = empty(any(1, 12), any(1, 12));
  IndexMaker maker(k);
  const int loop = maker.loop("i", any(1, 9), any(0, 2));
  const auto factor = [&] { return any(0, 1) == 0 ? any(-3, 12) : 4 * any(-1, 6); };
  const Affine a =
      maker.block() * factor() + maker.thread() * factor() + maker.value(loop) * factor() + constant(any(-20, 20));
  const std::int64_t divisor = any(1, 24), modulus = any(0, 1) == 0 ? 0 : any(1, 12);
  const Affine q = maker.quotient(a, divisor, modulus, "q");
  // A quotient of a quotient, as collapsed loops make them.
  const Affine again = maker.quotient(q * 3 + maker.thread(), 2, 5, "again");
  Lanes lanes(k, 0, k.threads);
  for (std::int64_t block = 0; block < k.blocks; ++block) {
    lanes.set_block(block);
    const expr::Span range = k.indices[static_cast<std::size_t>(loop)].range;
    for (std::int64_t i = range.low; i <= range.high; ++i) {
      lanes.set_loop(loop, i);
      for (std::int64_t t = 0; t < k.threads; ++t) {
        const std::int64_t whole = base::floor_div(lanes.value(a, t), divisor);
        const std::int64_t expected = modulus == 0 ? whole : base::floor_mod(whole, modulus);
        RC_ASSERT(lanes.value(q, t) == expected);
        RC_ASSERT(lanes.value(again, t) == base::floor_mod(base::floor_div(expected * 3 + t, 2), 5));
        const expr::Span q_range = range_of(k, q);
        RC_ASSERT(q_range.low <= expected && expected <= q_range.high);
      }
    }
  }
}

TEST(Affine, ATiledIndexNeedsNoDerivedOne) {
  Kernel k = empty(6, 32);
  IndexMaker maker(k);
  const int i = maker.loop("i", 4);
  // Pieces i*32 + thread of rows of 8: the column is the thread's alone, the row a sum.
  const Affine piece = maker.value(i) * 32 + maker.thread();
  const Affine column = maker.quotient(piece, 1, 8, "column");
  const Affine row = maker.quotient(piece, 8, 0, "row");
  ASSERT_EQ(column.terms.size(), 1U);
  ASSERT_EQ(row.terms.size(), 2U);
  EXPECT_EQ(row.terms[0], (AffineTerm{i, 4}));
}

TEST(Affine, AlignmentIsTheGreatestCommonPowerOfTwo) {
  Kernel k = empty(6, 32);
  IndexMaker maker(k);
  EXPECT_EQ(alignment_of(maker.block() * 12 + constant(8), 16), 4);
  EXPECT_EQ(alignment_of(maker.block() * 16, 16), 16);
  EXPECT_EQ(alignment_of(maker.block() * 16 + constant(3), 16), 1);
}

TEST(Affine, UnusedIndicesAreDroppedAndTheOthersRenamed) {
  Kernel k = empty(6, 32);
  IndexMaker maker(k);
  const Affine unused = maker.quotient(maker.thread(), 3, 0, "unused");
  const Affine used = maker.quotient(maker.block(), 5, 0, "used");
  Copy copy;
  copy.to.offset = used;
  k.body.push_back({copy, {}});
  drop_unused_indices(k);
  ASSERT_EQ(k.indices.size(), 3U);
  EXPECT_EQ(k.indices[2].name, "used");
  EXPECT_EQ(std::get<Copy>(k.body[0].what).to.offset.terms[0].index, 2);
}

}  // namespace
}  // namespace tilescope::lower
