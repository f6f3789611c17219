// SPDX-License-Identifier: Apache-2.0
// Traces on two pseudo-channels of HBM2, and on mappings that permute bits by exclusive or: how many clocks they take
// follows by hand from where their bursts lie.
//
// The channel has the timings of Ramulator 2.1's HBM2_8Gb at 2 Gb/s: two pseudo-channels of 64 bit and four groups of
// four banks, bursts of 32 B (2 clocks), rows of 1 KiB. Without another bit in play 32 KiB are one row of each bank, so
// that requests 32 KiB apart are rows of one bank. In use, less refreshes: R = 1 - 350 / 3900 of all clocks.

#include <cmath>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arch/load.h"
#include "sim/trace.h"

namespace tilescope::sim {
namespace {

using Kind = Injection::Kind;

constexpr double kRefreshed = 1 - 350.0 / 3900;  // R

const char* const kRoBa = "off[0+5] co[5+5] pc[10+1] bg[11+2] ba[13+2] ro[15+14]";
// Groups and pseudo-channels lowest: what follows each other lies in another one.
const char* const kFine = "off[0+5] pc[5+1] bg[6+2] co[8+5] ba[13+2] ro[15+14]";
// Ramulator's MOP4CLXOR: four bursts stay together but for the columns' bits that are folded into pc, bg and ba.
const char* const kMop =
    "off[0+5] co[5+2] pc[7+1] bg[8+2] ba[10+2] co[12+3] ro[15+14] pc^[5+1] bg^[6+1] bg^1[12+1] ba^[13+2]";

TraceSpec hbm2(const std::string& mapping, const std::string& keys = "") {
  const std::string text = fmt::format(R"(
name: hbm2
title: two pseudo-channels
class: memory
memory:
  dram:
    {{scope: device, kind: dram, capacity: 512 MiB, clock: 1 GHz, rate: 2, channels: 2, pseudo_channels: 2,
      dual_command_bus: true, activate_command: 2 cycles, width: 64 bit, burst: 4, queue_depth: 32,
      bank_groups: 4, banks: 16, row: 1 KiB, mapping: '{}',
      timing: {{cl: 14 cycles, cwl: 5 cycles, rcd: 14 cycles, rcd_wr: 12 cycles, rp: 14 cycles, ras: 34 cycles,
               rc: 48 cycles, ccd_s: 2 cycles, ccd_l: 4 cycles, rrd_s: 4 cycles, rrd_l: 4 cycles, faw: 15 cycles,
               rtp: 5 cycles, wr: 16 cycles, wtr_s: 6 cycles, wtr_l: 8 cycles, rfc: 350 cycles, refi: 3900 cycles}}}}
)",
                                       mapping);
  std::vector<arch::Override> overrides;
  for (std::size_t at = 0; at < keys.size();) {  // "key=value;key=value"
    const std::size_t end = std::min(keys.find(';', at), keys.size()), equal = keys.find('=', at);
    overrides.push_back({"memory.dram." + keys.substr(at, equal - at), keys.substr(equal + 1, end - equal - 1)});
    at = end + 1;
  }
  base::Diagnostics diags;
  const auto chip = arch::load_arch_text(text, "hbm2", overrides, diags);
  for (const std::string& e : diags.formatted_errors()) ADD_FAILURE() << e;
  std::string derived;
  return chip ? trace_spec(*chip, derived) : TraceSpec{};
}

std::vector<TraceRequest> strided(std::int64_t n, std::int64_t stride, bool write = false) {
  std::vector<TraceRequest> t;
  for (std::int64_t i = 0; i < n; ++i) t.push_back({i * stride % (std::int64_t{1} << 29), 32, write});
  return t;
}

struct Row {
  std::string name, mapping, keys;
  std::int64_t stride = 32;
  bool write = false;
  double clocks = 0;  // of one burst, refreshes left out
  double tolerance = 0.02;
};

void PrintTo(const Row& r, std::ostream* out) { *out << r.name; }

class MappedRow : public testing::TestWithParam<Row> {};

TEST_P(MappedRow, TakesTheClocksThatFollowFromItsPlaces) {
  const Row& row = GetParam();
  constexpr std::int64_t kBursts = 16384;
  const TraceResult r = replay(strided(kBursts, row.stride, row.write), hbm2(row.mapping, row.keys), {});
  const double derived = static_cast<double>(kBursts) * row.clocks / kRefreshed;
  EXPECT_NEAR(static_cast<double>(r.clocks), derived, row.tolerance * derived);
}

constexpr std::int64_t kRowOfAll = 32 << 10;

INSTANTIATE_TEST_SUITE_P(
    DramMapped, MappedRow,
    testing::Values(
        // Every burst is on the other bus, and each bus passes one in two clocks.
        Row{"Stream", kFine, "", 32, false, 1}, Row{"StreamOfWrites", kFine, "", 32, true, 1},
        // The pseudo-channel is bit 7 ^ bit 5: four bursts in a row are on both. The last KiB of 32 has bank 3 ^ 3 = 0,
        // and so has the first of the next 32, in other rows: these close and open while nothing else is in the window.
        Row{"StreamByMop", kMop, "", 32, false, 1 + (14 + 14) / 1024.0},
        // Every other burst: bit 5 is 0, and bit 7 alone says which bus. Both are in the window of 32.
        Row{"EverySecondByMop", kMop, "", 64, false, 1 + (14 + 14) / 512.0},
        // On one bus alone: bit 5 is the pseudo-channel, and always 0.
        Row{"OneBus", kFine, "", 64, false, 2},
        // And in one group, whose columns are four clocks apart: bits 6 and 7 too.
        Row{"OneGroup", kFine, "", 256, false, 4},
        // Rows of one bank: a row cycle each. A write's is longer, 12 + 5 + 2 + 16 + 14.
        Row{"OneBank", kRoBa, "", kRowOfAll, false, 48}, Row{"OneBankWrites", kRoBa, "", kRowOfAll, true, 49},
        Row{"OneBankByMop", kMop, "", kRowOfAll, false, 48},
        // The row's lowest bit folded into the pseudo-channel: two banks, one in each. At twice the stride it is one.
        Row{"TwoBanks", std::string(kRoBa) + " pc^[15+1]", "", kRowOfAll, false, 24},
        Row{"OneOfTwoBanks", std::string(kRoBa) + " pc^[15+1]", "", 2 * kRowOfAll, false, 48},
        // Its two lowest into group or bank: four banks.
        Row{"FourGroups", std::string(kRoBa) + " bg^[15+2]", "", kRowOfAll, false, 12},
        Row{"FourBanks", std::string(kRoBa) + " ba^[15+2]", "", kRowOfAll, false, 12},
        // One of them into the bank's upper bit: two banks.
        Row{"UpperBit", std::string(kRoBa) + " ba^1[15+1]", "", kRowOfAll, false, 24},
        // Five into all: 32 banks, of which each of the window's requests has one. A row takes an activate of two
        // clocks and a precharge of one on the bus that both share; four clocks (tRRD) of its pseudo-channel are less.
        Row{"AllBanks", std::string(kRoBa) + " pc^[15+1] bg^[16+2] ba^[18+2]", "", kRowOfAll, false, 3},
        // Where an activate takes one clock, and where a row closes without a command, it is two.
        Row{"AllBanksShortActivate", std::string(kRoBa) + " pc^[15+1] bg^[16+2] ba^[18+2]", "activate_command=1 cycle",
            kRowOfAll, false, 2, 0.03},
        Row{"AllBanksClosed", std::string(kRoBa) + " pc^[15+1] bg^[16+2] ba^[18+2]", "page_policy=closed", kRowOfAll,
            false, 2, 0.03},
        // Sixteen of one pseudo-channel: tRRD.
        Row{"AllBanksOfOne", std::string(kRoBa) + " bg^[15+2] ba^[17+2]", "", kRowOfAll, false, 4}),
    [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

// One read at a time, without refreshes, to the clock. In one bank rows open a row cycle after each other: the first at
// 1, and the last is read 14 + 14 + 2 later. In two banks by turns each row is long over: a read waits for a clock, the
// precharge of the row before the last, 14 + 14 + 14 + 2, and a clock until the next one is sent; the first two find
// their banks closed.
TEST(DramMapped, OneReadAtATimeTakesItsTimings) {
  const auto clocks = [](const std::string& mapping) {
    TraceSpec spec = hbm2(mapping);
    spec.dram.t.refi = 0_nck;
    return replay(strided(1000, kRowOfAll), spec, {Kind::kWindow, 1}).clocks.count();
  };
  EXPECT_EQ(clocks(kRoBa), 1 + 999 * 48 + 14 + 14 + 2);
  EXPECT_EQ(clocks(std::string(kRoBa) + " pc^[15+1]"), 31 + 1 + 31 + 998 * (1 + 14 + 14 + 14 + 2 + 1));
}

}  // namespace
}  // namespace tilescope::sim
