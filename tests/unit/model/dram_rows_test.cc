// SPDX-License-Identifier: Apache-2.0
// Rows of DRAM that programs open, by hand.

#include "model/simt/detail/dram_rows.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/estimate.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

// Two rows of one channel of eight, each with two lines of 128 B.
constexpr DramRows kRows{.row_bytes = 256,
                         .line_bytes = 128,
                         .granule_bytes = 32,
                         .written_back_bytes = {},
                         .queued = 4,
                         .channels = 8,
                         .banks = 4,
                         .activates_per_us = 1,
                         .bursts_per_us = {},
                         .commands_per_us = {}};

double activates(const tile::StageProgram& p, const tile::Extents& moment) {
  return activates_per_byte(p.space->inputs[0], moment, moment, 0, kRows);
}

TEST(DramRows, AreOpenedOnceWhereALongRunFillsThem) {
  const tile::StageProgram p = program("O[i] = relu(I[i])", "i=1048576", {{1, 256, 4}}, {1});
  EXPECT_DOUBLE_EQ(activates(p, {1048576}), 1.0 / 256);
}

// 1,000 rows of a matrix, a sector or four lines of each at a moment: in 32 banks none is found open again.
TEST(DramRows, AreOpenedForEveryPieceWhereManyRunsPassThroughThem) {
  const tile::StageProgram p = program("O[m] +=! A[m,k]", "m=1000,k=4096", {{1, 1000, 1}}, {1, 8});
  EXPECT_NEAR(activates(p, {1000, 8}), 1.0 / 32, 1e-9);
  EXPECT_NEAR(activates(p, {1000, 4}), 1.0 / 32, 1e-9) << "half a sector moves a sector";
  EXPECT_NEAR(activates(p, {1000, 16}), 1.0 / 64, 1e-9);
  EXPECT_NEAR(activates(p, {1000, 128}), 4.0 / 512, 1e-9) << "four lines, each in a channel of its own";
}

TEST(DramRows, OfFewRunsStayOpen) {
  const tile::StageProgram p = program("O[m] +=! A[m,k]", "m=8,k=4096", {{1, 8, 1}}, {1, 8});
  const double reopened = 1 - std::exp(-7.0 / 32);
  EXPECT_NEAR(activates(p, {8, 8}), reopened / 32, 1e-9);
  EXPECT_DOUBLE_EQ(activates(p, {1, 8}), 1.0 / 256) << "one run is never disturbed";
}

// Rows of 4096 B, of which 32 blocks read 128 B each: at one time, a row fills a row of the DRAM in each channel; each
// block at its own pace, every part opens one.
TEST(DramRows, AreOpenedForEachBlocksPartWhereBlocksKeepNoPace) {
  const tile::StageProgram p = program("O[n] +=! B[k,n]", "n=1024,k=4096", {{1, 32, 1}}, {1, 64});
  EXPECT_NEAR(activates_per_byte(p.space->inputs[0], {1024, 64}, {1024, 64}, 0, kRows), 1.0 / 256, 1e-9);
  EXPECT_NEAR(activates_per_byte(p.space->inputs[0], {1024, 64}, {32, 64}, 0, kRows), 1.0 / 128, 1e-9);
}

// Of parts that come apart the controller puts half together again: a row of 256 B is opened once or for each 128 B.
TEST(DramRows, AreSharedByWhatWaitsInOneQueue) {
  const tile::StageProgram p = program("O[n] +=! B[k,n]", "n=1024,k=4096", {{1, 32, 1}}, {1, 64});
  EXPECT_NEAR(activates_per_byte(p.space->inputs[0], {1024, 64}, {32, 64}, 0.5, kRows), 2.0 / (128 + 256), 1e-9);
  EXPECT_NEAR(activates_per_byte(p.space->inputs[0], {1024, 64}, {32, 64}, 1, kRows), 1.0 / 256, 1e-9);
  // Eight lines for each of eight channels, of which four wait; three of three.
  EXPECT_DOUBLE_EQ(sorted_share(8 * 8 * 128, kRows), 0.5);
  EXPECT_DOUBLE_EQ(sorted_share(3 * 8 * 128, kRows), 1);
}

