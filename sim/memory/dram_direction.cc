// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/dram_direction.h"

namespace tilescope::sim {

DramDirection::Choice DramDirection::choose(const Waiting& w) {
  if (drain_ > 0 || !spec_.parts_writes()) return Choice::kStays;
  const bool idles = w.rests && w.reads == 0 && w.idle;
  const auto writes = static_cast<std::int64_t>(w.writes), held = static_cast<std::int64_t>(w.held_writes);
  if (spec_.write_high > 0) return choose_by_watermarks(w, idles);
  if (held >= spec_.queue_depth || (w.rests && writes > spec_.write_threshold) || idles) {
    drain_ = w.writes;
    return Choice::kDrains;
  }
  return Choice::kStays;
}

DramDirection::Choice DramDirection::choose_by_watermarks(const Waiting& w, bool idles) {
  const auto held = static_cast<std::int64_t>(w.held_writes);
  if (writes_only_) {
    if (held > 0 && (held > spec_.write_low || w.reads == 0)) return Choice::kStays;
  } else {
    const bool few_reads = w.rests && w.reads == 0 && held > spec_.write_threshold;
    if (held < spec_.write_high && (held == 0 || !(few_reads || idles))) return Choice::kStays;
  }
  writes_only_ = !writes_only_;
  return Choice::kTurns;
}

}  // namespace tilescope::sim
