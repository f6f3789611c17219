// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/dram_refresh.h"

#include <algorithm>
#include <utility>

namespace tilescope::sim {

DramRefresh::DramRefresh(const DramSpec& spec, DramBanks& banks, DramScheduler& scheduler)
    : spec_(spec), banks_(banks), scheduler_(scheduler), ranks_(banks.ranks()) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {  // ranks take turns
    const std::int64_t turn = static_cast<std::int64_t>(r) % spec.ranks + 1;
    ranks_[r].due = spec.t.refi > 0_nck ? spec.t.refi * turn / spec.ranks : DramScheduler::kNever;
  }
}

// Banks are closed as soon as they may be, one a clock, and the rank rests until the refresh is over.
Clock DramRefresh::refresh_rank(std::size_t rank, Clock at) {
  const auto first = static_cast<std::size_t>(spec_.banks) * rank;
  std::vector<std::pair<Clock, std::size_t>> open;
  Clock begin = at;
  for (std::size_t b = first; b < first + static_cast<std::size_t>(spec_.banks); ++b) {
    scheduler_.close_idle_row(b, at);
    if (banks_[b].row != DramBanks::kNoRow)
      open.emplace_back(std::max(at, banks_.earliest(b, DramCommand::kPrecharge)), b);
    begin = std::max(begin, banks_[b].closed);
  }
  std::sort(open.begin(), open.end());
  Clock free = at;
  for (const auto& [ready, b] : open) {
    const Clock closed = std::max(free, ready);
    free = closed + 1_nck;
    banks_.issue(b, DramCommand::kPrecharge, closed);
    scheduler_.open_row(b, DramBanks::kNoRow);
    begin = std::max(begin, banks_[b].closed);
  }
  banks_.hold_rank(rank, begin + spec_.t.rfc);
  return begin;
}

// Banks take turns, those of neighbouring numbers one after the other; the others go on meanwhile.
Clock DramRefresh::refresh_bank(std::size_t rank, Clock at) {
  const auto number_of_bank =
      static_cast<std::size_t>(spec_.banks * static_cast<std::int64_t>(rank) + ranks_[rank].refreshes % spec_.banks);
  DramBanks::Bank& bank = banks_[number_of_bank];
  scheduler_.close_idle_row(number_of_bank, at);
  if (bank.row != DramBanks::kNoRow) {
    banks_.issue(number_of_bank, DramCommand::kPrecharge,
                 std::max(at, banks_.earliest(number_of_bank, DramCommand::kPrecharge)));
    scheduler_.open_row(number_of_bank, DramBanks::kNoRow);
  }
  const Clock begin = std::max(at, bank.closed);
  Clock& activate = bank.earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, begin + spec_.t.rfc_sb);
  scheduler_.note_asked(number_of_bank);
  return begin;
}

// From one refresh of a rank to the next: refi, or a bank's share of it, so that each has its turn once in refi.
Clock DramRefresh::interval(const Rank& rank) const {
  if (!spec_.refreshes_banks) return spec_.t.refi;
  const auto due = [&](std::int64_t n) { return spec_.t.refi * n / spec_.banks; };
  return due(rank.refreshes + 1) - due(rank.refreshes);
}

// Of a rank at rest each refi is like the one before, from the second on: those are left out, but for the last.
void DramRefresh::skip_idle(Rank& rank, std::int64_t before, Clock now) const {
  const std::int64_t each = spec_.refreshes_banks ? spec_.banks : 1;  // refreshes in refi
  const Clock idle = now - rank.due;
  if (rank.refreshes - before != each || idle < 2 * spec_.t.refi) return;
  const std::int64_t periods = idle / spec_.t.refi - 1;
  rank.due += periods * spec_.t.refi;
  rank.refreshes += periods * each;
}

std::int64_t DramRefresh::count(Clock until) const {
  std::int64_t sum = 0;
  for (Rank rank : ranks_) {
    if (rank.due <= until) {
      const std::int64_t periods = (until - rank.due) / spec_.t.refi;
      rank.due += periods * spec_.t.refi;
      rank.refreshes += periods * (spec_.refreshes_banks ? spec_.banks : 1);
    }
    for (; rank.due <= until; ++rank.refreshes) rank.due += interval(rank);
    sum += rank.refreshes;
  }
  return sum;
}

bool DramRefresh::run(Clock now, DramLog* log) {
  bool any = false;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t before = ranks_[r].refreshes;
    for (Rank& rank = ranks_[r]; rank.due <= now; any = true) {
      const Clock begin = spec_.refreshes_banks ? refresh_bank(r, rank.due) : refresh_rank(r, rank.due);
      rank.due += interval(rank);
      ++rank.refreshes;
      const auto number = static_cast<std::int64_t>(r);
      if (log != nullptr)
        log->refreshes.push_back({number % spec_.ranks, begin, number / spec_.ranks});
      else
        skip_idle(rank, before, now);
    }
  }
  return any;
}

}  // namespace tilescope::sim
