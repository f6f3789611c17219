// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/dram.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilescope::sim {

DramChannel::DramChannel(const DramSpec& spec)
    : spec_(spec),
      banks_(spec_),
      scheduler_(spec_, banks_, pending_),
      refresh_(spec_, banks_, scheduler_),
      direction_(spec_) {}

// --- on the way to the banks

void DramChannel::push(const DramRequest& r) {
  waiting_writes_ += r.write ? 1 : 0;
  wait(pending_.add(r));
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
  if (!spec_.parts_writes()) return reads_.size() + (spec_.per_bank_queue_depth > 0 ? 0 : scheduler_.queued());
  return (write ? writes_ : reads_).size() + (spec_.per_bank_queue_depth > 0 ? 0 : scheduler_.queued(write));
}

bool DramChannel::has_room(bool write) const { return static_cast<std::int64_t>(held(write)) < spec_.queue_depth; }

bool DramChannel::has_room_for(const Waiting& w) const {
  return spec_.queues_by_bank() ? scheduler_.has_room(static_cast<std::size_t>(pending_[w.place].request.bank))
                                : has_room(w.write);
}

bool DramChannel::accepts(bool write, std::int64_t bank) const {
  const auto at_bank = static_cast<std::size_t>(bank);
  if (!spec_.parts_writes()) {
    const std::size_t before = arriving_[false] + arriving_[true];
    if (!spec_.queues_by_bank()) return static_cast<std::int64_t>(before + held(write)) < spec_.queue_depth;
    // In their order: what stands before the controller may wait for any bank.
    return before == 0 && scheduler_.has_room(at_bank);
  }
  return static_cast<std::int64_t>(arriving_[write] + held(write)) < spec_.queue_depth;
}

std::optional<Clock> DramChannel::next() const { return next_ == kNever ? std::nullopt : std::optional(next_); }