// Lines leave a cache in the order in which they came where a row's lie in one slice. They do not where each partition
// has some of them, where slices and channels do not divide each other, or where the file states its own mapping.
TEST(DramRows, OfResultsAreOpenedForEachLineThatLeavesOutOfOrder) {
  const tile::StageProgram p = program("O[i] = relu(I[i])", "i=1048576", {{1, 256, 4}}, {1});
  DramRows apart = kRows;
  apart.written_back_bytes = 128;
  EXPECT_DOUBLE_EQ(written_back_per_byte(p.space->output, {1048576}, {1048576}, 0, kRows), 1.0 / 256);
  EXPECT_DOUBLE_EQ(written_back_per_byte(p.space->output, {1048576}, {1048576}, 0, apart), 1.0 / 128);
  const auto written_back = [](const char* name, const std::vector<arch::Override>& changes = {}) {
    return make_machine(tests::chip(name, changes)).dram_rows.written_back_bytes;
  };
  EXPECT_FALSE(written_back("v100"));
  EXPECT_EQ(written_back("a100"), 128) << "two partitions";
  EXPECT_FALSE(written_back("a100", {{"memory.l2.l2_partitions", "1"}}));
  EXPECT_EQ(written_back("h200", {{"memory.l2.l2_partitions", "1"}}), 128) << "80 slices, 192 channels";
  EXPECT_EQ(
      written_back("v100", {{"memory.dram.mapping", "off[0+5] co[5+4] ch[9+6] co[15+1] bg[16+2] ba[18+2] ro[20+14]"}}),
      128);
}

// Blocks of eight columns read 32 B of each of 4,096 rows of W, in one step: a row of the DRAM has closed before a
// neighbour comes. Those of 512 columns read its whole row.
TEST(DramRows, OfWhatIsReadDirectlyInIterationsAreOpenedByEachBlock) {
  const auto read = [](std::int64_t columns) {
    tile::StageProgram p = program("C[n] +=! X[k] * W[k,n]", "n=4096,k=4096", {{1, columns, 1}}, {1, 4096});
    p.operands[0].cached = p.operands[1].cached = false;
    return traffic_of(p, machine("rtx3090"), 1).activates_per_byte.read;
  };
  EXPECT_NEAR(read(8), 1.0 / 32, 0.003);
  EXPECT_LT(read(512), 1.0 / 100);
}

// An activate per rrd_s of 4 cycles at 877 MHz on 64 channels, which is longer than a quarter of faw: 449 GB/s of
// sectors of 32 B.
TEST(DramRows, BoundAV100) {
  EXPECT_NEAR(*machine("v100").dram_rows.activates_per_us, 64 * 877 / 4.0, 1e-6);
  EXPECT_FALSE(machine("k80").dram_rows.activates_per_us) << "its file says nothing of rows";
  const auto narrow = program("O[i] +=! I[i,k]", "i=65536,k=1024", {{1, 32, 1}}, {1, 8});
  const auto wide = program("O[i] +=! I[i,k]", "i=65536,k=1024", {{1, 32, 1}}, {1, 16});
  const double read = 4.0 * 65536 * 1024;
  EXPECT_NEAR(read / estimate_stage(narrow, machine("v100"))->term_us("dram"), 449e3, 2e3);
  EXPECT_GT(read / estimate_stage(wide, machine("v100"))->term_us("dram"), 800e3);
}

// What lies side by side in one row is a line of the cache, or what the chip's mapping says.
TEST(DramRows, AreOpenedForWhatTheMappingKeepsTogether) {
  const auto line = [](const std::vector<arch::Override>& changes) {
    return make_machine(tests::chip("v100", changes)).dram_rows.line_bytes;
  };
  EXPECT_EQ(line({}), 128);
  EXPECT_EQ(line({{"memory.dram.mapping", "off[0+5] co[5+4] ch[9+6] co[15+1] bg[16+2] ba[18+2] ro[20+14]"}}), 512);
  EXPECT_EQ(line({{"memory.dram.mapping", "off[0+5] co[5+4] ch[9+6] co[15+1] bg[16+2] ba[18+2] ro[20+14] bg^[8+1]"}}),
            256);
}

// Two pseudo-channels behind one bus, whose activates take two cycles and precharges one: six for each.
TEST(DramRows, WaitForTheCommandBusThatPseudoChannelsShare) {
  const auto per_us = [](const std::vector<arch::Override>& changes) {
    return *make_machine(tests::chip("v100", changes)).dram_rows.activates_per_us;
  };
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}}), 64 * 877 / 4.0, 1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}, {"memory.dram.activate_command", "2 cycles"}}),
              64 * 877 / 6.0, 1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}, {"memory.dram.dual_command_bus", "false"}}), 64 * 877 / 6.0,
              1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.activate_command", "4 cycles"}}), 64 * 877 / 5.0, 1e-6);
}

