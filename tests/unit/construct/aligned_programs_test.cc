// SPDX-License-Identifier: Apache-2.0
// The programs of an exhaustive search against plain nested loops over the rules.

#include "construct/aligned_programs.h"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "construct/search_space.h"
#include "tests/unit/construct/construct_on.h"

namespace tilescope::construct {
namespace {

using Tile = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

std::set<std::int64_t> threads_of(std::int64_t length) {
  std::set<std::int64_t> out;
  for (std::int64_t n = 1; n <= length; n *= 2) out.insert(n);
  for (const std::int64_t kept : {1, 2, 4, 8, 16, 32})
    for (std::int64_t parts = 1; parts <= 6; ++parts) out.insert(((length + kept - 1) / kept + parts - 1) / parts);
  return out;
}

bool wastes_a_tenth_at_most(std::int64_t length, std::int64_t extent) {
  return static_cast<double>((length + extent - 1) / extent * extent - length) <= 0.1 * static_cast<double>(length);
}

TEST(AlignedPrograms, AreAllOfAMatrixProduct) {
  const std::int64_t m = 32, n = 40;
  std::set<Tile> expected;
  for (const std::int64_t tm : threads_of(m))
    for (const std::int64_t tn : threads_of(n))
      for (std::int64_t rm = 1; rm <= 32; rm *= 2)
        for (std::int64_t rn = 1; rn <= 32; rn *= 2)
          for (const std::int64_t step : {4, 8, 16, 32}) {
            const bool everything = tm * rm >= m && tn * rn >= n;
            const bool aligned = (everything || tm * tn % 32 == 0) && tm * tn <= 1024 && rm * rn <= 255 &&
                                 (tn * rn >= n || tn * rn % 8 == 0) &&  // 32 bytes of B and C
                                 wastes_a_tenth_at_most(m, tm * rm) && wastes_a_tenth_at_most(n, tn * rn);
            if (aligned) expected.insert({tm, rm, tn, rn, step});
          }
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=40,k=512"), chip.spec);
  const AlignedPrograms aligned = aligned_programs(space, 100000);
  std::set<Tile> found;
  for (const tile::StageProgram& p : aligned.programs)
    found.insert({p.mapping[0].threads, p.mapping[0].thread_extent(), p.mapping[1].threads,
                  p.mapping[1].thread_extent(), p.block[2]});
  EXPECT_TRUE(aligned.every_layout);
  EXPECT_EQ(found, expected);
  EXPECT_GT(aligned.count, found.size()) << "several layouts of one tile";

  const AlignedPrograms fewer = aligned_programs(space, expected.size());
  EXPECT_FALSE(fewer.every_layout);
  EXPECT_EQ(fewer.count, expected.size()) << "each tile and step in one layout";
  EXPECT_EQ(fewer.programs.size(), expected.size());
  for (const tile::StageProgram& p : fewer.programs) {
    EXPECT_TRUE(p.operands[0].cached && p.operands[1].cached);
    EXPECT_EQ(p.mapping[1].per_thread, 1);
  }

  const AlignedPrograms refused = aligned_programs(space, expected.size() - 1);
  EXPECT_TRUE(refused.programs.empty());
  EXPECT_EQ(refused.count, expected.size());
}

TEST(AlignedPrograms, EndOnTransactionsOrCoverEverything) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] +=! I[j,i]", "i=2049,j=64"), chip.spec);
  const AlignedPrograms aligned = aligned_programs(space, 100000);
  EXPECT_GT(aligned.count, 0U);
  for (const tile::StageProgram& p : aligned.programs)
    EXPECT_TRUE(p.block[0] >= 2049 || (p.block[0] % 8 == 0 && p.threads() % 32 == 0)) << p.block[0];
}

}  // namespace
}  // namespace tilescope::construct
