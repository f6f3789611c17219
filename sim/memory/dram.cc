// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram.h"

#include <algorithm>
#include <tuple>

namespace tilescope::sim {
namespace {

// The two activation windows (tFAW, t32AW), as JEDEC defines them.
constexpr std::size_t kActivates = 4, kManyActivates = 32;

constexpr Clock kLongAgo = Clock::min() / 2;

// std::min and std::max of what counts are wrapped in, by reference, become branches (GCC 12): a channel's run takes 5
// % longer with them.
constexpr Clock earlier(Clock a, Clock b) { return Clock(std::min(a.count(), b.count())); }
constexpr Clock later(Clock a, Clock b) { return Clock(std::max(a.count(), b.count())); }

}  // namespace

DramChannel::DramChannel(const DramSpec& spec)
    : spec_(spec),
      banks_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks * spec.banks)),
      asked_(banks_.size()),
      groups_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks * spec.groups)),
      ranks_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks)),
      room_(banks_.size(), spec.queues_by_bank()           ? spec.queue_depth
                           : spec.per_bank_queue_depth > 0 ? spec.per_bank_queue_depth
                                                           : DramSpec::kNoBound) {
  for (auto& scopes : after_)
    for (ByCommand& clocks : scopes) clocks.fill(kLongAgo);
  for (const DramConstraint& c : constraints_of(spec.t))
    after_[number(c.before)][static_cast<std::size_t>(c.scope)][number(c.after)] = c.clocks;  // each stands there once
  const std::size_t banks_of_group = banks_.size() / groups_.size(), groups_of_rank = groups_.size() / ranks_.size();
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].rank = g / groups_of_rank;
  for (std::size_t b = 0; b < banks_.size(); ++b) {
    banks_[b].group = b / banks_of_group;
    banks_[b].rank = groups_[banks_[b].group].rank;
    asked_[b].fill(kNever);
  }
  for (Group& g : groups_) g.asked.fill(kNever);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {  // ranks take turns
    const std::int64_t turn = static_cast<std::int64_t>(r) % spec.ranks + 1;
    ranks_[r].refresh = spec.t.refi > 0_nck ? spec.t.refi * turn / spec.ranks : kNever;
    ranks_[r].activates.assign(kManyActivates, kLongAgo);
  }
}

// --- on the way to the banks