using Changes = std::vector<arch::Override>;

// A V100 whose DRAM is held to what its file says alone: 64 pseudo-channels at 877 MHz, a burst of 32 B every two
// clocks.
struct Plain {
  explicit Plain(Changes changes) : spec(tests::chip("v100", with(std::move(changes)))), m(make_machine(spec)) {}
  Plain(const Plain&) = delete;  // the machine points to the spec
  static Changes with(Changes changes) {
    for (const char* ratio : {"read", "write", "copy"})
      changes.push_back({fmt::format("calibration.dram.{}.ratio", ratio), "1"});
    return changes;
  }
  // Of bytes read, and rows opened for them.
  double us(double bytes, double activates = 0) const {
    Traffic t;
    t.dram.read = bytes;
    t.activates_per_byte.read = activates / bytes;
    return dram_time_us(t, m);
  }

  arch::ArchSpec spec;
  Machine m;
};

constexpr double kBytes = 64e6, kBursts = kBytes / 32, kMhz = 877, kChannels = 64;
constexpr double kData = kBursts * 2 / kChannels / kMhz;

TEST(DramCommands, CostNothingWhereTheDataBusIsSlower) {
  EXPECT_DOUBLE_EQ(Plain({}).us(kBytes), kBytes / Plain({}).m.dram_bytes_per_us);
  EXPECT_NEAR(Plain({}).us(kBytes), kData, 1e-9);
  EXPECT_EQ(Plain({}).m.dram_rows.between_refreshes, 1);
  EXPECT_FALSE(Plain({}).m.dram_rows.bursts_per_us);
  EXPECT_NEAR(Plain(Changes{{"memory.dram.pseudo_channels", "2"}}).us(kBytes), kData, 1e-9)
      << "one column a clock of two pseudo-channels, each with a burst every other clock";
}

// Four pseudo-channels have a column command each in four clocks, in which each has time for two bursts.
TEST(DramCommands, OfColumnsShareTheBusOfTheirPseudoChannels) {
  EXPECT_NEAR(Plain(Changes{{"memory.dram.pseudo_channels", "4"}}).us(kBytes), 2 * kData, 1e-9);
}

// On one bus a clock is a column's, an activate's or a precharge's.
TEST(DramCommands, OfRowsAndColumnsAddUpOnOneBus) {
  const Changes one = {{"memory.dram.dual_command_bus", "false"}, {"memory.dram.pseudo_channels", "2"}};
  const auto us = [](double commands) { return commands / (kChannels / 2) / kMhz; };
  EXPECT_NEAR(Plain(one).us(kBytes), us(kBursts), 1e-9);
  EXPECT_NEAR(Plain(one).us(kBytes, kBursts / 4), us(1.5 * kBursts), 1e-9);
  Changes longer = one;
  longer.push_back({"memory.dram.activate_command", "2 cycles"});
  EXPECT_NEAR(Plain(longer).us(kBytes, kBursts / 4), us(1.75 * kBursts), 1e-9);
}

// What is left between refreshes: 3900 - 260 clocks, less 14 and 14 (rp, rcd) to close and open a row.
TEST(DramCommands, RestWhileARankIsRefreshed) {
  const Changes refreshed = {{"memory.dram.timing.rfc", "260 cycles"}, {"memory.dram.timing.refi", "3900 cycles"}};
  const Plain plain({});
  const arch::DramTiming& timing = arch::dram_of(plain.spec)->timing;
  const auto lost = static_cast<double>(260 + timing.at("rp").n + timing.at("rcd").n);
  EXPECT_NEAR(Plain(refreshed).us(kBytes), kData / (1 - lost / 3900), 1e-9);
  const double rows =
      kChannels * kMhz /
      std::max({static_cast<double>(timing.at("faw").n) / 4, static_cast<double>(timing.at("rrd_s").n)});
  EXPECT_NEAR(Plain(refreshed).us(kBytes, kBursts), kBursts / rows / (1 - lost / 3900), 1e-9);
  Changes ranks = refreshed;
  ranks.push_back({"memory.dram.ranks", "2"});
  EXPECT_NEAR(Plain(ranks).us(kBytes), kData, 1e-9) << "the other rank has the bus";
}

