// SPDX-License-Identifier: Apache-2.0
// Tiles next to a program's are programs that could have been grown, and a search ends where none of them is faster.

#include "construct/detail/neighbouring_tiles.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "construct/candidate_pools.h"
#include "construct/detail/candidate_pool.h"
#include "construct/roller.h"
#include "construct/search_statistics.h"
#include "model/simt/registers.h"
#include "tests/support/random_program.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/align.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

using tests::text_of;

const tests::ChipWithCostModel& any_chip() {
  static const tests::ChipWithCostModel kV100("v100"), kA100("a100"), kH200("h200"), kMi50("mi50"),
      kOne("tilescope_one");
  return *tests::any_element<const tests::ChipWithCostModel*>({&kV100, &kA100, &kH200, &kMi50, &kOne});
}

// An operator, at times a product of a dtype that matrix instructions multiply.
expr::Expression any_stage() {
  if (tests::any_of_range(0, 2) > 0) return tests::any_operator(300);
  const auto extent = [] { return std::to_string(16 * tests::any_of_range(1, 40)); };
  return tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=" + extent() + ",n=" + extent() + ",k=" + extent(), {},
                           base::Dtype::kF16);
}

// Axes that one program's tiles cut otherwise than another's.
std::size_t moved_axes(const tile::StageProgram& p, const tile::StageProgram& q) {
  std::size_t n = 0;
  for (std::size_t a = 0; a < p.space->spatial; ++a) n += p.mapping[a] == q.mapping[a] ? 0 : 1;
  return n;
}

// Whether an axis has half, the same, or twice.
bool is_near(std::int64_t n, std::int64_t of) { return n == of || 2 * n == of || n == 2 * of; }

std::int64_t results_of(const tile::StageProgram& p) {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a) n *= p.block[a];
  return n;
}

