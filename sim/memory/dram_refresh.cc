// SPDX-License-Identifier: Apache-2.0
// The part of a DRAM channel that refreshes it: ranks whole, or their banks in turn.

#include <algorithm>
#include <utility>

#include "sim/memory/dram.h"

namespace tilescope::sim {

// Banks are closed as soon as they may be, one a clock, and the rank rests until the refresh is over.
void DramChannel::refresh(std::size_t number_of_rank, Clock at) {
  Rank& rank = ranks_[number_of_rank];
  const auto first = static_cast<std::size_t>(spec_.banks) * number_of_rank;
  std::vector<std::pair<Clock, std::size_t>> open;
  Clock begin = at;
  for (std::size_t b = first; b < first + static_cast<std::size_t>(spec_.banks); ++b) {
    close_idle_row(b, at);
    if (banks_[b].row != kNoRow) open.emplace_back(std::max(at, earliest(banks_[b], DramCommand::kPrecharge)), b);
    begin = std::max(begin, banks_[b].closed);
  }
  std::sort(open.begin(), open.end());
  Clock free = at;
  for (const auto& [ready, b] : open) {
    const Clock closed = std::max(free, ready);
    free = closed + 1_nck;
    issue(b, DramCommand::kPrecharge, closed);
    set_row(b, kNoRow);
    begin = std::max(begin, banks_[b].closed);
  }
  Clock& activate = rank.earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, begin + spec_.t.rfc);
  log_refresh(number_of_rank, begin);
}

// Banks take turns, those of neighbouring numbers one after the other; the others go on meanwhile.
void DramChannel::refresh_bank(std::size_t number_of_rank, Clock at) {
  Rank& rank = ranks_[number_of_rank];
  const auto number_of_bank =
      static_cast<std::size_t>(spec_.banks * static_cast<std::int64_t>(number_of_rank) + rank.refreshes % spec_.banks);
  Bank& bank = banks_[number_of_bank];
  close_idle_row(number_of_bank, at);
  if (bank.row != kNoRow) {
    issue(number_of_bank, DramCommand::kPrecharge, std::max(at, earliest(bank, DramCommand::kPrecharge)));
    set_row(number_of_bank, kNoRow);
  }
  const Clock begin = std::max(at, bank.closed);
  Clock& activate = bank.earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, begin + spec_.t.rfc_sb);
  note_asked(number_of_bank);
  log_refresh(number_of_rank, begin);
}

void DramChannel::log_refresh(std::size_t number_of_rank, Clock begin) {
  if (log_ == nullptr) return;
  const auto r = static_cast<std::int64_t>(number_of_rank);
  log_->refreshes.push_back({r % spec_.ranks, begin, r / spec_.ranks});
}

// From one refresh of a rank to the next: refi, or a bank's share of it, so that each has its turn once in refi.
Clock DramChannel::refresh_after(const Rank& rank) const {
  if (!spec_.refreshes_banks) return spec_.t.refi;
  const auto due = [&](std::int64_t n) { return spec_.t.refi * n / spec_.banks; };
  return due(rank.refreshes + 1) - due(rank.refreshes);
}

// Of a rank at rest each refi is like the one before, from the second on: those are left out, but for the last.
void DramChannel::skip_idle_refreshes(Rank& rank, std::int64_t before) {
  const std::int64_t each = spec_.refreshes_banks ? spec_.banks : 1;  // refreshes in refi
  const Clock idle = now_ - rank.refresh;
  if (rank.refreshes - before != each || idle < 2 * spec_.t.refi || log_ != nullptr) return;
  const std::int64_t periods = idle / spec_.t.refi - 1;
  rank.refresh += periods * spec_.t.refi;
  rank.refreshes += periods * each;
}

std::int64_t DramChannel::refreshes(Clock until) const {
  std::int64_t sum = 0;
  for (Rank rank : ranks_) {
    if (rank.refresh <= until) {
      const std::int64_t periods = (until - rank.refresh) / spec_.t.refi;
      rank.refresh += periods * spec_.t.refi;
      rank.refreshes += periods * (spec_.refreshes_banks ? spec_.banks : 1);
    }
    for (; rank.refresh <= until; ++rank.refreshes) rank.refresh += refresh_after(rank);
    sum += rank.refreshes;
  }
  return sum;
}

bool DramChannel::refresh_what_is_due() {
  bool any = false;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t before = ranks_[r].refreshes;
    for (Rank& rank = ranks_[r]; rank.refresh <= now_; any = true) {
      if (spec_.refreshes_banks)
        refresh_bank(r, rank.refresh);
      else
        refresh(r, rank.refresh);
      rank.refresh += refresh_after(rank);
      ++rank.refreshes;
      skip_idle_refreshes(rank, before);
    }
  }
  return any;
}

}  // namespace tilescope::sim