void DramChannel::push(const DramRequest& r) {
  if (free_.empty()) {
    free_.push_back(pending_.size());
    pending_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  Pending& p = pending_[place];
  p = {r, static_cast<std::int32_t>(r.bursts)};
  p.merges = r.write && r.merges;
  p.request.write = r.write && !r.merges;
  waiting_writes_ += r.write ? 1 : 0;
  wait(place);
}

// Requests are announced ahead of their arrival, and not quite in its order.
void DramChannel::wait(std::size_t place) {
  const DramRequest& r = pending_[place].request;
  auto at = waiting_.end();
  const auto first = waiting_.begin() + static_cast<std::ptrdiff_t>(admitted_);
  while (at != first && std::prev(at)->arrival > r.arrival) --at;
  waiting_.insert(at, {r.arrival, static_cast<std::uint32_t>(place), r.write});
  ++arriving_[r.write];
  next_ = std::min(next_, std::max(now_, r.arrival + kDramHandshake));
}

// Requests that count against those that the controller takes.
std::size_t DramChannel::held(bool write) const {
  if (!spec_.parts_writes())
    return reads_.size() + (spec_.per_bank_queue_depth > 0 ? 0 : queued_[false] + queued_[true]);
  return (write ? writes_ : reads_).size() + (spec_.per_bank_queue_depth > 0 ? 0 : queued_[write]);
}

bool DramChannel::has_room(bool write) const { return static_cast<std::int64_t>(held(write)) < spec_.queue_depth; }

bool DramChannel::has_room_for(const Waiting& w) const {
  return spec_.queues_by_bank() ? room_[static_cast<std::size_t>(pending_[w.place].request.bank)] > 0
                                : has_room(w.write);
}

bool DramChannel::accepts(bool write, std::int64_t bank) const {
  const auto at_bank = static_cast<std::size_t>(bank);
  if (!spec_.parts_writes()) {
    const std::size_t before = arriving_[false] + arriving_[true];
    if (!spec_.queues_by_bank()) return static_cast<std::int64_t>(before + held(write)) < spec_.queue_depth;
    // In their order: what stands before the controller may wait for any bank.
    return before == 0 && room_[at_bank] > 0;
  }
  return static_cast<std::int64_t>(arriving_[write] + held(write)) < spec_.queue_depth;
}

std::optional<Clock> DramChannel::next() const { return next_ == kNever ? std::nullopt : std::optional(next_); }

// Whether a request needs no bank: a read of what still waits to be written or is being read, a second write of it.
bool DramChannel::answered(std::size_t place, std::vector<DramServed>& served) {
  const Pending& p = pending_[place];
  const DramRequest& r = p.request;
  if (!r.place) return false;
  const auto find = [&](bool write) {
    const auto at_bank = static_cast<std::size_t>(r.bank);
    for (const Before& b : write&& spec_.parts_writes() ? writes_ : reads_)
      if (b.bank == at_bank && pending_[b.place].request.write == write && pending_[b.place].request.place == r.place)
        return b.place;
    for (const Queued& q : banks_[at_bank].queue)
      if (q.write == write && pending_[q.place].request.place == r.place) return q.place;
    return kNone;
  };
  if (find(true) != kNone) {
    const bool write = r.write || p.merges;
    served.push_back({r.id, write, true, 0, r.arrival, r.arrival + kDramHandshake});
    waiting_writes_ -= write ? 1 : 0;
    free_.push_back(place);
    return true;
  }
  const std::size_t reader = r.write || p.merges ? kNone : find(false);
  if (reader == kNone) return false;
  pending_[reader].shared = true;
  sharers_.emplace_back(place, reader);
  return true;
}

// In their order: a request whose queue is full holds up those behind it.
bool DramChannel::admit(std::vector<DramServed>& served) {
  constexpr std::size_t kAhead = 4;
  const std::size_t before = admitted_;
  for (; admitted_ < waiting_.size(); ++admitted_) {
    const auto [arrival, place, write] = waiting_[admitted_];
    if (arrival + kDramHandshake > now_ || !has_room_for(waiting_[admitted_])) break;
    if (spec_.queues_by_bank() && !reads_.empty()) break;  // which goes to its bank first
    if (admitted_ + kAhead < waiting_.size()) expect(waiting_[admitted_ + kAhead].place);
    Pending& p = pending_[place];
    p.request.arrival = std::max(arrival, now_ - kDramHandshake);
    if (!answered(place, served))
      (write && spec_.parts_writes() ? writes_ : reads_).push_back({place, static_cast<std::size_t>(p.request.bank)});
    --arriving_[write];
  }
  const bool any = admitted_ > before;
  if (2 * admitted_ >= waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(admitted_));
    admitted_ = 0;
  }
  return any;
}

Clock DramChannel::next_arrival() const {
  if (admitted_ == waiting_.size()) return kNever;
  const Waiting& w = waiting_[admitted_];
  return has_room_for(w) ? w.arrival + kDramHandshake : kNever;
}

// Whether what is at the banks has changed by that.
bool DramChannel::choose_direction() {
  if (drain_ > 0 || !spec_.parts_writes()) return false;
  const bool rests = queued_[false] + queued_[true] == 0;
  if (spec_.write_high > 0) return choose_by_watermarks(rests);
  if (!has_room(true) || (rests && std::ssize(writes_) > spec_.write_threshold) ||
      (rests && reads_.empty() && now_ >= last_command_ + spec_.write_idle)) {
    drain_ = writes_.size();
    tried_ = 0;
  }
  return false;
}

