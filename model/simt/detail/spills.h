// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that a thread has no register for: they lie in local memory, that is in the caches and DRAM, where
// neighbouring lanes' words lie side by side.
//
// Ignores: the room that operands take in the device's caches, the time until a word is back, lines of one kernel that
// the next one finds.

#include <cstdint>

#include "model/simt/counts.h"
#include "model/simt/detail/occupancy.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// 32-bit words of a thread: those that have no register, and how many a step moves there and back.
struct SpilledWords {
  double held = 0, stored = 0, loaded = 0;
};
SpilledWords spilled_words(const Counts& c, const Occupancy& occupancy);

// Notes the shares of reads that go beyond each cache, and adds what spills move to `t`, when `per_core` blocks run on
// every core at a time. The core's cache serves loads as far as the words of its blocks fit it beside what they stage,
// and sends on every store; each cache of the device serves what fits it of the words of all resident blocks.
void add_spills(const Counts& c, const Machine& m, const Occupancy& occupancy, std::int64_t per_core, Traffic& t);

}  // namespace tilescope::model
