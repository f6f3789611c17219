// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/dram_scheduler.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilescope::sim {

DramScheduler::DramScheduler(const DramSpec& spec, DramBanks& banks, DramPending& pending)
    : spec_(spec),
      banks_(banks),
      pending_(pending),
      asked_(banks.banks()),
      group_asked_(banks.groups()),
      room_(banks.banks(), spec.queues_by_bank()           ? spec.queue_depth
                           : spec.per_bank_queue_depth > 0 ? spec.per_bank_queue_depth
                                                           : DramSpec::kNoBound) {
  for (ByCommand& asked : asked_) asked.fill(kNever);
  for (ByCommand& asked : group_asked_) asked.fill(kNever);
  first_.fill(kNever);
}

// --- queues

void DramScheduler::enter(std::size_t bank, std::size_t place) {
  const DramRequest& r = pending_[place].request;
  DramBanks::Bank& at = banks_[bank];
  if (spec_.page_policy == arch::PagePolicy::kTimeout) close_idle_row(bank, now_);
  if (at.row == r.row || !spec_.rows)
    if (std::size_t& hit = at.hit[r.write]; hit == kNone) hit = at.queue.size();
  at.queue.push_back({place, age_++, r.row, r.write});
  note_asked(bank);
  --room_[bank];
  ++queued_[r.write];
}

void DramScheduler::leave(std::size_t bank, std::size_t entry) {
  DramBanks::Bank& at = banks_[bank];
  --queued_[at.queue[entry].write];
  at.queue.erase(at.queue.begin() + static_cast<std::ptrdiff_t>(entry));
  ++room_[bank];
  find_hits(bank);
  const bool needed = at.hit[false] != kNone || at.hit[true] != kNone;
  using enum arch::PagePolicy;
  if (spec_.page_policy == kClosed || (spec_.page_policy == kClosedAdaptive && !needed)) close_row(bank, now_);
}

std::vector<std::pair<std::size_t, std::size_t>> DramScheduler::recall(bool write) {
  std::vector<std::tuple<std::uint64_t, std::size_t, std::size_t>> back;  // by age
  for (std::size_t b = 0; b < banks_.banks(); ++b) {
    const std::size_t before = back.size();
    std::erase_if(banks_[b].queue, [&](const Queued& q) {
      if (q.write == write) back.emplace_back(q.age, q.place, b);
      return q.write == write;
    });
    if (back.size() == before) continue;
    room_[b] += static_cast<std::int64_t>(back.size() - before);
    find_hits(b);
  }
  queued_[write] -= back.size();
  std::sort(back.begin(), back.end());
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (const auto& [age, place, bank] : back) out.emplace_back(place, bank);
  return out;
}

void DramScheduler::find_hits(std::size_t bank) {
  DramBanks::Bank& at = banks_[bank];
  at.hit = {kNone, kNone};
  if (!spec_.rows || at.row != DramBanks::kNoRow)
    for (std::size_t i = 0; i < at.queue.size(); ++i)
      if (std::size_t& hit = at.hit[at.queue[i].write]; hit == kNone)
        if (!spec_.rows || at.queue[i].row == at.row) hit = i, pending_.expect(at.queue[i].place);
  note_asked(bank);
}

// --- rows

void DramScheduler::open_row(std::size_t bank, std::int64_t row) {
  banks_[bank].row = row;
  banks_[bank].columns = 0;
  find_hits(bank);
}

void DramScheduler::close_row(std::size_t bank, Clock at) {
  const Clock ready = banks_[bank].earliest[number(DramCommand::kPrecharge)];
  banks_.issue(bank, DramCommand::kPrecharge, std::max(at, ready));
  open_row(bank, DramBanks::kNoRow);
}

