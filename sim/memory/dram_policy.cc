// SPDX-License-Identifier: Apache-2.0
// The parts of a DRAM channel's controller that its file chooses: when it turns from reads to writes and back, and when
// a row closes that no other request conflicts with.

#include <algorithm>
#include <utility>

#include "sim/memory/dram.h"

namespace tilescope::sim {

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
  std::vector<std::pair<std::uint64_t, Before>> back;  // by age
  for (std::size_t b = 0; b < banks_.size(); ++b) {
    const std::size_t before = back.size();
    std::erase_if(banks_[b].queue, [&](const Queued& q) {
      if (q.write == write) back.push_back({q.age, {q.place, b}});
      return q.write == write;
    });
    if (back.size() == before) continue;
    room_[b] += static_cast<std::int64_t>(back.size() - before);
    find_hits(b);
  }
  queued_[write] -= back.size();
  std::sort(back.begin(), back.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Before>& queue = write ? writes_ : reads_;
  std::vector<Before> all;
  all.reserve(back.size() + queue.size());
  for (const auto& [age, request] : back) all.push_back(request);
  all.insert(all.end(), queue.begin(), queue.end());
  queue = std::move(all);
}

// As an auto-precharge does, no command is sent.
void DramChannel::close_row(std::size_t number_of_bank, Clock at) {
  const Clock ready = banks_[number_of_bank].earliest[number(DramCommand::kPrecharge)];
  issue(number_of_bank, DramCommand::kPrecharge, std::max(at, ready));
  set_row(number_of_bank, kNoRow);
}

// Once a request has left its bank.
void DramChannel::close_used_row(std::size_t number_of_bank) {
  using enum arch::PagePolicy;
  const auto [read, write] = banks_[number_of_bank].hit;
  const bool needed = read != kNone || write != kNone;
  if (spec_.page_policy == kClosed || (spec_.page_policy == kClosedAdaptive && !needed))
    close_row(number_of_bank, now_);
}

// Looked at when it matters: as a request comes to the bank, or a refresh.
void DramChannel::close_idle_row(std::size_t number_of_bank, Clock now) {
  const Bank& bank = banks_[number_of_bank];
  if (spec_.page_policy != arch::PagePolicy::kTimeout || bank.row == kNoRow || !bank.queue.empty()) return;
  if (const Clock closes = bank.used + spec_.page_timeout; closes <= now) close_row(number_of_bank, closes);
}

}  // namespace tilescope::sim
