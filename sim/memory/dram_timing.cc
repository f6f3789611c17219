// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram_timing.h"

#include <algorithm>

namespace tilescope::sim {

std::vector<DramConstraint> constraints_of(const DramTimes& t) {
  using enum DramCommand;
  using enum DramScope;
  const Clock ccd_s = std::max(t.ccd_s, t.burst), ccd_l = std::max(t.ccd_l, ccd_s);
  const Clock read_end = t.cl + t.burst, write_end = t.cwl + t.burst;
  // A chip's file that does not say how the bus turns lets two clocks pass between the two ends' data, DRAMsim3's
  // default; the bubble between ranks stands for both turns there.
  constexpr Clock kTurn = 2_nck;
  const Clock turn = t.rtrs > 0_nck ? t.rtrs : kTurn;
  const Clock read_to_write = t.rtw > 0_nck ? t.rtw : read_end + turn - t.cwl;
  const std::vector<DramConstraint> all = {
      {kActivate, kRead, kBank, t.rcd},
      {kActivate, kWrite, kBank, t.rcd_wr > 0_nck ? t.rcd_wr : t.rcd},
      {kActivate, kPrecharge, kBank, t.ras},
      {kActivate, kActivate, kBank, t.rc},
      {kPrecharge, kActivate, kBank, t.rp},
      {kRead, kPrecharge, kBank, t.rtp},
      {kWrite, kPrecharge, kBank, write_end + t.wr},

      {kActivate, kActivate, kGroup, t.rrd_l},
      {kRead, kRead, kGroup, ccd_l},
      {kWrite, kWrite, kGroup, ccd_l},
      {kWrite, kRead, kGroup, write_end + t.wtr_l},

      {kActivate, kActivate, kRank, t.rrd_s},
      {kRead, kRead, kRank, ccd_s},
      {kWrite, kWrite, kRank, ccd_s},
      {kWrite, kRead, kRank, write_end + t.wtr_s},
      {kRead, kWrite, kRank, read_to_write},

      {kRead, kRead, kOtherRanks, t.burst + t.rtrs},
      {kWrite, kWrite, kOtherRanks, t.burst},  // one sender
      {kRead, kWrite, kOtherRanks, read_end + t.rtrs - t.cwl},
      {kWrite, kRead, kOtherRanks, write_end + t.rtrs - t.cl},
  };
  std::vector<DramConstraint> binding;
  std::copy_if(all.begin(), all.end(), std::back_inserter(binding),
               [](const DramConstraint& c) { return c.clocks > 0_nck; });
  return binding;
}

}  // namespace tilescope::sim