// All moves of a product's tile, by hand: register tiles of 4 x 4 in blocks of 32 x 64, 8 x 16 threads, steps of 8.
TEST(NeighbouringTiles, OfAProduct) {
  using ProductTile =
      std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // block m, n; register tile m, n
  const auto space =
      tile::make_space(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024"), {{0}, {1}, {2}});
  const tile::StageProgram p = tile::make_stage_program(space, {{4, 8, 1}, {4, 16, 1}}, {32, 64, 8}, {16});
  const std::set<ProductTile> same_size = {
      {32, 64, 8, 4},  {32, 64, 2, 4}, {32, 64, 4, 8}, {32, 64, 4, 2},  // other threads
      {32, 64, 2, 8},  {32, 64, 8, 2},                                  // register tiles from one axis to the other
      {16, 128, 4, 4}, {64, 32, 4, 4}};                                 // threads from one axis to the other
  const std::set<ProductTile> smaller = {{16, 64, 4, 4}, {16, 64, 8, 4}, {16, 64, 2, 4},
                                         {32, 32, 4, 4}, {32, 32, 4, 8}, {32, 32, 4, 2}};
  const std::set<ProductTile> larger = {{64, 64, 4, 4},  {64, 64, 8, 4},  {64, 64, 2, 4},
                                        {32, 128, 4, 4}, {32, 128, 4, 8}, {32, 128, 4, 2}};
  using Program = std::tuple<ProductTile, std::int64_t, std::int64_t>;  // step; parts
  std::set<Program> expected;
  const auto expect_programs = [&](std::int64_t split) {
    expected.clear();
    for (const ProductTile& t : same_size) expected.insert({t, 8, split});
    for (const ProductTile& t : smaller) expected.insert({t, 8, split});
    for (const ProductTile& t : larger) expected.insert({t, 8, split});
    for (const ProductTile& t : larger) expected.insert({t, 4, split});
    for (const ProductTile& t : larger) expected.insert({t, 8, 2 * split});
    if (split > 1)
      for (const ProductTile& t : smaller) expected.insert({t, 8, split / 2});
    tile::StageProgram of = p;
    of.split[2] = split;
    std::vector<tile::StageProgram> out;
    neighbouring_tiles(of, {tests::v100()}, out);
    std::set<Program> found;
    for (const tile::StageProgram& q : out)
      EXPECT_TRUE(found.insert({{q.block[0], q.block[1], q.thread[0], q.thread[1]}, q.block[2], q.split[2]}).second)
          << "twice: " << text_of(q, tests::v100());
    EXPECT_EQ(found, expected) << split << " parts";
  };
  expect_programs(1);
  expect_programs(4);
}

RC_GTEST_PROP(NeighbouringTiles, AreOneMoveAway, ()) {
  const tests::ChipWithCostModel& chip = any_chip();
  const expr::Expression e = any_stage();
  const std::vector<Ranked> found = roller(e, chip.spec, 5);
  RC_PRE(!found.empty());
  const tile::StageProgram& p =
      found[static_cast<std::size_t>(tests::any_of_range(0, static_cast<std::int64_t>(found.size()) - 1))].program;
  RC_LOG() << chip.spec.name << ": " << text_of(p, chip.spec) << '\n';
  std::vector<tile::StageProgram> out;
  neighbouring_tiles(p, {chip.spec}, out);
  if (p.sharers() > 1) RC_ASSERT(out.empty());
  for (const tile::StageProgram& q : out) {
    RC_LOG() << text_of(q, chip.spec) << '\n';
    RC_ASSERT(q.space == p.space);
    RC_ASSERT(tile::name_of(q.micro_kernel) == tile::name_of(p.micro_kernel));
    RC_ASSERT(moved_axes(p, q) == 1U || moved_axes(p, q) == 2U);
    bool everything = true;
    for (std::size_t a = 0; a < p.space->spatial; ++a) {
      everything = everything && q.block[a] >= p.space->axes[a].extent;
      RC_ASSERT(q.block[a] == q.mapping[a].block_extent());
      RC_ASSERT(q.thread[a] == q.mapping[a].thread_extent());
      RC_ASSERT(is_near(q.thread[a], p.thread[a]));
      RC_ASSERT(tile::fills_transactions(*q.space, a, q.block[a], arch::device_transaction_of(chip.spec)));
    }
    RC_ASSERT(everything || q.threads() % chip.spec.core.warp == 0);
    RC_ASSERT(q.threads() <= chip.spec.core.max_block_threads);
    // What a block computes in a step, and how many blocks there are, changes with its size alone.
    if (results_of(p) == results_of(q)) {
      RC_ASSERT(q.split == p.split);
      for (std::size_t a = p.space->spatial; a < p.block.size(); ++a) RC_ASSERT(q.block[a] == p.block[a]);
    }
    for (std::size_t a = p.space->spatial; a < p.block.size(); ++a) {
      RC_ASSERT(q.block[a] == p.block[a] || 2 * q.block[a] == p.block[a]);
      RC_ASSERT(is_near(q.split[a], p.split[a]));
    }
    // A reader takes it as it is.
    base::Diagnostics diags;
    tile::StageProgram stated = q;
    stated.registers = arch::registers_of(chip.spec)->per_thread.value_or(128);
    if (tile::fits(stated, chip.spec)) {
      const auto again =
          tile::read_program(tile::to_document(tile::program_of(chip.spec.name, stated), chip.spec), chip.spec, diags);
      RC_ASSERT(again.has_value());
      RC_ASSERT(text_of(again->simt().front(), chip.spec) == text_of(stated, chip.spec));
    }
  }
}

bool same_tiles(const tile::StageProgram& p, const tile::StageProgram& q) {
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (p.block[a] != q.block[a] || p.thread[a] != q.thread[a]) return false;
  return true;
}

// A move from one axis to another can be taken back.
RC_GTEST_PROP(NeighbouringTiles, AreNeighboursOfEachOther, ()) {
  const tests::ChipWithCostModel& chip = any_chip();
  const std::vector<Ranked> found = roller(any_stage(), chip.spec, 1);
  RC_PRE(!found.empty());
  const tile::StageProgram& p = found.front().program;
  std::vector<tile::StageProgram> out, back;
  neighbouring_tiles(p, {chip.spec}, out);
  for (const tile::StageProgram& q : out) {
    if (moved_axes(p, q) != 2U) continue;
    back.clear();
    neighbouring_tiles(q, {chip.spec}, back);
    RC_LOG() << text_of(p, chip.spec) << '\n' << text_of(q, chip.spec) << '\n';
    RC_ASSERT(std::any_of(back.begin(), back.end(), [&](const auto& r) { return same_tiles(p, r); }));
  }
}

// The first program's time is less than that of every program beside it, by tiles and by layouts, or a bound says that
// these gain no more than the gap. Each is judged by the whole model, with registers as a search states them.
RC_GTEST_PROP(Search, EndsWhereNothingBesideTheFirstIsFaster, ()) {
  const tests::ChipWithCostModel& chip = any_chip();
  const expr::Expression e = any_stage();
  CandidatePools pools(std::size_t{1} << 30);
  const std::vector<Ranked> found = roller(e, chip.spec, 10, {}, &pools);
  RC_PRE(!found.empty());
  CandidatePool& pool = pools.of(e, chip.spec, {});
  const auto time_of = [&](CandidatePool::Id id) {
    const Candidate& c = pool[id];
    if (c.threads > chip.spec.core.max_block_threads ||
        c.scratchpad > arch::scratchpad_per_block(*arch::scratchpad_of(chip.spec)))
      return std::numeric_limits<double>::infinity();
    const model::Counts& counts = pool.candidates().counts(id);
    const std::optional<std::int64_t> registers =
        stated_registers(c, counts, model::held_registers(counts, chip.machine), chip.spec);
    if (!registers) return std::numeric_limits<double>::infinity();
    tile::StageProgram p = c.program;
    p.registers = *registers;
    return chip.time_of(p);
  };
  const auto first = [&] {
    for (CandidatePool::Id id = 0; id < pool.candidates().size(); ++id) {
      tile::StageProgram p = pool[id].program;
      p.registers = found.front().program.registers;
      if (p == found.front().program) return id;
    }
    throw std::logic_error("the first program is a candidate");
  }();
  RC_LOG() << chip.spec.name << ": " << text_of(found.front().program, chip.spec) << '\n';
  const double us = time_of(first);
  RC_ASSERT(us == found.front().time.v);
  std::vector<CandidatePool::Id> beside(pool.neighbouring(first).begin(), pool.neighbouring(first).end());
  for (const LayoutKnob knob : layout_knobs())
    for (const CandidatePool::Id id : pool.others(first, knob, chip.spec.core.count)) beside.push_back(id);
  for (const CandidatePool::Id id : beside) {
    const double other = time_of(id);
    if (other < us * (1 - kSearchGap))
      RC_LOG() << other << " for " << us << ": " << text_of(pool[id].program, chip.spec);
    RC_ASSERT(other >= us * (1 - kSearchGap));
  }
}

}  // namespace
}  // namespace tilescope::construct
