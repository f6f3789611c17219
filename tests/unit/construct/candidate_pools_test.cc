// SPDX-License-Identifier: Apache-2.0
// What chips share of a search, and what bounds leave out, change no result.

#include "construct/candidate_pools.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "construct/aligned_programs.h"
#include "construct/detail/batched_times.h"
#include "construct/detail/candidate_pool.h"
#include "construct/roller.h"
#include "construct/search_space.h"
#include "tests/support/random_chip.h"
#include "tests/support/random_program.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 30;
const char* const kChips[] = {"v100", "a100", "h200", "mi50", "tilescope_one"};

std::vector<std::pair<std::string, double>> texts_of(const std::vector<Ranked>& found, const arch::ArchSpec& a) {
  std::vector<std::pair<std::string, double>> out;
  for (const Ranked& r : found)
    out.emplace_back(base::to_json(tile::to_document(tile::program_of(a.name, r.program), a)), r.time.v);
  return out;
}

// Chips that come one after the other find what each finds alone, to the last bit.
RC_GTEST_PROP(Pool, ChangesNoResult, ()) {
  const std::string name = tests::any_element<std::string>({std::begin(kChips), std::end(kChips)});
  const expr::Expression e = tests::any_operator(96);
  CandidatePools pools(tests::any_of_range(0, 1) == 0 ? kPlenty : 1);
  for (int chip = 0; chip < 2; ++chip) {
    const arch::ArchSpec a = tests::any_neighbour(name);
    RC_ASSERT(texts_of(roller(e, a, 10, {}, &pools), a) == texts_of(roller(e, a, 10), a));
  }
}

// Nor do chips that are expected, whichever of them are searched for, in whatever order.
RC_GTEST_PROP(Pool, OfExpectedChipsChangesNoResult, ()) {
  const std::string name = tests::any_element<std::string>({std::begin(kChips), std::end(kChips)});
  const expr::Expression e = tests::any_operator(96);
  std::deque<arch::ArchSpec> chips;
  std::vector<const arch::ArchSpec*> expected;
  const arch::ArchSpec neutral = geometry_key(tests::chip(name));
  for (const char* cores : {"7", "60"})
    expected.push_back(&chips.emplace_back(tests::chip(name, {{"core.count", cores}})));
  for (int chip = 0; chip < 3; ++chip)
    if (const arch::ArchSpec& a = chips.emplace_back(tests::any_neighbour(name)); geometry_key(a) == neutral)
      expected.push_back(&a);
  CandidatePools pools(kPlenty);
  pools.expect(expected);
  RC_ASSERT(pools.of(e, chips.front(), {}).expected() != nullptr);
  RC_ASSERT(pools.of(e, chips.front(), {}).expected()->place_of(chips.front()) == 0U);
  for (int search = 0; search < 4; ++search) {
    // What is found for a chip is of no use for another one that has come to its place.
    if (search == 3) {
      pools.expect({});
      chips.front() = tests::chip(name, {{"core.count", "11"}});
      if (tests::any_of_range(0, 1) == 0) pools.expect(expected);
    }
    const arch::ArchSpec& a = chips[search == 3 ? 0 : static_cast<std::size_t>(tests::any_of_range(0, 4))];
    const auto keep = static_cast<std::size_t>(tests::any_of_range(1, 100));
    RC_ASSERT(texts_of(roller(e, a, keep, {}, &pools), a) == texts_of(roller(e, a, keep), a));
  }
}

// What a bound leaves out is slower than each of the first ten that are kept programs, or faster by no more than the
// gap at which search ends: a search that judges every candidate finds nothing that is faster by more.
void expect_within_gap(const std::vector<Ranked>& found, const std::vector<Ranked>& of_all, const std::string& where) {
  ASSERT_EQ(found.size(), of_all.size()) << where;
  for (std::size_t r = 0; r < found.size(); ++r)
    EXPECT_LE(found[r].time.v * (1 - kSearchGap), of_all[r].time.v) << where << ", program " << r;
}

RC_GTEST_PROP(Bounds, LeaveOutNothingThatIsKept, ()) {
  const tests::ChipWithCostModel chip(tests::any_element<std::string>({std::begin(kChips), std::end(kChips)}));
  const expr::Expression e = tests::any_operator(200);
  const auto keep = static_cast<std::size_t>(tests::any_of_range(1, 10));
  expect_within_gap(roller(e, chip.spec, keep), roller(e, chip.spec, chip.cost_model(), keep), chip.spec.name);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Bounds, LeaveOutNothingThatIsKeptOfASuite) {
  const tests::ChipWithCostModel chip("v100");
  for (const tests::NamedStage& s : tests::stages_of_suite("examples"))
    expect_within_gap(roller(s.expression, chip.spec, 10), roller(s.expression, chip.spec, chip.cost_model(), 10),
                      s.id);
}

