// SPDX-License-Identifier: Apache-2.0
// What a timeline shows is what the report counts, and events nest or follow one another.

#include "sim/timeline.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using enum Track::Kind;

struct Kept : TimelineSink {
  std::map<Track, std::vector<TimelineEvent>> tracks;  // in the order of time, those that hold others first
  std::vector<TimelineSample> samples;
  std::vector<TimelineEvent> in_order;
  std::optional<double> full_at;
  SimReport report;

  void event(const TimelineEvent& e) override { in_order.push_back(e); }
  void sample(const TimelineSample& s) override { samples.push_back(s); }

  std::vector<TimelineEvent> all(Track::Kind kind) const {
    std::vector<TimelineEvent> out;
    for (const auto& [track, events] : tracks)
      if (track.kind == kind) out.insert(out.end(), events.begin(), events.end());
    return out;
  }
};

std::vector<int> all_cores(const arch::ArchSpec& chip) {
  std::vector<int> cores(static_cast<std::size_t>(chip.core.count));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

Kept recorded(const lower::Module& m, const arch::ArchSpec& chip, TimelineOptions options, Mode mode = Mode::kFull) {
  Kept kept;
  Timeline timeline(std::move(options), kept);
  kept.report = simulate(m, chip, {.mode = mode, .timeline = &timeline});
  kept.full_at = timeline.full_at();
  for (const TimelineEvent& e : kept.in_order) kept.tracks[e.track].push_back(e);
  for (auto& [track, events] : kept.tracks)
    std::stable_sort(events.begin(), events.end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) { return a.from < b.from; });
  return kept;
}

Kept recorded(const lower::Module& m, const arch::ArchSpec& chip, Mode mode = Mode::kFull) {
  return recorded(m, chip, {.cores = all_cores(chip)}, mode);
}

double length(const TimelineEvent& e) { return e.until - e.from; }

// Every event ends before the next begins, or holds it whole.
void expect_nested(const Kept& kept) {
  for (const auto& [track, events] : kept.tracks) {
    std::vector<double> ends;
    for (const TimelineEvent& e : events) {
      ASSERT_LT(e.from, e.until) << e.name;
      while (!ends.empty() && ends.back() <= e.from) ends.pop_back();
      if (!ends.empty()) {
        ASSERT_LE(e.until, ends.back()) << e.name << " of kind " << static_cast<int>(track.kind);
      }
      ends.push_back(e.until);
    }
  }
}

// The report shares a kernel's running cycles out as warp-cycles stand; here, as the timeline's do.
void expect_stalls(const Kept& kept, std::int64_t warps_of_a_block) {
  ASSERT_EQ(kept.report.kernels.size(), 1u);
  const KernelReport& k = kept.report.kernels[0];
  std::map<std::string, double> weights;
  double busy = 0;
  for (const TimelineEvent& e : kept.all(kWarp)) {
    weights[e.name] += length(e);
    busy += length(e);
  }
  const std::vector<TimelineEvent> kernels = kept.all(kKernels);  // the whole, then its launch
  ASSERT_EQ(kernels.size(), 2u);
  const double running = length(kernels[0]) - length(kernels[1]);
  const std::int64_t resident = std::min<std::int64_t>(k.blocks_per_core * v100().core.count, k.blocks);
  const double warps = static_cast<double>(resident * warps_of_a_block);
  weights["tail"] = warps * running - busy;
  double seen = 0;
  std::int64_t given = 0;
  for (const auto& [stall, cycles] : k.stalls) {
    if (stall == "launch") {
      EXPECT_EQ(static_cast<double>(cycles), length(kernels[1]));
      continue;
    }
    seen += weights[stall];
    const auto until = static_cast<std::int64_t>(running * (seen / (warps * running)) + 0.5);
    EXPECT_EQ(cycles, until - given) << stall;
    given = until;
  }
}

// Bytes of a channel's events, by the first letters of their names.
std::int64_t bytes(const Kept& kept, const std::string& begin) {
  std::int64_t sum = 0;
  for (const TimelineEvent& e : kept.all(kChannel)) sum += e.name.starts_with(begin) ? e.bytes : 0;
  return sum;
}

void expect_dram(const Kept& kept) {
  const LevelStatistics& dram = level(kept.report, "dram");
  EXPECT_EQ(bytes(kept, "read"), dram.read_bytes);
  EXPECT_EQ(bytes(kept, "write"), dram.written_bytes);
  const std::int64_t all = dram.read_bytes + dram.written_bytes;
  if (all > 0) {
    EXPECT_EQ((bytes(kept, "read hit") + bytes(kept, "write hit")) / (all / dram.transactions), dram.hits);
  }
  // The counters hold the same bytes, each value as long as it lasts.
  for (const auto& [counter, whole] :
       {std::pair{Counter::kDramRead, dram.read_bytes}, {Counter::kDramWritten, dram.written_bytes}}) {
    double sum = 0, at = 0, value = 0;
    for (const TimelineSample& s : kept.samples) {
      if (s.counter != counter) continue;
      sum += value * (s.at - at);
      at = s.at;
      value = s.value;
    }
    EXPECT_DOUBLE_EQ(sum, static_cast<double>(whole));
    EXPECT_EQ(value, 0);
  }
}

