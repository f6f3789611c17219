// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing constraints between DRAM commands: one table of constraints for all standards, made from the timings that a
// chip's file names. Times are clocks of the channel.

#include <cstdint>
#include <vector>

#include "sim/common/ticks.h"

namespace tilescope::sim {

using Clock = Ticks<struct DramClockTag>;  // of the DRAM's clock

// A number of clocks in JEDEC's notation.
constexpr Clock operator""_nck(unsigned long long count) { return Clock(static_cast<std::int64_t>(count)); }

enum class DramCommand : std::uint8_t { kActivate, kPrecharge, kRead, kWrite };
inline constexpr std::size_t kDramCommands = 4;
constexpr std::size_t number(DramCommand c) { return static_cast<std::size_t>(c); }

// JEDEC timings without the leading t. A timing that a chip's file does not name is 0: it imposes no wait, apart from
// the defaults in constraints_of().
struct DramTimes {
  Clock rcd{}, rcd_wr{}, rp{}, ras{}, rc{};
  Clock rrd_s{}, rrd_l{}, faw{}, aw32{};
  Clock ccd_s{}, ccd_l{};
  Clock cl{}, cwl{}, rtp{}, wr{}, wtr_s{}, wtr_l{}, rtw{}, rtrs{};
  Clock rfc{}, rfc_sb{}, refi{};  // refi 0: never refreshed
  Clock burst = 1_nck;            // time of one burst on the data bus
};

// The scope of a constraint: the same bank, group or rank, each including the ones before it, or the other ranks of the
// pseudo-channel.
enum class DramScope : std::uint8_t { kBank, kGroup, kRank, kOtherRanks };
inline constexpr std::size_t kDramScopes = 4;

// `after` may follow `before` within the scope once `clocks` have passed.
struct DramConstraint {
  DramCommand before{}, after{};
  DramScope scope{};
  Clock clocks{};
};

std::vector<DramConstraint> constraints_of(const DramTimes& t);

}  // namespace tilescope::sim