// Looked at when it matters: as a request comes to the bank, or a refresh.
void DramScheduler::close_idle_row(std::size_t bank, Clock now) {
  const DramBanks::Bank& b = banks_[bank];
  if (spec_.page_policy != arch::PagePolicy::kTimeout || b.row == DramBanks::kNoRow || !b.queue.empty()) return;
  if (const Clock closes = b.used + spec_.page_timeout; closes <= now) close_row(bank, closes);
}

// --- commands

void DramScheduler::note_asked(std::size_t bank) {
  const ByCommand now = asked_of(bank);
  const std::size_t group = banks_[bank].group, banks = banks_.banks_of_group();
  for (std::size_t n = 0; n < kDramCommands; ++n) {
    if (asked_[bank][n] == now[n]) continue;
    asked_[bank][n] = now[n];
    Clock least = kNever;
    for (std::size_t b = group * banks; b < (group + 1) * banks; ++b) least = earlier(least, asked_[b][n]);
    group_asked_[group][n] = least;
  }
}

ByCommand DramScheduler::asked_of(std::size_t bank) {
  using enum DramCommand;
  const DramBanks::Bank& b = banks_[bank];
  ByCommand asked;
  asked.fill(kNever);
  const auto ask = [&](DramCommand c) { asked[number(c)] = b.earliest[number(c)]; };
  if (b.queue.empty()) return asked;
  if (spec_.rows && b.row == DramBanks::kNoRow) {
    ask(kActivate);
    return asked;
  }
  const auto [read, write] = b.hit;
  const bool hits = read != kNone || write != kNone, oldest_hits = read == 0 || write == 0;
  if (hits && !oldest_hits && starves(b)) {
    ask(kPrecharge);
    return asked;
  }
  if (read != kNone) ask(kRead);
  if (write != kNone) ask(kWrite);
  if (!hits || (!oldest_hits && b.columns >= spec_.row_hit_cap)) ask(kPrecharge);
  return asked;
}

// Whether the oldest at a bank has waited too long for others that find their row open.
bool DramScheduler::starves(const DramBanks::Bank& bank) {
  if (spec_.max_age == Clock::max()) return false;
  const Clock last = pending_[bank.queue[0].place].request.arrival + spec_.max_age;
  if (now_ > last) return true;
  starves_ = std::min(starves_, last);
  return false;
}

void DramScheduler::plan() {
  if (now_ > starves_) {
    starves_ = kNever;
    for (std::size_t b = 0; b < banks_.banks(); ++b) note_asked(b);
  }
  ByCommand first;
  first.fill(kNever);
  for (std::size_t g = 0; g < group_asked_.size(); ++g)
    for (std::size_t n = 0; n < kDramCommands; ++n)
      first[n] = earlier(first[n], later(group_asked_[g][n], banks_.of_group(g, n)));
  first_ = first;
}

DramScheduler::Candidate DramScheduler::first_in_turn(Clock at, DramCommand one, DramCommand other) const {
  const bool queues = spec_.per_bank_queue_depth > 0;
  const std::size_t banks = banks_.banks();
  Candidate candidate;
  std::size_t b = queues ? last_bank_ : banks - 1;
  for (std::size_t turn = 0; turn < banks; ++turn) {
    b = b + 1 == banks ? 0 : b + 1;
    const ByCommand& asked = asked_[b];
    if (earlier(asked[number(one)], asked[number(other)]) > at) continue;
    const DramBanks::Bank& bank = banks_[b];
    for (const DramCommand c : {one, other}) {
      if (asked[number(c)] > at || banks_.earliest(b, c) > at) continue;
      const bool column = c == DramCommand::kRead || c == DramCommand::kWrite;
      const std::size_t entry = column ? bank.hit[c == DramCommand::kWrite] : 0;
      const std::uint64_t first = queues ? turn : bank.queue[entry].age;
      if (std::tie(first, entry) < std::tie(candidate.turn, candidate.entry)) candidate = {first, entry, b, c};
    }
    if (queues && candidate.turn == turn) break;
  }
  return candidate;
}

}  // namespace tilescope::sim
