// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/core_ports.h"

#include <algorithm>

#include "sim/timeline.h"

namespace tilescope::sim {

CorePorts::CorePorts(const Machine& machine)
    : machine_(machine),
      scratchpad_(machine.scratchpad),
      cache_(Rate{}),
      memory_lanes_(machine.memory_lanes),
      scratchpad_lanes_(machine.scratchpad_lanes) {}

void CorePorts::prepare(bool fences_copies) {
  copy_interval_ = fences_copies ? machine_.fenced_copy_interval : machine_.async_copy_interval;
  copies_free_ = 0_cycles;
}

Cycle CorePorts::segment(const SegmentCost& c, std::int64_t pieces, Cycle from, Cycle over) {
  const std::int64_t passes = c.passes - c.kept_passes, accesses = c.accesses - c.kept_accesses;
  if (passes <= 0) return 0_cycles;
  Cycle moved = scratchpad_.book(from, base::ceil_div(passes, pieces), over);
  const std::int64_t warp = machine_.limits.warp;
  if (accesses > 0 && (machine_.lanes_shared || machine_.scratchpad_lanes.units < warp)) {
    ReservationTable& lanes = machine_.lanes_shared ? memory_lanes_ : scratchpad_lanes_;
    moved = std::max(moved, lanes.book(from, base::ceil_div(accesses * warp, pieces), over));
  }
  if (!c.computes && c.reads_scratchpad) moved += machine_.scratchpad_latency - Cycle(machine_.scratchpad.cycles);
  return moved;
}

// Lanes, data and tags are looked after side by side.
Cycle CorePorts::access(const AccessPattern& p, bool asynchronous, std::int64_t line, Cycle t) {
  const std::int64_t warp = machine_.limits.warp;
  Cycle lanes = memory_lanes_.book(t, warp) - cycles_of(machine_.memory_lanes, warp);
  if (asynchronous) {
    lanes = std::max(lanes, copies_free_);
    copies_free_ = lanes + copy_interval_;
  }
  if (!machine_.cache) return lanes;
  const CoreCacheSpec& c = *machine_.cache;
  const std::int64_t tags = tag_passes(line, p.touches, c.tags);
  // What is copied asynchronously passes the banks once, when it arrives.
  const std::int64_t passes = asynchronous ? 0 : p.cache_passes;
  if (c.shares_scratchpad)
    return std::max(lanes, scratchpad_.book(t, std::max(passes, base::ceil_div(tags, machine_.scratchpad.cycles))) -
                               Cycle(machine_.scratchpad.cycles));
  const std::int64_t data =
      asynchronous ? 0 : cycles_of(c.rate, p.count.global.sectors * machine_.memory.shape.sector).count();
  return std::max(lanes, cache_.book(t, std::max(data, tags)) - 1_cycles);
}

void CorePorts::show(Timeline& timeline, int core, Cycle until) const {
  timeline.port({Track::Kind::kScratchpad, core}, scratchpad_, until);
  timeline.port({Track::Kind::kAddress, core}, memory_lanes_, until);
  if (machine_.cache && !machine_.cache->shares_scratchpad)
    timeline.port({Track::Kind::kCoreCache, core}, cache_, until);
}

}  // namespace tilescope::sim
