#include "sim/memory/dram.h"

#include <algorithm>
#include <tuple>

namespace tilescope::sim {
namespace {

// A controller takes so many reads and so many writes (DRAMsim3, Ramulator 2 and DRAMSys: 32 each). Writes drain once
// their buffer is full, or once more than eight wait and the banks rest; where banks have queues, a row that has served
// four columns may be closed for an older request (both DRAMsim3: facts/dram.md, section 2).
constexpr std::size_t kMost = 32;  // of a kind
constexpr std::int64_t kColumnsOfARow = 4;
constexpr std::size_t kFewWrites = 8;
// Few writes go too once nothing has been asked for so long, and nobody at a bank waits longer than this for requests
// that suit the open row better. Bounds, no measured figures.
constexpr Clock kRest = 50;
constexpr Clock kLongestWait = 2000, kLongestWaitInQueue = 20000;
constexpr std::size_t kActivates = 4, kManyActivates = 32;  // of the two windows

std::size_t number(DramCommand c) { return static_cast<std::size_t>(c); }

}  // namespace

DramChannel::DramChannel(const DramSpec& spec)
    : spec_(spec),
      banks_(static_cast<std::size_t>(spec.ranks * spec.banks)),
      groups_(static_cast<std::size_t>(spec.ranks * spec.groups)),
      ranks_(static_cast<std::size_t>(spec.ranks)),
      room_(banks_.size(), spec.bank_queue > 0 ? spec.bank_queue : std::numeric_limits<std::int64_t>::max()),
      asks_(banks_.size(), kNothing) {
  for (const DramConstraint& c : constraints_of(spec.t)) after_[number(c.before)].push_back(c);
  const std::int64_t banks_of_group = spec.banks / spec.groups;
  for (std::size_t b = 0; b < banks_.size(); ++b) {
    banks_[b].group = b / static_cast<std::size_t>(banks_of_group);
    banks_[b].rank = b / static_cast<std::size_t>(spec.banks);
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {  // ranks take turns
    ranks_[r].refresh = spec.t.refi > 0 ? spec.t.refi * static_cast<Clock>(r + 1) / spec.ranks : kNever;
    ranks_[r].activates.assign(kManyActivates, std::numeric_limits<Clock>::min() / 2);
  }
}

// --- on the way to the banks

// Requests are announced ahead of their arrival, and not quite in its order.
void DramChannel::push(const DramRequest& r) {
  auto at = waiting_.end();
  while (at != waiting_.begin() && std::prev(at)->arrival > r.arrival) --at;
  waiting_.insert(at, r);
  ++arriving_[r.write];
  waiting_writes_ += r.write ? 1 : 0;
  next_ = std::min(next_, std::max(now_, r.arrival + kDramHandshake));
}

// Requests that count against those that the controller takes.
std::size_t DramChannel::held(bool write) const {
  return (write ? writes_ : reads_).size() + (spec_.bank_queue > 0 ? 0 : queued_[write]);
}

bool DramChannel::has_room(bool write) const { return held(write) < kMost; }

bool DramChannel::accepts(bool write) const { return arriving_[write] + held(write) < kMost; }

std::optional<Clock> DramChannel::next() const { return next_ == kNever ? std::nullopt : std::optional(next_); }

std::size_t DramChannel::take(const DramRequest& r, Clock since) {
  std::size_t at = taken_.size();
  if (free_.empty()) {
    taken_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  taken_[at] = {r, since, r.bursts};
  return at;
}

// Whether a request needs no bank: a read of what still waits to be written or is being read, a second write of it.
bool DramChannel::answered(const DramRequest& r, Clock since, std::vector<DramServed>& served) {
  if (!r.place) return false;
  const auto pending = [&](bool write) {
    const auto at_bank = static_cast<std::size_t>(r.bank);
    for (const Before& b : write ? writes_ : reads_)
      if (b.bank == at_bank && taken_[b.taken].request.place == r.place) return b.taken;
    for (const Queued& q : banks_[at_bank].queue)
      if (q.write == write && taken_[q.taken].request.place == r.place) return q.taken;
    return kNone;
  };
  if (pending(true) != kNone) {
    served.push_back({r.id, r.write, true, r.bursts, since, since + kDramHandshake});
    waiting_writes_ -= r.write ? 1 : 0;
    return true;
  }
  const std::size_t reader = r.write ? kNone : pending(false);
  if (reader == kNone) return false;
  taken_[reader].shared = true;
  sharers_.emplace_back(reader, r);
  sharers_.back().second.arrival = since;
  return true;
}

// In their order: who finds no room holds up those behind.
bool DramChannel::admit(std::vector<DramServed>& served) {
  bool any = false;
  while (!waiting_.empty() && waiting_.front().arrival + kDramHandshake <= now_) {
    const DramRequest& r = waiting_.front();
    if (!has_room(r.write)) break;
    const Clock since = std::max(r.arrival, now_ - kDramHandshake);
    if (!answered(r, since, served))
      (r.write ? writes_ : reads_).push_back({take(r, since), static_cast<std::size_t>(r.bank)});
    --arriving_[r.write];
    waiting_.pop_front();
    any = true;
  }
  return any;
}

Clock DramChannel::next_arrival() const {
  return waiting_.empty() || !has_room(waiting_.front().write) ? kNever : waiting_.front().arrival + kDramHandshake;
}

void DramChannel::choose_direction() {
  if (drain_ > 0) return;
  const bool rests = queued_[false] + queued_[true] == 0;
  if (!has_room(true) || (rests && writes_.size() > kFewWrites) ||
      (rests && reads_.empty() && now_ >= last_command_ + kRest)) {
    drain_ = writes_.size();
    tried_ = 0;
  }
}

// Whether any request has gone to its bank.
bool DramChannel::hand_over() {
  bool any = false;
  for (;;) {
    choose_direction();
    std::vector<Before>& queue = drain_ > 0 ? writes_ : reads_;
    const auto fits = std::find_if(queue.begin() + static_cast<std::ptrdiff_t>(std::min(tried_, queue.size())),
                                   queue.end(), [&](const Before& b) { return room_[b.bank] > 0; });
    tried_ = static_cast<std::size_t>(fits - queue.begin());
    if (fits == queue.end()) return any;
    const DramRequest& r = taken_[fits->taken].request;
    Bank& bank = banks_[fits->bank];
    if (bank.row == r.row || !spec_.rows)
      if (std::size_t& hit = bank.hit[r.write]; hit == kNone) hit = bank.queue.size();
    bank.queue.push_back({fits->taken, age_++, r.row, r.write});
    note_asked(fits->bank);
    --room_[fits->bank];
    ++queued_[r.write];
    if (r.write && --drain_ == 0) tried_ = 0;
    queue.erase(fits);
    any = true;
  }
}

// --- commands

Clock DramChannel::earliest(const Bank& bank, DramCommand c) const {
  const std::size_t n = number(c);
  return std::max({bank.earliest[n], groups_[bank.group][n], ranks_[bank.rank].earliest[n]});
}

void DramChannel::issue(std::size_t bank, DramCommand c, Clock at) {
  Bank& b = banks_[bank];
  Rank& rank = ranks_[b.rank];
  const auto wait = [at](Earliest& e, const DramConstraint& k) {
    e[number(k.after)] = std::max(e[number(k.after)], at + k.clocks);
  };
  for (const DramConstraint& k : after_[number(c)]) switch (k.scope) {
      case DramScope::kBank:
        wait(b.earliest, k);
        break;
      case DramScope::kGroup:
        wait(groups_[b.group], k);
        break;
      case DramScope::kRank:
        wait(rank.earliest, k);
        break;
      case DramScope::kOtherRanks:
        for (std::size_t r = 0; r < ranks_.size(); ++r)
          if (r != b.rank) wait(ranks_[r].earliest, k);
        break;
    }
  if (c == DramCommand::kPrecharge) b.closed = at + spec_.t.rp;
  if (c != DramCommand::kActivate) return;
  ++activates_;
  rank.activates[rank.activated++ % kManyActivates] = at;
  const auto window = [&](std::size_t activates, Clock clocks) {
    const Clock first = rank.activates[(rank.activated - activates) % kManyActivates];
    Clock& next = rank.earliest[number(DramCommand::kActivate)];
    if (clocks > 0) next = std::max(next, first + clocks);
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
        if (!spec_.rows || bank.queue[i].row == bank.row) hit = i;
  note_asked(number_of_bank);
}

void DramChannel::set_row(std::size_t number_of_bank, std::int64_t row) {
  banks_[number_of_bank].row = row;
  banks_[number_of_bank].columns = 0;
  find_hits(number_of_bank);
}

// What a bank asks for; to be called whenever its queue, its row or its share has changed.
void DramChannel::note_asked(std::size_t number_of_bank) {
  const Bank& bank = banks_[number_of_bank];
  std::uint8_t& asks = asks_[number_of_bank];
  asks = kNothing;
  if (bank.queue.empty()) return;
  if (spec_.rows && bank.row == kNoRow) {
    asks = kActivate;
    return;
  }
  const auto [read, write] = bank.hit;
  const bool hits = read != kNone || write != kNone;
  if (hits) asks = kColumn;
  if (read == 0 || write == 0) return;  // the oldest wants another row
  if (!hits || (spec_.bank_queue > 0 && bank.columns >= kColumnsOfARow)) asks |= kPrecharge;
  if (hits) asks |= kMayStarve;
}

// The next column command and the next row command from a clock on, as far as is known now. Of equally early ones the
// first in turn: the oldest, or where banks have queues the one whose bank is next; nobody can be before the first of
// those that waits for nothing but the ranks.
void DramChannel::plan(Clock from) {
  const bool queues = spec_.bank_queue > 0;
  const auto ranks_let = [&](DramCommand c) {
    Clock first = kNever;
    for (const Rank& r : ranks_) first = std::min(first, r.earliest[number(c)]);
    return std::max(first, from);
  };
  const Clock first_activate = ranks_let(DramCommand::kActivate);
  const Clock first_column = std::min(ranks_let(DramCommand::kRead), ranks_let(DramCommand::kWrite));
  Wish activate, precharge, column;
  std::uint8_t open = kActivate | kPrecharge | kColumn;  // questions
  std::size_t b = queues ? last_bank_ : banks_.size() - 1;
  for (std::size_t turn = 0; turn < banks_.size() && open != 0; ++turn) {
    b = b + 1 == banks_.size() ? 0 : b + 1;
    std::uint8_t asks = asks_[b];
    if ((asks & open) == 0) continue;
    const Bank& bank = banks_[b];
    if ((asks & kMayStarve) != 0 &&
        now_ - taken_[bank.queue[0].taken].since > (queues ? kLongestWaitInQueue : kLongestWait))
      asks = kPrecharge;
    asks &= open;
    const auto consider = [&](Wish& wish, std::size_t entry, DramCommand c) {
      const Clock at = std::max(from, earliest(bank, c));
      if (at > wish.at) return;
      const std::uint64_t first = queues ? turn : bank.queue[entry].age;
      if (at < wish.at || first < wish.turn || (first == wish.turn && entry < wish.entry))
        wish = {at, first, b, entry, c};
    };
    if ((asks & kActivate) != 0) consider(activate, 0, DramCommand::kActivate);
    if ((asks & kPrecharge) != 0) consider(precharge, 0, DramCommand::kPrecharge);
    if ((asks & kColumn) != 0) {
      if (bank.hit[false] != kNone) consider(column, bank.hit[false], DramCommand::kRead);
      if (bank.hit[true] != kNone) consider(column, bank.hit[true], DramCommand::kWrite);
    }
    if (!queues) continue;
    if (activate.at <= first_activate) open &= static_cast<std::uint8_t>(~kActivate);
    if (precharge.at <= from) open &= static_cast<std::uint8_t>(~kPrecharge);
    if (column.at <= first_column) open &= static_cast<std::uint8_t>(~kColumn);
  }
  column_ = column;
  row_ = std::tie(activate.at, activate.turn) < std::tie(precharge.at, precharge.turn) ? activate : precharge;
}

// Whether the request has left its bank.
bool DramChannel::serve(const Wish& w, std::vector<DramServed>& served) {
  Bank& bank = banks_[w.bank];
  issue(w.bank, w.command, now_);
  last_command_ = now_;
  last_bank_ = w.bank;
  Queued& q = bank.queue[w.entry];
  Taken& t = taken_[q.taken];
  if (w.command == DramCommand::kActivate || w.command == DramCommand::kPrecharge) {
    const bool opens = w.command == DramCommand::kActivate;
    t.opened = t.opened || opens;
    set_row(w.bank, opens ? q.row : kNoRow);
    return false;
  }
  ++bank.columns;
  if (log_ != nullptr) log_column(t);
  if (--t.left > 0) {
    note_asked(w.bank);
    return false;
  }
  finish(q.taken, served);
  --queued_[w.command == DramCommand::kWrite];
  bank.queue.erase(bank.queue.begin() + static_cast<std::ptrdiff_t>(w.entry));
  ++room_[w.bank];
  tried_ = 0;
  find_hits(w.bank);
  return true;
}

void DramChannel::log_column(Taken& t) {
  const bool hit = !t.opened || t.logged_miss;
  t.logged_miss = !hit || t.logged_miss;
  log_->columns.push_back({t.request.write, hit, now_ + (t.request.write ? spec_.t.cwl : spec_.t.cl)});
}

void DramChannel::finish(std::size_t at, std::vector<DramServed>& served) {
  const Taken& t = taken_[at];
  const DramRequest& r = t.request;
  const Clock done = now_ + (r.write ? spec_.t.cwl : spec_.t.cl) + spec_.t.burst;
  served.push_back({r.id, r.write, !t.opened, r.bursts, t.since, done});
  waiting_writes_ -= r.write ? 1 : 0;
  if (t.shared)
    std::erase_if(sharers_, [&](const auto& s) {
      if (s.first != at) return false;
      served.push_back({s.second.id, false, true, s.second.bursts, s.second.arrival, done});
      return true;
    });
  free_.push_back(at);
}

// --- refresh

// Banks are closed as soon as they may be, one a clock, and the rank rests until the refresh is over.
void DramChannel::refresh(std::size_t number_of_rank, Clock at) {
  Rank& rank = ranks_[number_of_rank];
  const auto first = static_cast<std::size_t>(spec_.banks) * number_of_rank;
  std::vector<std::pair<Clock, std::size_t>> open;
  Clock begin = at;
  for (std::size_t b = first; b < first + static_cast<std::size_t>(spec_.banks); ++b) {
    if (banks_[b].row != kNoRow) open.emplace_back(std::max(at, earliest(banks_[b], DramCommand::kPrecharge)), b);
    begin = std::max(begin, banks_[b].closed);
  }
  std::sort(open.begin(), open.end());
  Clock free = at;
  for (const auto& [ready, b] : open) {
    const Clock closed = std::max(free, ready);
    free = closed + 1;
    issue(b, DramCommand::kPrecharge, closed);
    set_row(b, kNoRow);
    begin = std::max(begin, banks_[b].closed);
  }
  Clock& activate = rank.earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, begin + spec_.t.rfc);
  if (log_ != nullptr) log_->refreshes.push_back({static_cast<std::int64_t>(number_of_rank), begin});
}

bool DramChannel::refresh_what_is_due() {
  bool any = false;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (; ranks_[r].refresh <= now_; ranks_[r].refresh += spec_.t.refi, any = true) refresh(r, ranks_[r].refresh);
  return any;
}

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
  Wish first = column_, second = row_;
  const auto turn = [](const Wish& w) { return std::tie(w.at, w.turn, w.entry); };
  if (first.at > now_ || (spec_.bank_queue > 0 && turn(second) < turn(first))) std::swap(first, second);
  if (first.at > now_) return {};
  bool left = serve(first, served);
  if (spec_.row_bus && second.at <= now_ && second.bank != first.bank) left = serve(second, served) || left;
  return {true, left};
}

void DramChannel::run(Clock until, std::vector<DramServed>& served) {
  while (next_ < until) {
    now_ = std::max(now_, next_);
    const bool refreshed = refresh_what_is_due();
    if (take_in(served) || refreshed) plan(now_);
    if (const Issued issued = issue_what_is_due(served); issued.any) {
      if (issued.left) take_in(served);
      plan(now_ + 1);
    }
    const bool rests = queued_[false] + queued_[true] + reads_.size() == 0 && !writes_.empty();
    next_ = std::min({column_.at, row_.at, next_arrival(), rests ? last_command_ + kRest : kNever});
  }
}

}  // namespace tilescope::sim