// Banks that are refreshed one by one leave the bus to others, and each its own rows the rest of the time.
TEST(DramCommands, GoOnWhileOneBankIsRefreshed) {
  const Changes by_bank = {{"memory.dram.refresh", "per_bank"},
                           {"memory.dram.timing.rfc_sb", "160 cycles"},
                           {"memory.dram.timing.refi", "3900 cycles"}};
  EXPECT_NEAR(Plain(by_bank).us(kBytes), kData, 1e-9);
  Changes long_rows = by_bank;
  long_rows.push_back({"memory.dram.timing.rc", "480 cycles"});
  const auto rp = static_cast<double>(arch::dram_of(Plain({}).spec)->timing.at("rp").n);
  EXPECT_NEAR(Plain(long_rows).us(kBytes, kBursts), kBursts * 480 / 16 / kChannels / kMhz / (1 - (160 + rp) / 3900),
              1e-6);
}

// Each rank of each channel once in refi; each bank where they are refreshed one by one; none that the file knows of.
TEST(DramRefreshes, AreThoseOfRanksOrBanks) {
  const auto refreshes = [](const Changes& changes) { return Plain(changes).m.dram_rows.refreshes_per_us; };
  EXPECT_EQ(refreshes({}), 0);
  Changes changes = {{"memory.dram.timing.rfc", "260 cycles"}, {"memory.dram.timing.refi", "3900 cycles"}};
  EXPECT_NEAR(refreshes(changes), kChannels * kMhz / 3900, 1e-9);
  changes.push_back({"memory.dram.ranks", "2"});
  EXPECT_NEAR(refreshes(changes), 2 * kChannels * kMhz / 3900, 1e-9);
  EXPECT_NEAR(refreshes({{"memory.dram.refresh", "per_bank"},
                         {"memory.dram.timing.rfc_sb", "160 cycles"},
                         {"memory.dram.timing.refi", "3900 cycles"}}),
              16 * kChannels * kMhz / 3900, 1e-9);
}

// Of random timings: the time is the longest of what each part needs alone, in clocks of one channel.
RC_GTEST_PROP(DramCommands, TakeTheLongestOfTheirClosedForms, ()) {
  using tests::any_element;
  using tests::any_of_range;
  const std::int64_t sharing = any_element<std::int64_t>({1, 2, 4, 8}), activate = any_of_range(1, 3);
  const std::int64_t rfc = any_of_range(50, 900), refi = any_of_range(2000, 9000);
  const bool dual = any_of_range(0, 1) == 1, refreshed = any_of_range(0, 2) > 0;
  Changes changes = {{"memory.dram.pseudo_channels", std::to_string(sharing)},
                     {"memory.dram.activate_command", fmt::format("{} cycles", activate)},
                     {"memory.dram.dual_command_bus", dual ? "true" : "false"}};
  if (refreshed) changes.push_back({"memory.dram.timing.rfc", fmt::format("{} cycles", rfc)});
  if (refreshed) changes.push_back({"memory.dram.timing.refi", fmt::format("{} cycles", refi)});
  const Plain chip(changes);
  const arch::DramTiming& t = arch::dram_of(chip.spec)->timing;
  const auto clocks = [&](const char* name) { return static_cast<double>(t.at(name).n); };
  const double bursts = static_cast<double>(any_of_range(1, 1000)) * 64;  // of a channel
  const double rows = bursts / static_cast<double>(any_of_range(1, 32));
  const auto shared = static_cast<double>(sharing);
  const double works =
      refreshed ? 1 - (static_cast<double>(rfc) + clocks("rp") + clocks("rcd")) / static_cast<double>(refi) : 1;
  double longest = 2 * bursts / works;
  longest = std::max(longest, bursts * shared);
  longest = std::max(longest, rows * std::max({clocks("faw") / 4, clocks("rrd_s"), clocks("rc") / 16}) / works);
  const auto of_row = static_cast<double>(activate + 1);
  longest = std::max(longest, rows * shared * (of_row + (dual ? 0 : 1)));
  if (!dual) longest = std::max(longest, shared * (bursts + rows * of_row));
  RC_ASSERT(std::abs(chip.us(32 * kChannels * bursts, kChannels * rows) * kMhz / longest - 1) < 1e-9);
}

}  // namespace
}  // namespace tilescope::model