// The first ten programs are the same however many are kept.
RC_GTEST_PROP(Bounds, DependOnNoNumberThatIsKept, ()) {
  const arch::ArchSpec a =
      tests::any_neighbour(tests::any_element<std::string>({std::begin(kChips), std::end(kChips)}));
  const expr::Expression e = tests::any_operator(200);
  const auto firsts = [&](std::size_t keep) {
    std::vector<Ranked> found = roller(e, a, keep);
    found.resize(std::min<std::size_t>(found.size(), 10));
    return found;
  };
  const auto keep = static_cast<std::size_t>(tests::any_of_range(1, 200));
  std::vector<Ranked> ten = firsts(10);
  ten.resize(std::min(ten.size(), keep));
  RC_ASSERT(texts_of(firsts(keep), a) == texts_of(ten, a));
}

// No aligned program is below what a search says that none can be.
TEST(Bounds, ProveAGap) {
  const tests::ChipWithCostModel chip("v100");
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=32,k=16");
  SearchStatistics statistics;
  const std::vector<Ranked> found = roller(e, chip.spec, 1, {}, nullptr, &statistics);
  ASSERT_TRUE(statistics.ends);
  EXPECT_EQ(statistics.ends->best_us, found.front().time.v);
  EXPECT_LE(statistics.programs, statistics.cache_misses + statistics.cache_hits);
  const AlignedPrograms all = aligned_programs(SearchSpace(e, chip.spec), 100'000);
  ASSERT_GT(all.programs.size(), 100U);
  for (const tile::StageProgram& p : all.programs)
    EXPECT_GE(chip.cost_model()(tile::program_of(chip.spec.name, p)).v * (1 + 1e-9), statistics.ends->least_us);
}

TEST(Bounds, SayNothingWhereNothingIsFound) {
  const arch::ArchSpec chip = tests::chip("v100", {{"memory.dram.capacity", "1 MiB"}});
  SearchStatistics statistics;
  EXPECT_TRUE(roller(tests::expression("O[i] = I[i]", "i=16777216"), chip, 1, {}, nullptr, &statistics).empty());
  EXPECT_FALSE(statistics.ends);
}

// Chips that differ in rates, capacities and numbers of cores share a pool; those with other banks do not. Each
// makes less than half as many programs anew as the first made.
TEST(Pool, IsOfChipsOfOneGeometry) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
  CandidatePools pools(kPlenty);
  const arch::ArchSpec v100 = tests::chip("v100");
  roller(e, v100, 10, {}, &pools);
  CandidatePool& first = pools.of(e, v100, {});
  const std::size_t made = first.candidates().size();
  for (const std::vector<arch::Override>& changes :
       std::vector<std::vector<arch::Override>>{{{"core.count", "64"}},
                                                {{"clock", "1.5 GHz"}},
                                                {{"memory.l2.capacity", "12 MiB"}, {"memory.dram.channels", "48"}},
                                                {{"memory.l2.latency", "300 cycles"}, {"launch_overhead", "3 us"}},
                                                {{"compute.fma.f32.per_core", "128"}},
                                                {{"memory.smem.latency", "40 cycles"}, {"link.width", "128 B"}}}) {
    const arch::ArchSpec other = tests::chip("v100", changes);
    roller(e, other, 10, {}, &pools);
    EXPECT_EQ(&pools.of(e, other, {}), &first) << changes.front().path;
  }
  EXPECT_LT(first.candidates().size(), 4 * made) << "of seven chips";
  EXPECT_NE(&pools.of(e, tests::chip("v100", {{"memory.smem.banks", "16"}}), {}), &first);
  EXPECT_NE(&pools.of(e, v100, {.pads = false}), &first);
}

// The neutral chip has the counts of the chip.
TEST(Pool, NeutralRatesLeaveTheGeometry) {
  for (const char* name : kChips)
    EXPECT_TRUE(model::make_geometry(geometry_key(tests::chip(name))) == model::make_geometry(tests::chip(name)))
        << name;
}

// The least recently used ones go where there is no room.
TEST(Pool, ForgetsWhatHasNoRoom) {
  CandidatePools pools(1);
  const arch::ArchSpec v100 = tests::chip("v100");
  for (int size : {64, 128, 64})
    roller(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", fmt::format("m={0},n={0},k={0}", size)), v100, 1, {},
           &pools);
  EXPECT_EQ(pools.made(), 3U);
}

// What chips of one geometry share goes, and nothing else.
TEST(Pool, IsLetGoOf) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=64");
  const arch::ArchSpec v100 = tests::chip("v100"), other = tests::chip("v100", {{"memory.smem.banks", "16"}});
  CandidatePools pools(kPlenty);
  pools.of(e, v100, {});
  pools.of(e, other, {});
  pools.of(e, v100, {.pads = false});
  pools.drop(tests::chip("v100", {{"core.count", "40"}}));
  pools.of(e, other, {});
  EXPECT_EQ(pools.made(), 3U);
  pools.of(e, v100, {});
  pools.of(e, v100, {.pads = false});
  EXPECT_EQ(pools.made(), 5U);
}

}  // namespace
}  // namespace tilescope::construct