// Whether any request has gone to its bank.
bool DramChannel::hand_over() {
  bool any = false;
  for (;;) {
    any = choose_direction() || any;
    std::vector<Before>& queue = is_draining() ? writes_ : reads_;
    const auto fits = std::find_if(queue.begin() + static_cast<std::ptrdiff_t>(std::min(tried_, queue.size())),
                                   queue.end(), [&](const Before& b) { return room_[b.bank] > 0; });
    tried_ = static_cast<std::size_t>(fits - queue.begin());
    if (fits == queue.end()) return any;
    const DramRequest& r = pending_[fits->place].request;
    Bank& bank = banks_[fits->bank];
    if (spec_.page_policy == arch::PagePolicy::kTimeout) close_idle_row(fits->bank, now_);
    if (bank.row == r.row || !spec_.rows)
      if (std::size_t& hit = bank.hit[r.write]; hit == kNone) hit = bank.queue.size();
    bank.queue.push_back({fits->place, age_++, r.row, r.write});
    note_asked(fits->bank);
    --room_[fits->bank];
    ++queued_[r.write];
    if (drain_ > 0 && --drain_ == 0) tried_ = 0;
    queue.erase(fits);
    any = true;
  }
}

// --- commands

Clock DramChannel::first_of(const Group& g, std::size_t command) const {
  return later(later(g.asked[command], g.earliest[command]), ranks_[g.rank].earliest[command]);
}

Clock DramChannel::earliest(const Bank& bank, DramCommand c) const {
  const std::size_t n = number(c);
  return later(later(bank.earliest[n], groups_[bank.group].earliest[n]), ranks_[bank.rank].earliest[n]);
}

void DramChannel::issue(std::size_t bank, DramCommand c, Clock at) {
  Bank& b = banks_[bank];
  Rank& rank = ranks_[b.rank];
  const auto wait = [&](ByCommand& earliest, DramScope scope) {
    const ByCommand& clocks = after_[number(c)][static_cast<std::size_t>(scope)];
    for (std::size_t n = 0; n < kDramCommands; ++n) earliest[n] = later(earliest[n], at + clocks[n]);
  };
  wait(b.earliest, DramScope::kBank);
  wait(groups_[b.group].earliest, DramScope::kGroup);
  wait(rank.earliest, DramScope::kRank);
  const auto ranks = static_cast<std::size_t>(spec_.ranks);
  for (std::size_t r = b.rank / ranks * ranks; r < (b.rank / ranks + 1) * ranks; ++r)  // of its pseudo-channel
    if (r != b.rank) wait(ranks_[r].earliest, DramScope::kOtherRanks);
  if (c == DramCommand::kPrecharge) b.closed = at + spec_.t.rp;
  if (c != DramCommand::kActivate) return;
  ++activates_;
  rank.activates[rank.activated++ % kManyActivates] = at;
  const auto window = [&](std::size_t activates, Clock clocks) {
    const Clock first = rank.activates[(rank.activated - activates) % kManyActivates];
    Clock& next = rank.earliest[number(DramCommand::kActivate)];
    if (clocks > 0_nck) next = later(next, first + clocks);
  };
  window(kActivates, spec_.t.faw);
  window(kManyActivates, spec_.t.aw32);
}

void DramChannel::find_hits(std::size_t number_of_bank) {
  Bank& bank = banks_[number_of_bank];
  bank.hit = {kNone, kNone};
  if (!spec_.rows || bank.row != kNoRow)
    for (std::size_t i = 0; i < bank.queue.size(); ++i)
      if (std::size_t& hit = bank.hit[bank.queue[i].write]; hit == kNone)
        if (!spec_.rows || bank.queue[i].row == bank.row) hit = i, expect(bank.queue[i].place);
  note_asked(number_of_bank);
}

void DramChannel::set_row(std::size_t number_of_bank, std::int64_t row) {
  banks_[number_of_bank].row = row;
  banks_[number_of_bank].columns = 0;
  find_hits(number_of_bank);
}

// To be called whenever a bank's queue, its row, its share or its own times have changed.
void DramChannel::note_asked(std::size_t number_of_bank) {
  const ByCommand now = asked_of(banks_[number_of_bank]);
  const std::size_t number_of_group = banks_[number_of_bank].group, banks = banks_.size() / groups_.size();
  for (std::size_t n = 0; n < kDramCommands; ++n) {
    if (asked_[number_of_bank][n] == now[n]) continue;
    asked_[number_of_bank][n] = now[n];
    Clock least = kNever;
    for (std::size_t b = number_of_group * banks; b < (number_of_group + 1) * banks; ++b)
      least = earlier(least, asked_[b][n]);
    groups_[number_of_group].asked[n] = least;
  }
}

