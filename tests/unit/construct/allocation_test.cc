// SPDX-License-Identifier: Apache-2.0
// A construction allocates for the tiles that it grows and for what it keeps, not for each program that it judges.

#include <gtest/gtest.h>

#include "construct/candidate_pools.h"
#include "construct/roller.h"
#include "tests/support/build.h"
#include "tests/support/count_allocations.h"

namespace tilescope::construct {
namespace {

struct Searched {
  long allocations = 0;
  SearchStatistics statistics;
};

Searched searched(const expr::Expression& e, const arch::ArchSpec& chip, CandidatePools& pools) {
  Searched s;
  const long before = tests::allocations;
  roller(e, chip, 10, {}, &pools, &s.statistics);
  s.allocations = tests::allocations - before;
  return s;
}

TEST(Allocations, OfAConstructionAreFewerThanTheProgramsThatItJudges) {
  const expr::Expression conv =
      tests::expression("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=14,x=14,c=64,r=3,s=3");
  const expr::Expression matmul = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512");
  for (const expr::Expression* e : {&conv, &matmul})
    for (const char* name : {"v100", "h200"}) {
      const arch::ArchSpec chip = tests::chip(name);
      CandidatePools pools(0);
      const Searched first = searched(*e, chip, pools), again = searched(*e, chip, pools);
      EXPECT_GT(first.statistics.programs, 500U);
      EXPECT_EQ(again.statistics.programs, first.statistics.programs);
      const auto programs = static_cast<long>(first.statistics.programs);
      EXPECT_LT(first.allocations, programs) << e->stages.front().text << " on " << name;
      EXPECT_LT(again.allocations, programs / 2) << "where every program is known";
    }
}

}  // namespace
}  // namespace tilescope::construct
