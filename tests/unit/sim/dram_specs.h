// SPDX-License-Identifier: Apache-2.0
// DRAM channels that tests derive figures of by hand.
#pragma once

#include "sim/memory/dram.h"

namespace tilescope::sim {

// A clock that no test's requests reach.
inline constexpr Clock kForever = 1'000'000'000_nck;

// The pseudo-channel of XSIM's HBM, without refresh and bank groups; reads and writes as they come.
inline DramSpec dram_without_bank_groups() {
  return {.banks = 16,
          .rows = true,
          .row_bus = true,
          .queue_depth = 32,
          .t = {.rcd = 12_nck,
                .rp = 14_nck,
                .ras = 28_nck,
                .rc = 42_nck,
                .rrd_s = 4_nck,
                .ccd_s = 2_nck,
                .cl = 17_nck,
                .cwl = 7_nck,
                .rtp = 5_nck,
                .wr = 14_nck,
                .wtr_s = 4_nck,
                .burst = 2_nck}};
}

}  // namespace tilescope::sim