DramChannel::ByCommand DramChannel::asked_of(const Bank& bank) {
  using enum DramCommand;
  ByCommand asked;
  asked.fill(kNever);
  const auto ask = [&](DramCommand c) { asked[number(c)] = bank.earliest[number(c)]; };
  if (bank.queue.empty()) return asked;
  if (spec_.rows && bank.row == kNoRow) {
    ask(kActivate);
    return asked;
  }
  const auto [read, write] = bank.hit;
  const bool hits = read != kNone || write != kNone, oldest_hits = read == 0 || write == 0;
  if (hits && !oldest_hits && starves(bank)) {
    ask(kPrecharge);
    return asked;
  }
  if (read != kNone) ask(kRead);
  if (write != kNone) ask(kWrite);
  if (!hits || (!oldest_hits && bank.columns >= spec_.row_hit_cap)) ask(kPrecharge);
  return asked;
}

// Whether the oldest at a bank has waited too long for others that find their row open.
bool DramChannel::starves(const Bank& bank) {
  const Clock since = pending_[bank.queue[0].place].request.arrival;
  if (spec_.max_age == Clock::max()) return false;
  const Clock last = since + spec_.max_age;
  if (now_ > last) return true;
  starves_ = std::min(starves_, last);
  return false;
}

// When the next column command and the next row command may come from a clock on, as far as is known now.
void DramChannel::plan(Clock from) {
  using enum DramCommand;
  if (now_ > starves_) {
    starves_ = kNever;
    for (std::size_t b = 0; b < banks_.size(); ++b) note_asked(b);
  }
  ByCommand first;
  first.fill(kNever);
  for (const Group& g : groups_)
    for (std::size_t n = 0; n < kDramCommands; ++n) first[n] = earlier(first[n], first_of(g, n));
  const Clock row_bus = later(from, row_bus_), column_bus = spec_.row_bus ? from : row_bus;
  column_ = later(column_bus, earlier(first[number(kRead)], first[number(kWrite)]));
  row_ = later(row_bus, earlier(first[number(kActivate)], first[number(kPrecharge)]));
}

// Of two commands that may come at a clock the first in turn: for the oldest request, or where banks have queues at the
// bank that is next.
DramChannel::Candidate DramChannel::first_in_turn(Clock at, DramCommand one, DramCommand other) const {
  const bool queues = spec_.per_bank_queue_depth > 0;
  Candidate candidate;
  std::size_t b = queues ? last_bank_ : banks_.size() - 1;
  for (std::size_t turn = 0; turn < banks_.size(); ++turn) {
    b = b + 1 == banks_.size() ? 0 : b + 1;
    const ByCommand& asked = asked_[b];
    if (earlier(asked[number(one)], asked[number(other)]) > at) continue;
    const Bank& bank = banks_[b];
    for (const DramCommand c : {one, other}) {
      if (asked[number(c)] > at || earliest(bank, c) > at) continue;
      const bool column = c == DramCommand::kRead || c == DramCommand::kWrite;
      const std::size_t entry = column ? bank.hit[c == DramCommand::kWrite] : 0;
      const std::uint64_t first = queues ? turn : bank.queue[entry].age;
      if (std::tie(first, entry) < std::tie(candidate.turn, candidate.entry)) candidate = {first, entry, b, c};
    }
    if (queues && candidate.turn == turn) break;
  }
  return candidate;
}

