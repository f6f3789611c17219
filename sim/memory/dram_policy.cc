// SPDX-License-Identifier: Apache-2.0
// The part of a DRAM channel's controller that its file chooses: when it turns from reads to writes and back.

#include <algorithm>
#include <utility>

#include "sim/memory/dram.h"

namespace tilescope::sim {

// Whether what is at the banks has changed by that.
bool DramChannel::choose_direction() {
  if (drain_ > 0 || !spec_.parts_writes()) return false;
  const bool rests = scheduler_.queued() == 0;
  if (spec_.write_high > 0) return choose_by_watermarks(rests);
  if (!has_room(true) || (rests && std::ssize(writes_) > spec_.write_threshold) ||
      (rests && reads_.empty() && now_ >= last_command_ + spec_.write_idle)) {
    drain_ = writes_.size();
    tried_ = 0;
  }
  return false;
}

// It serves one direction until the other is due: writes from the high watermark on, or while there are no reads, and
// then until the low one, or the last where no read waits. Requests of the other direction that are at the banks go
// back to the controller, but for queues of banks, which keep what they hold.
bool DramChannel::choose_by_watermarks(bool rests) {
  const auto writes = static_cast<std::int64_t>(held(true));
  if (writes_only_) {
    if (writes > 0 && (writes > spec_.write_low || reads_.empty())) return false;
  } else {
    const bool idle = rests && reads_.empty() && writes > 0 &&
                      (writes > spec_.write_threshold || now_ >= last_command_ + spec_.write_idle);
    if (writes < spec_.write_high && !idle) return false;
  }
  writes_only_ = !writes_only_;
  tried_ = 0;
  if (spec_.per_bank_queue_depth == 0) recall(!writes_only_);
  return true;
}

void DramChannel::recall(bool write) {
  std::vector<Before>& queue = write ? writes_ : reads_;
  std::vector<Before> all;
  for (const auto& [place, bank] : scheduler_.recall(write)) all.push_back({place, bank});
  all.insert(all.end(), queue.begin(), queue.end());
  queue = std::move(all);
}

}  // namespace tilescope::sim
