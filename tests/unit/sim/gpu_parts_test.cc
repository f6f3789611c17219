// SPDX-License-Identifier: Apache-2.0
// Parts of a simulated GPU, of a DRAM's controller and of a timeline, each by itself.

#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gpu/detail/block_rate.h"
#include "sim/gpu/detail/code_loops.h"
#include "sim/gpu/detail/due_cores.h"
#include "sim/memory/detail/dram_direction.h"
#include "sim/program_time.h"
#include "sim/timeline_rows.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::ElementsAre;

// Of 64 threads: 3 * block + i + (thread + i) / 4 % 5, by all lanes one by one and by its parts.
TEST(LaneForm, IsWhatItsPartsAddUpTo) {
  HandKernel k(2, 64);
  const int i = k.loop("i", 7), m = k.derived("m", affine({{1, 1}, {i, 1}}), 4, 5);
  const KernelIndices indices(k.kernel(), 32);
  const LaneForm f = indices.form(affine({{0, 3}, {i, 1}, {m, 1}}), 1);
  std::vector<int> of = {i};
  f.add_uniforms_to(of);
  EXPECT_THAT(of, testing::UnorderedElementsAre(0, i)) << "each once";
  const std::vector<int> mixed = indices.mixed_of(f);
  for (std::int64_t at = 0; at < 7; ++at)
    for (const std::int64_t warp : {0, 1}) {
      Uniforms u = indices.start(1);
      indices.set(u, i, at);
      MixedSplits splits(k.kernel().indices.size());
      indices.split(mixed, warp, u, splits);
      EXPECT_EQ(f.common(u, splits), f.uniform_part(u) + f.mixed_part(splits));
      const auto patterns = indices.lane_patterns(mixed, warp, splits);
      const expr::Span span = f.lane_span(warp, splits);
      for (std::int64_t lane = 0; lane < 32; ++lane) {
        const std::int64_t part = indices.lane_part(f, warp, lane, patterns);
        EXPECT_EQ(f.common(u, splits) + part, 3 + at + (warp * 32 + lane + at) / 4 % 5);
        EXPECT_LE(span.low, part);
        EXPECT_GE(span.high, part);
      }
    }
}