// Whether the request has left its bank.
bool DramChannel::serve(const Candidate& w, std::vector<DramServed>& served) {
  Bank& bank = banks_[w.bank];
  issue(w.bank, w.command, now_);
  last_command_ = now_;
  last_bank_ = w.bank;
  Queued& q = bank.queue[w.entry];
  Pending& p = pending_[q.place];
  if (w.command == DramCommand::kActivate || w.command == DramCommand::kPrecharge) {
    const bool opens = w.command == DramCommand::kActivate;
    if (opens) {
      p.opened = true;
      row_bus_ = now_ + spec_.activate_command;
    }
    bank.used = now_;
    set_row(w.bank, opens ? q.row : kNoRow);
    return false;
  }
  ++bank.columns;
  bank.used = now_;
  if (log_ != nullptr) log_column(p);
  if (--p.left > 0) {
    note_asked(w.bank);
    return false;
  }
  finish(q.place, served);
  --queued_[w.command == DramCommand::kWrite];
  bank.queue.erase(bank.queue.begin() + static_cast<std::ptrdiff_t>(w.entry));
  ++room_[w.bank];
  tried_ = 0;
  find_hits(w.bank);
  if (spec_.page_policy != arch::PagePolicy::kOpen) close_used_row(w.bank);
  return true;
}

void DramChannel::log_column(Pending& p) {
  const bool hit = !p.opened || p.logged_miss;
  p.logged_miss = !hit || p.logged_miss;
  log_->columns.push_back({p.request.write, hit, now_ + (p.request.write ? spec_.t.cwl : spec_.t.cl),
                           p.request.bank / (spec_.ranks * spec_.banks)});
}

void DramChannel::finish(std::size_t place, std::vector<DramServed>& served) {
  Pending& p = pending_[place];
  DramRequest& r = p.request;
  const Clock done = now_ + (r.write ? spec_.t.cwl : spec_.t.cl) + spec_.t.burst;
  served.push_back({r.id, r.write, !p.opened, r.bursts, r.arrival, done, p.merges});
  waiting_writes_ -= r.write ? 1 : 0;
  if (p.shared) finish_sharers(place, done, served);
  if (!p.merges) {
    free_.push_back(place);
    return;
  }
  r.write = true;
  r.arrival = done;
  p = {r, static_cast<std::int32_t>(r.bursts)};
  wait(place);
}

void DramChannel::finish_sharers(std::size_t place, Clock done, std::vector<DramServed>& served) {
  std::erase_if(sharers_, [&](const auto& sharer) {
    if (sharer.second != place) return false;
    const DramRequest& s = pending_[sharer.first].request;
    served.push_back({s.id, false, true, 0, s.arrival, done});
    free_.push_back(sharer.first);
    return true;
  });
}

// --- what happens when

bool DramChannel::take_in(std::vector<DramServed>& served) {
  bool any = false;
  for (bool more = true; more; any = any || more) {
    more = admit(served);
    more = hand_over() || more;
  }
  return any;
}

// Two commands of a clock go to two banks; where one fits, a column command goes first, or whose turn it is.
DramChannel::Issued DramChannel::issue_what_is_due(std::vector<DramServed>& served) {
  using enum DramCommand;
  if (earlier(column_, row_) > now_) return {};
  if (row_ > now_) return {true, serve(first_in_turn(column_, kRead, kWrite), served)};
  if (column_ > now_) return {true, serve(first_in_turn(row_, kActivate, kPrecharge), served)};
  Candidate first = first_in_turn(column_, kRead, kWrite), second = first_in_turn(row_, kActivate, kPrecharge);
  if (spec_.per_bank_queue_depth > 0 && std::tie(second.turn, second.entry) < std::tie(first.turn, first.entry))
    std::swap(first, second);
  bool left = serve(first, served);
  if (spec_.row_bus && second.bank != first.bank) left = serve(second, served) || left;
  return {true, left};
}

void DramChannel::run(Clock until, std::vector<DramServed>& served) {
  while (next_ < until) {
    now_ = later(now_, next_);
    const bool refreshed = refresh_what_is_due();
    if (take_in(served) || refreshed) plan(now_);
    if (const Issued issued = issue_what_is_due(served); issued.any) {
      if (issued.left) take_in(served);
      plan(now_ + 1_nck);
    }
    const bool rests = queued_[false] + queued_[true] + reads_.size() == 0 && !writes_.empty();
    next_ = earlier(earlier(column_, row_), earlier(next_arrival(), rests ? last_command_ + spec_.write_idle : kNever));
  }
}

}  // namespace tilescope::sim