struct Small {
  const char* name;
  lower::Module module;
  std::int64_t warps;  // of a block
};

std::vector<Small> small_kernels() {
  return {{"product", tiled_product(200, 200, 12), 8},
          {"padded product of many blocks", tiled_product(700, 500, 3, 1), 8},
          {"copy", stream(1000, 256, 2, Stream::kCopy), 8},
          {"writes", stream(700, 128, 4, Stream::kWrite), 4},
          {"chase", chase(64, 1024, 3), 1},
          {"arithmetic", arithmetic(400, 256, 800), 8},
          {"ring of boxes", ring(700, 6, 3), 5}};
}

TEST(Timeline, ShowsWhatTheReportCounts) {
  for (const Small& k : small_kernels()) {
    SCOPED_TRACE(k.name);
    const Kept kept = recorded(k.module, copying_v100());
    expect_nested(kept);
    expect_stalls(kept, k.warps);
    expect_dram(kept);
  }
}

TEST(Timeline, ChangesNothing) {
  for (const Mode mode : {Mode::kFull, Mode::kSampled})
    for (const Small& k : small_kernels()) {
      const SimReport without = simulated(k.module, copying_v100(), mode),
                      with = recorded(k.module, copying_v100(), mode).report;
      EXPECT_EQ(without.cycles, with.cycles) << k.name;
      EXPECT_EQ(without.stalls, with.stalls) << k.name;
      for (std::size_t l = 0; l < with.levels.size(); ++l)
        EXPECT_EQ(without.levels[l].amounts, with.levels[l].amounts) << k.name;
    }
}

// From the beginning of its block to its own end, without a gap; the block ends with its last warp.
TEST(Timeline, AWarpIsDoingSomethingAllItsLife) {
  for (const Small& k : small_kernels()) {
    SCOPED_TRACE(k.name);
    const Kept kept = recorded(k.module, copying_v100());
    std::int64_t blocks = 0;
    for (const auto& [track, events] : kept.tracks) {
      if (track.kind != kBlocks) continue;
      for (std::size_t b = 0; b < events.size(); ++b) {
        if (!events[b].name.starts_with("block")) continue;
        ++blocks;
        double last = events[b].from;
        for (int w = 0; w < k.warps; ++w) {
          double at = events[b].from;
          for (const TimelineEvent& e : kept.tracks.at({kWarp, track.unit, track.slot, w})) {
            if (e.from < events[b].from || e.from >= events[b].until) continue;
            ASSERT_EQ(e.from, at);
            at = e.until;
          }
          last = std::max(last, at);
        }
        EXPECT_EQ(last, events[b].until);
      }
    }
    EXPECT_EQ(blocks, kept.report.kernels[0].blocks);
  }
}

// Each port moves what its level counts, at its rate.
TEST(Timeline, PortsAreBusyForWhatTheyMove) {
  const auto busy = [](const Kept& kept, Track::Kind kind) {
    double sum = 0;
    for (const TimelineEvent& e : kept.all(kind)) sum += length(e);
    return sum;
  };
  const Kept copy = recorded(stream(1000, 256, 2, Stream::kCopy), v100());
  const LevelStatistics& l2 = level(copy.report, "l2");
  const auto moved = static_cast<double>(l2.read_bytes + l2.written_bytes);
  const arch::CacheLevel& cache = *arch::device_cache_of(v100());
  const auto beside = static_cast<double>(l2.requests * cache.request.n);
  EXPECT_NEAR(busy(copy, kSlice), (moved + beside) / static_cast<double>(cache.width.n), 1);
  const auto link = static_cast<double>(v100().link->width.n);
  EXPECT_DOUBLE_EQ(busy(copy, kLinkIn), static_cast<double>(l2.read_bytes) / link);
  const Kept sums = recorded(arithmetic(400, 256, 800), v100());
  double products = 0;
  for (const TimelineEvent& e : sums.all(kPipe))
    if (e.name == "fp32") products += length(e);
  EXPECT_DOUBLE_EQ(products, 400.0 * 8 * 800 * 2) << "32 lanes on 16 of a partition";
  EXPECT_GT(busy(sums, kPartition), 400.0 * 8 * 800) << "a slot each, and those of the loop";
}

// A rank rests for its time, once in every interval; nothing of it is on the bus meanwhile.
TEST(Timeline, ShowsRefreshes) {
  const arch::ArchSpec chip =
      tests::chip("v100", {{"memory.dram.timing.refi", "3420 cycles"}, {"memory.dram.timing.rfc", "300 cycles"}});
  const Kept kept = recorded(stream(2000, 256, 2, Stream::kCopy), chip);
  expect_nested(kept);
  expect_dram(kept);
  const double per_clock = static_cast<double>(chip.clock.n) / static_cast<double>(arch::dram_of(chip)->clock.n);
  ASSERT_GE(kept.all(kRefresh).size(), 64u * 4);
  for (const TimelineEvent& refresh : kept.all(kRefresh)) {
    EXPECT_NEAR(length(refresh), 300 * per_clock, 1e-6);
    for (const TimelineEvent& e : kept.tracks.at({kChannel, refresh.track.unit}))
      EXPECT_TRUE(e.until <= refresh.from + 20 * per_clock || e.from >= refresh.until) << e.from << ' ' << refresh.from;
  }
}