// By twos to 6, each time over two iterations of another one, which ends at 5 in block 1.
TEST(CodeLoops, GoOnToTheirEnds) {
  HandKernel k(2, 32);
  const int i = k.loop("i", 7);
  const KernelIndices indices(k.kernel(), 32);
  CodeLoops loops(indices);
  EXPECT_FALSE(loops.uneven());
  const int end = loops.add_end(indices.form(affine({{0, -1}}, 6), 1));
  const int own = static_cast<int>(k.kernel().indices.size());
  const int outer = loops.add({.slot = own, .own = true, .high = 6, .stride = 2, .inner = i});
  const int inner = loops.add({.slot = i, .high = 6, .from = own, .count = 2, .last = end});
  EXPECT_TRUE(loops.uneven());
  EXPECT_EQ(loops[outer].iterations(), 4);
  EXPECT_EQ(loops[outer].index(), i);
  const auto visited = [&](std::int64_t block) {
    Uniforms u = indices.start(block);
    u.push_back(0);
    std::vector<std::int64_t> out;
    for (bool more = loops.enter(loops[outer], u); more; more = loops.next(loops[outer], u))
      for (bool on = loops.enter(loops[inner], u); on; on = loops.next(loops[inner], u))
        out.push_back(u[static_cast<std::size_t>(i)]);
    return out;
  };
  EXPECT_THAT(visited(0), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(visited(1), ElementsAre(0, 1, 2, 3, 4, 5));
  Uniforms u = indices.start(0), other = indices.start(1);
  for (Uniforms* both : {&u, &other}) both->push_back(0);
  loops.jump(loops[outer], u, 3);
  EXPECT_EQ(u[static_cast<std::size_t>(i)], 6) << "it moves along";
  EXPECT_EQ(CodeLoops::done(loops[outer], u), 3);
  EXPECT_EQ(loops.remaining(loops[outer], u), 0);
  loops.move_to(u, other);
  EXPECT_EQ(CodeLoops::done(loops[outer], other), 3);
  EXPECT_EQ(other[0], 1) << "the block stays its own";
}

TEST(BlockRate, HandsOutABlockInSoManyCycles) {
  BlockRate at_once(0, 10_cycles), rate(2.5, 10_cycles);
  rate.begin(100_cycles);
  EXPECT_EQ(at_once.hand_out(7_cycles, 20_cycles), 7_cycles);
  EXPECT_EQ(rate.hand_out(100_cycles, 100_cycles), 100_cycles);
  EXPECT_EQ(rate.hand_out(100_cycles, 100_cycles), 103_cycles);
  EXPECT_EQ(rate.hand_out(100_cycles, 100_cycles), 105_cycles);
  EXPECT_EQ(rate.hand_out(200_cycles, 200_cycles), 200_cycles) << "once there is room";
  EXPECT_EQ(rate.hand_out(195_cycles, 200_cycles), 195_cycles) << "in any order within a turn";
}

TEST(DueCores, AreEachOnceInOrder) {
  DueCores due(4);
  for (const int c : {3, 1, 3}) due.add(c);
  EXPECT_THAT(due.all(), ElementsAre(3, 1));
  std::vector<int> out = {2};
  due.take(out);
  EXPECT_THAT(out, ElementsAre(1, 3));
  due.add(3);
  due.take(out);
  EXPECT_THAT(out, ElementsAre(3)) << "the next turn begins anew";
}

using Choice = DramDirection::Choice;

DramSpec spec_of_writes(std::int64_t high, std::int64_t low) {
  DramSpec s;
  s.queues = arch::RequestQueues::kReadWrite;
  s.queue_depth = 8;
  s.write_threshold = 2;
  s.write_high = high;
  s.write_low = low;
  return s;
}

TEST(DramDirection, DrainsWhatItHasOnceFullOrIdle) {
  const DramSpec spec = spec_of_writes(0, 0);
  const auto first = [&](const DramDirection::Waiting& w) { return DramDirection(spec).choose(w); };
  EXPECT_EQ(first({.reads = 1, .writes = 7, .held_writes = 7}), Choice::kStays);
  EXPECT_EQ(first({.reads = 1, .writes = 7, .held_writes = 8}), Choice::kDrains);
  EXPECT_EQ(first({.writes = 2, .held_writes = 2, .rests = true}), Choice::kStays) << "so many may wait";
  EXPECT_EQ(first({.writes = 3, .held_writes = 3, .rests = true}), Choice::kDrains);
  EXPECT_EQ(first({.writes = 1, .held_writes = 1, .rests = true, .idle = true}), Choice::kDrains);
  DramDirection d(spec);
  d.choose({.writes = 2, .held_writes = 8});
  EXPECT_TRUE(d.writes());
  EXPECT_FALSE(d.goes_on());
  EXPECT_EQ(d.choose({.writes = 5, .held_writes = 8}), Choice::kStays) << "those that came later wait";
  EXPECT_TRUE(d.goes_on());
  EXPECT_FALSE(d.writes());
}

TEST(DramDirection, TurnsAtItsWatermarks) {
  const DramSpec spec = spec_of_writes(6, 3);
  DramDirection d(spec);
  EXPECT_EQ(d.choose({.reads = 1, .writes = 5, .held_writes = 5}), Choice::kStays);
  EXPECT_EQ(d.choose({.reads = 1, .writes = 5, .held_writes = 6}), Choice::kTurns);
  EXPECT_TRUE(d.writes());
  EXPECT_EQ(d.choose({.reads = 1, .writes = 3, .held_writes = 4}), Choice::kStays);
  EXPECT_EQ(d.choose({.reads = 0, .writes = 1, .held_writes = 1}), Choice::kStays) << "no read waits";
  EXPECT_EQ(d.choose({.reads = 1, .writes = 2, .held_writes = 3}), Choice::kTurns);
  EXPECT_FALSE(d.writes());
  EXPECT_EQ(d.choose({.rests = true, .idle = true}), Choice::kStays) << "there are none";
  EXPECT_EQ(d.choose({.writes = 1, .held_writes = 1, .rests = true, .idle = true}), Choice::kTurns);
}

TEST(ProgramTime, HasTwoTimesAtAJump) {
  using enum ProgramTime::Side;
  ProgramTime t;
  t.begin(1000, 100_cycles);
  t.jump(150_cycles, 40_cycles);
  EXPECT_EQ(t.shown(120, kBehind), 1020);
  EXPECT_EQ(t.shown(150, kBefore), 1050);
  EXPECT_EQ(t.shown(150, kBehind), 1090);
  EXPECT_EQ(t.shown(160, kBefore), 1100);
  std::vector<std::pair<double, double>> parts;
  t.visit_parts(140, 160, [&](double from, double until) { parts.emplace_back(from, until); });
  EXPECT_THAT(parts, ElementsAre(std::pair(1040.0, 1050.0), std::pair(1090.0, 1100.0)));
  t.begin(2000, 200_cycles);
  EXPECT_EQ(t.shown(210, kBehind), 2010) << "another kernel's jumps are its own";
}

TEST(TimelineRows, MergeWhatMeetsUntilItIsClosed) {
  TimelineRows<int> rows;
  std::vector<std::tuple<int, std::string, double, double, std::int64_t>> seen;
  const auto take = [&](double until) {
    seen.clear();
    rows.take(until, [&](int row, const TimelineStretch& s) {
      seen.emplace_back(row, std::string(s.name), s.from, s.until, s.bytes);
    });
  };
  rows.add(1, {"a", 0, 4, 8});
  rows.add(1, {"a", 4, 6, 8});
  rows.add(1, {"b", 5, 5, 8});  // empty
  rows.add(2, {"a", 0, 9, 0});
  take(100);
  EXPECT_THAT(seen, ElementsAre()) << "they may still grow";
  rows.add(1, {"b", 6, 20, 0});
  rows.add(1, {"b", 21, 22, 0});
  take(10);
  EXPECT_THAT(seen, ElementsAre(std::tuple(1, "a", 0.0, 6.0, 16)));
  rows.close(2, 3);
  take(10);
  EXPECT_THAT(seen, ElementsAre(std::tuple(2, "a", 0.0, 9.0, 0)));
  rows.close_all();
  take(100);
  EXPECT_THAT(seen, ElementsAre(std::tuple(1, "b", 6.0, 20.0, 0), std::tuple(1, "b", 21.0, 22.0, 0)));
}

}  // namespace
}  // namespace tilescope::sim
