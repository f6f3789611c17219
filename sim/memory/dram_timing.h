// SPDX-License-Identifier: Apache-2.0
#pragma once
// What DRAM commands ask of those that follow them: one table of constraints for all standards, made of the timings
// that a chip's file names. Times are clocks of the channel.

#include <cstdint>
#include <vector>

#include "sim/common/ticks.h"

namespace tilescope::sim {

using Clock = Ticks<struct DramClockTag>;  // of the DRAM

// So many clocks, as JEDEC writes them.
constexpr Clock operator""_nck(unsigned long long count) { return Clock(static_cast<std::int64_t>(count)); }

enum class DramCommand : std::uint8_t { kActivate, kPrecharge, kRead, kWrite };
inline constexpr std::size_t kDramCommands = 4;
constexpr std::size_t number(DramCommand c) { return static_cast<std::size_t>(c); }

// JEDEC timings without the leading t. What a chip's file does not name is 0: nothing is waited for.
struct DramTimes {
  Clock rcd{}, rcd_wr{}, rp{}, ras{}, rc{};
  Clock rrd_s{}, rrd_l{}, faw{}, aw32{};
  Clock ccd_s{}, ccd_l{};
  Clock cl{}, cwl{}, rtp{}, wr{}, wtr_s{}, wtr_l{}, rtw{}, rtrs{};
  Clock rfc{}, rfc_sb{}, refi{};  // 0: never refreshed
  Clock burst = 1_nck;            // of the data bus
};

// Whom a constraint concerns: the same bank, another bank of the same group, and so on; each holds the ones before it.
enum class DramScope : std::uint8_t { kBank, kGroup, kRank, kOtherRanks };
inline constexpr std::size_t kDramScopes = 4;

// `after` may follow `before` within the scope once so many clocks have passed.
struct DramConstraint {
  DramCommand before{}, after{};
  DramScope scope{};
  Clock clocks{};
};

std::vector<DramConstraint> constraints_of(const DramTimes& t);

}  // namespace tilescope::sim