TEST(Timeline, KernelsFollowEachOther) {
  lower::Module m = tiled_product(128, 128, 4);
  m.kernels.push_back(m.kernels.front());
  const Kept kept = recorded(m, v100());
  expect_nested(kept);
  const std::vector<TimelineEvent> kernels = kept.all(kKernels);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[0].name, "by_hand");
  EXPECT_EQ(kernels[1].name, "launch");
  EXPECT_EQ(length(kernels[0]), static_cast<double>(kept.report.kernels[0].cycles));
  EXPECT_EQ(kernels[2].from, kernels[0].until);
  EXPECT_EQ(kernels[2].until, static_cast<double>(kept.report.cycles));
}

// What is jumped over is a gap on every track but those that say so, and the program is as long as reported.
TEST(Timeline, WhatIsLeftOutIsSaidToBe) {
  const auto check = [](const lower::Module& m, const std::string& what) {
    const Kept kept = recorded(m, v100(), {.cores = {0, 1, 40, 79}}, Mode::kSampled);
    ASSERT_FALSE(kept.report.kernels[0].exact);
    expect_nested(kept);
    EXPECT_EQ(kept.all(kKernels)[0].until, static_cast<double>(kept.report.cycles));
    std::vector<TimelineEvent> gaps = kept.all(kKernels);
    std::erase_if(gaps, [](const TimelineEvent& e) { return !e.name.starts_with("left out: "); });
    ASSERT_FALSE(gaps.empty());
    EXPECT_TRUE(std::ranges::any_of(gaps, [&](const TimelineEvent& e) { return e.name.ends_with(what); }));
    for (const auto& [track, events] : kept.tracks)
      for (const TimelineEvent& e : events)
        for (const TimelineEvent& gap : gaps) {
          const bool beside = e.until <= gap.from || e.from >= gap.until;
          const bool says = (track.kind == kKernels || track.kind == kBlocks) && e.from <= gap.from;
          ASSERT_TRUE(beside || says) << e.name << " of kind " << static_cast<int>(track.kind);
        }
    const auto on_blocks = kept.all(kBlocks);
    EXPECT_TRUE(std::ranges::any_of(
        on_blocks, [&](const TimelineEvent& e) { return e.name.starts_with("left out") && e.name.ends_with(what); }));
  };
  check(tiled_product(300, 410, 300, 1), "steps");
  check(stream(30000, 256, 2, Stream::kCopy), "blocks");
}

TEST(Timeline, ShowsTheChosenCoresAndTheWindow) {
  const lower::Module m = tiled_product(700, 500, 3);
  const Kept kept = recorded(m, v100(), {.cores = {3, 7}, .from = 4000, .until = 6000});
  expect_nested(kept);
  std::map<int, int> warps;
  for (const TimelineEvent& e : kept.all(kWarp)) ++warps[e.track.unit];
  EXPECT_EQ(warps.size(), 2u);
  EXPECT_GT(warps[3], 0);
  EXPECT_GT(warps[7], 0);
  EXPECT_FALSE(kept.all(kChannel).empty());
  for (const auto& [track, events] : kept.tracks)
    for (const TimelineEvent& e : events)
      EXPECT_TRUE(track.kind == kKernels || (e.until > 4000 && e.from < 6000)) << e.name;
}

// Full, it shows what had begun until then, and that the kernel went on.
TEST(Timeline, EndsWhenItIsFull) {
  const lower::Module m = tiled_product(700, 500, 4);
  const Kept whole = recorded(m, v100());
  EXPECT_FALSE(whole.full_at);
  const Kept kept = recorded(m, v100(), {.cores = all_cores(v100()), .max_events = 20000});
  ASSERT_TRUE(kept.full_at);
  expect_nested(kept);
  EXPECT_LT(kept.in_order.size() + kept.samples.size(), 40000u);
  EXPECT_LT(kept.in_order.size(), whole.in_order.size() / 2);
  EXPECT_EQ(kept.all(kKernels)[0].until, static_cast<double>(kept.report.cycles));
  for (const auto& [track, events] : kept.tracks)
    for (const TimelineEvent& e : events) EXPECT_LT(e.from, *kept.full_at) << e.name;
  // Up to there, nothing is lacking.
  const auto before = [&](const Kept& k) {
    return std::ranges::count_if(k.in_order, [&](const TimelineEvent& e) { return e.from < *kept.full_at; });
  };
  EXPECT_EQ(before(kept), before(whole));
}

}  // namespace
}  // namespace tilescope::sim
