// SPDX-License-Identifier: Apache-2.0
#pragma once
// What DRAM commands ask of those that follow them: one table of constraints for all standards, made of the timings
// that a chip's file names. Times are clocks of the channel.

#include <cstdint>
#include <vector>

namespace tilescope::sim {

using Clock = std::int64_t;  // of the DRAM

enum class DramCommand : std::uint8_t { kActivate, kPrecharge, kRead, kWrite };
inline constexpr std::size_t kDramCommands = 4;
constexpr std::size_t number(DramCommand c) { return static_cast<std::size_t>(c); }

// JEDEC timings without the leading t. What a chip's file does not name is 0: nothing is waited for.
struct DramTimes {
  Clock rcd = 0, rcd_wr = 0, rp = 0, ras = 0, rc = 0;
  Clock rrd_s = 0, rrd_l = 0, faw = 0, aw32 = 0;
  Clock ccd_s = 0, ccd_l = 0;
  Clock cl = 0, cwl = 0, rtp = 0, wr = 0, wtr_s = 0, wtr_l = 0, rtw = 0, rtrs = 0;
  Clock rfc = 0, rfc_sb = 0, refi = 0;  // 0: never refreshed
  Clock burst = 1;                      // of the data bus
};

// Whom a constraint concerns: the same bank, another bank of the same group, and so on; each holds the ones before it.
enum class DramScope : std::uint8_t { kBank, kGroup, kRank, kOtherRanks };
inline constexpr std::size_t kDramScopes = 4;

// `after` may follow `before` within the scope once so many clocks have passed.
struct DramConstraint {
  DramCommand before{}, after{};
  DramScope scope{};
  Clock clocks = 0;
};

std::vector<DramConstraint> constraints_of(const DramTimes& t);

}  // namespace tilescope::sim