// Whether a request needs no bank: a read of what still waits to be written or is being read, a second write of it.
bool DramChannel::answered(std::size_t place, std::vector<DramServed>& served) {
  const PendingDramRequest& p = pending_[place];
  const DramRequest& r = p.request;
  if (!r.place) return false;
  const auto find = [&](bool write) {
    const auto at_bank = static_cast<std::size_t>(r.bank);
    for (const Before& b : write&& spec_.parts_writes() ? writes_ : reads_)
      if (b.bank == at_bank && pending_[b.place].request.write == write && pending_[b.place].request.place == r.place)
        return b.place;
    for (const DramScheduler::Queued& q : scheduler_.queue(at_bank))
      if (q.write == write && pending_[q.place].request.place == r.place) return q.place;
    return DramScheduler::kNone;
  };
  if (find(true) != DramScheduler::kNone) {
    const bool write = r.write || p.merges;
    served.push_back({r.id, write, true, 0, r.arrival, r.arrival + kDramHandshake});
    waiting_writes_ -= write ? 1 : 0;
    pending_.drop(place);
    return true;
  }
  const std::size_t reader = r.write || p.merges ? DramScheduler::kNone : find(false);
  if (reader == DramScheduler::kNone) return false;
  pending_.share(place, reader);
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
    if (admitted_ + kAhead < waiting_.size()) pending_.expect(waiting_[admitted_ + kAhead].place);
    PendingDramRequest& p = pending_[place];
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

// Whether any request has gone to its bank.
bool DramChannel::hand_over() {
  bool any = false;
  for (;;) {
    const DramDirection::Choice choice = direction_.choose({.reads = reads_.size(),
                                                            .writes = writes_.size(),
                                                            .held_writes = held(true),
                                                            .rests = scheduler_.queued() == 0,
                                                            .idle = now_ >= last_command_ + spec_.write_idle});
    if (choice != DramDirection::Choice::kStays) tried_ = 0;
    if (choice == DramDirection::Choice::kTurns) {
      any = true;
      if (spec_.per_bank_queue_depth == 0) recall(!direction_.writes());
    }
    std::vector<Before>& queue = direction_.writes() ? writes_ : reads_;
    const auto fits = std::find_if(queue.begin() + static_cast<std::ptrdiff_t>(std::min(tried_, queue.size())),
                                   queue.end(), [&](const Before& b) { return scheduler_.has_room(b.bank); });
    tried_ = static_cast<std::size_t>(fits - queue.begin());
    if (fits == queue.end()) return any;
    scheduler_.enter(fits->bank, fits->place);
    if (direction_.goes_on()) tried_ = 0;
    queue.erase(fits);
    any = true;
  }
}

// Requests of the direction that is not served, but for queues of banks, which keep what they hold, go back to the
// controller.
void DramChannel::recall(bool write) {
  std::vector<Before>& queue = write ? writes_ : reads_;
  std::vector<Before> all;
  for (const auto& [place, bank] : scheduler_.recall(write)) all.push_back({place, bank});
  all.insert(all.end(), queue.begin(), queue.end());
  queue = std::move(all);
}

bool DramChannel::take_in(std::vector<DramServed>& served) {
  bool any = false;
  for (bool more = true; more; any = any || more) {
    more = admit(served);
    more = hand_over() || more;
  }
  return any;
}

// --- commands

// When the next column command and the next row command may come from a clock on, as far as is known now.
void DramChannel::plan(Clock from) {
  using enum DramCommand;
  scheduler_.plan();
  const Clock row_bus = later(from, row_bus_), column_bus = spec_.row_bus ? from : row_bus;
  column_ = later(column_bus, scheduler_.first_of(kRead, kWrite));
  row_ = later(row_bus, scheduler_.first_of(kActivate, kPrecharge));
}

// Whether the request has left its bank.
bool DramChannel::serve(const DramScheduler::Candidate& w, std::vector<DramServed>& served) {
  using enum DramCommand;
  banks_.issue(w.bank, w.command, now_);
  last_command_ = now_;
  scheduler_.took_turn(w.bank);
  DramBanks::Bank& bank = banks_[w.bank];
  bank.used = now_;
  const DramScheduler::Queued q = scheduler_.queue(w.bank)[w.entry];
  PendingDramRequest& p = pending_[q.place];
  if (w.command == kActivate) {
    p.opened = true;
    row_bus_ = now_ + spec_.activate_command;
  }
  if (w.command == kActivate || w.command == kPrecharge) {
    scheduler_.open_row(w.bank, w.command == kActivate ? q.row : DramBanks::kNoRow);
    return false;
  }
  ++bank.columns;
  if (log_ != nullptr) log_column(p);
  if (--p.left > 0) {
    scheduler_.note_asked(w.bank);
    return false;
  }
  waiting_writes_ -= p.request.write ? 1 : 0;
  const Clock done = now_ + (p.request.write ? spec_.t.cwl : spec_.t.cl) + spec_.t.burst;
  if (pending_.finish(q.place, done, served)) wait(q.place);
  tried_ = 0;
  scheduler_.leave(w.bank, w.entry);
  return true;
}

void DramChannel::log_column(PendingDramRequest& p) {
  const bool hit = !p.opened || p.logged_miss;
  p.logged_miss = !hit || p.logged_miss;
  log_->columns.push_back({p.request.write, hit, now_ + (p.request.write ? spec_.t.cwl : spec_.t.cl),
                           p.request.bank / (spec_.ranks * spec_.banks)});
}

// --- what happens when

// Two commands of a clock go to two banks; where one fits, a column command goes first, or whose turn it is.
DramChannel::Issued DramChannel::issue_what_is_due(std::vector<DramServed>& served) {
  using enum DramCommand;
  if (earlier(column_, row_) > now_) return {};
  if (row_ > now_) return {true, serve(scheduler_.first_in_turn(column_, kRead, kWrite), served)};
  if (column_ > now_) return {true, serve(scheduler_.first_in_turn(row_, kActivate, kPrecharge), served)};
  DramScheduler::Candidate first = scheduler_.first_in_turn(column_, kRead, kWrite),
                           second = scheduler_.first_in_turn(row_, kActivate, kPrecharge);
  if (spec_.per_bank_queue_depth > 0 && std::tie(second.turn, second.entry) < std::tie(first.turn, first.entry))
    std::swap(first, second);
  bool left = serve(first, served);
  if (spec_.row_bus && second.bank != first.bank) left = serve(second, served) || left;
  return {true, left};
}

void DramChannel::run(Clock until, std::vector<DramServed>& served) {
  while (next_ < until) {
    now_ = later(now_, next_);
    scheduler_.advance(now_);
    const bool refreshed = refresh_.run(now_, log_);
    if (take_in(served) || refreshed) plan(now_);
    if (const Issued issued = issue_what_is_due(served); issued.any) {
      if (issued.left) take_in(served);
      plan(now_ + 1_nck);
    }
    const bool rests = scheduler_.queued() + reads_.size() == 0 && !writes_.empty();
    next_ = earlier(earlier(column_, row_), earlier(next_arrival(), rests ? last_command_ + spec_.write_idle : kNever));
  }
}

}  // namespace tilescope::sim
