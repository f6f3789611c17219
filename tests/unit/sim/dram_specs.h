// SPDX-License-Identifier: Apache-2.0
// DRAM channels that tests derive figures of by hand.
#pragma once

#include "sim/memory/dram.h"

namespace tilescope::sim {

// A clock that no test's requests reach.
inline constexpr Clock kForever = 1'000'000'000;

// The pseudo-channel of XSIM's HBM, without refresh and bank groups; reads and writes as they come.
inline DramSpec dram_without_bank_groups() {
  return {.banks = 16,
          .rows = true,
          .row_bus = true,
          .queue_depth = 32,
          .t = {.rcd = 12,
                .rp = 14,
                .ras = 28,
                .rc = 42,
                .rrd_s = 4,
                .ccd_s = 2,
                .cl = 17,
                .cwl = 7,
                .rtp = 5,
                .wr = 14,
                .wtr_s = 4,
                .burst = 2}};
}

}  // namespace tilescope::sim
