// SPDX-License-Identifier: Apache-2.0
// Chips that a search sees alike have the same programs: every number of a chip is changed in turn, and the operators
// are searched for all the same.

#include "construct/search_inputs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "arch/load.h"
#include "arch/numbers.h"
#include "construct/candidate_pools.h"
#include "construct/roller.h"
#include "tests/support/build.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

using Found = std::vector<std::pair<std::string, double>>;

Found found_on(const arch::ArchSpec& a, const expr::Expression& e, CandidatePools& pools) {
  Found out;
  for (const Ranked& r : roller(e, a, 10, {}, &pools))
    out.emplace_back(base::to_json(tile::to_document(tile::program_of(a.name, r.program), a)), r.time.v);
  return out;
}

class EachChip : public testing::TestWithParam<const char*> {};

TEST_P(EachChip, FindsTheSameWhereItIsSeenAlike) {
  const arch::ArchSpec a = tests::chip(GetParam());
  const SearchInputs seen(a);
  const std::vector<expr::Expression> operators = {
      tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=48,k=64", {}, base::Dtype::kF16),
      tests::expression("O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=1,f=8,y=7,x=7,c=8,r=3,s=3"),
      tests::expression("O[i,j] = exp(I[j,i])", "i=60,j=100")};
  CandidatePools pools(std::size_t{1} << 30);
  std::vector<Found> here;
  for (const expr::Expression& e : operators) here.push_back(found_on(a, e, pools));
  std::size_t alike = 0, others = 0;
  for (const arch::Number& n : arch::numbers_of(a))
    for (const double to : {2 * n.value, std::floor(n.value / 2)}) {
      base::Diagnostics diags;
      const auto changed = arch::load_arch(GetParam(), {arch::set_to(n, to)}, diags);
      if (!changed) continue;
      for (std::size_t op = 0; op < operators.size(); ++op) {
        const expr::Expression& e = operators[op];
        if (!seen.has_programs_of(SearchInputs(*changed), e.dtype, e.accumulate)) {
          ++others;
          continue;
        }
        ++alike;
        EXPECT_EQ(found_on(*changed, e, pools), here[op]) << n.path << " is " << to << ", operator " << op;
      }
      break;  // of doubled and halved the first that the loader takes
    }
  EXPECT_GT(alike, 30u) << "what only the simulator reads";
  EXPECT_GT(others, 100u);
}

INSTANTIATE_TEST_SUITE_P(SearchInputs, EachChip, testing::Values("v100", "h200", "mi50", "tilescope_one"));

bool is_seen_alike(const std::vector<arch::Override>& changes, base::Dtype dtype = base::Dtype::kF32) {
  return SearchInputs(tests::v100())
      .has_programs_of(SearchInputs(tests::chip("v100", changes)), dtype, base::Dtype::kF32);
}

TEST(SearchInputs, LeavesOutWhatTheSimulatorAloneReads) {
  EXPECT_TRUE(is_seen_alike({}));
  EXPECT_TRUE(is_seen_alike({{"memory.dram.write_threshold", "16"}}));
  EXPECT_TRUE(is_seen_alike({{"memory.dram.write_backlog", "128"}}));
}

TEST(SearchInputs, HasWhatTheModelAndTheRankOfTilesRead) {
  for (const arch::Override& change : std::vector<arch::Override>{{"core.count", "81"},
                                                                  {"clock", "1.4 GHz"},
                                                                  {"core.max_threads", "1024"},
                                                                  {"memory.dram.latency", "500 cycles"},
                                                                  {"memory.l1.mshrs", "8"},
                                                                  {"memory.dram.queue_depth", "16"},
                                                                  {"memory.l2.capacity", "3 MiB"},
                                                                  {"memory.smem.banks", "16"},
                                                                  {"calibration.dram.read.ratio", "0.5"}})
    EXPECT_FALSE(is_seen_alike({change})) << change.path;
}

TEST(SearchInputs, HasTheInstructionsOfTheDtypesAlone) {
  const std::vector<arch::Override> slower = {{"compute.mma.f16.per_core", "256"}};
  EXPECT_TRUE(is_seen_alike(slower));
  EXPECT_FALSE(is_seen_alike(slower, base::Dtype::kF16));
}

}  // namespace
}  // namespace tilescope::construct
