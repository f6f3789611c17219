#include "sim/memory/dram.h"

#include <algorithm>
#include <limits>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

// A controller looks at so many requests of a kind, and drains writes between these marks (facts of DRAMsim3,
// Ramulator 2 and DRAMSys: 32 entries each, drained from about 80 % to 20 %).
constexpr std::size_t kWindow = 32;
constexpr std::size_t kDrainFrom = 26;
constexpr std::size_t kDrainTo = 6;
// Nobody whom the controller sees waits longer than this for requests that suit the open rows better. A bound on
// starvation, no measured figure.
constexpr Clock kLongestWait = 2000;
constexpr Clock kNever = std::numeric_limits<Clock>::max();
constexpr std::size_t kMostActivates = 32;  // of the longest window

std::size_t number(DramCommand c) { return static_cast<std::size_t>(c); }

}  // namespace

DramSpec dram_spec(const arch::LevelSpec& dram) {
  const auto of = [&](const char* name) -> Clock {
    const auto t = dram.timing.find(name);
    return t == dram.timing.end() ? 0 : t->second.n;
  };
  DramSpec s;
  s.ranks = dram.ranks;
  s.banks = std::max<std::int64_t>(1, dram.banks);
  if (dram.banks > 0) s.groups = dram.bank_groups.value_or(1);
  s.rows = dram.row.has_value() && dram.banks > 0;
  s.t = {.rcd = of("rcd"),
         .rcd_wr = of("rcd_wr"),
         .rp = of("rp"),
         .ras = of("ras"),
         .rc = of("rc"),
         .rrd_s = of("rrd_s"),
         .rrd_l = of("rrd_l"),
         .faw = of("faw"),
         .aw32 = of("aw32"),
         .ccd_s = of("ccd_s"),
         .ccd_l = of("ccd_l"),
         .cl = of("cl"),
         .cwl = of("cwl"),
         .rtp = of("rtp"),
         .wr = of("wr"),
         .wtr_s = of("wtr_s"),
         .wtr_l = of("wtr_l"),
         .rtw = of("rtw"),
         .rtrs = of("rtrs"),
         .rfc = of("rfc"),
         .refi = of("refi"),
         .burst = base::ceil_div(dram.burst, dram.rate)};
  return s;
}

Clock conflict_clocks(const DramSpec& spec, std::int64_t bursts) {
  const DramTimes& t = spec.t;
  const Clock between = std::max(spec.clocks_per_burst(), t.ccd_l);
  return kDramHandshake + (spec.rows ? t.rp + t.rcd : 0) + t.cl + (bursts - 1) * between + t.burst;
}

DramChannel::DramChannel(const DramSpec& spec)
    : spec_(spec),
      banks_of_group_(spec.banks / spec.groups),
      banks_(static_cast<std::size_t>(spec.ranks * spec.banks)),
      groups_(static_cast<std::size_t>(spec.ranks * spec.groups)),
      ranks_(static_cast<std::size_t>(spec.ranks)),
      next_(kNever),
      wished_(banks_.size(), 0),
      wanted_(banks_.size(), 0) {
  for (const DramConstraint& c : constraints_of(spec.t)) after_[number(c.before)].push_back(c);
  for (std::size_t r = 0; r < ranks_.size(); ++r)  // ranks take turns
    ranks_[r].refresh = spec.t.refi > 0 ? spec.t.refi * static_cast<Clock>(r + 1) / spec.ranks : kNever;
}

// Requests are announced ahead of their arrival, and not quite in its order.
void DramChannel::push(const DramRequest& r) {
  std::deque<DramRequest>& queue = (r.write ? writes_ : reads_).waiting;
  auto at = queue.end();
  while (at != queue.begin() && std::prev(at)->arrival > r.arrival) --at;
  queue.insert(at, r);
  next_ = std::min(next_, std::max(now_, r.arrival + kDramHandshake));
}

std::optional<Clock> DramChannel::next() const { return next_ == kNever ? std::nullopt : std::optional(next_); }

// --- queues

void DramChannel::Queue::admit(Clock now) {
  while (!waiting.empty() && window.size() < kWindow && waiting.front().arrival + kDramHandshake <= now) {
    window.push_back(
        {waiting.front(), std::max(waiting.front().arrival, now - kDramHandshake), waiting.front().bursts});
    waiting.pop_front();
  }
}

Clock DramChannel::Queue::next_arrival() const {
  return waiting.empty() || window.size() == kWindow ? kNever : waiting.front().arrival + kDramHandshake;
}

void DramChannel::choose_direction() {
  if (writes_.size() >= kDrainFrom) draining_ = true;
  if (writes_.size() <= kDrainTo && !reads_.window.empty()) draining_ = false;
  if (reads_.window.empty()) draining_ = true;
  if (writes_.window.empty()) draining_ = false;
}

// --- commands

Clock DramChannel::earliest(std::int64_t bank, DramCommand c) const {
  const std::size_t n = number(c);
  const Rank& rank = ranks_[rank_of(bank)];
  Clock at =
      std::max({banks_[static_cast<std::size_t>(bank)].earliest[n], groups_[group_of(bank)][n], rank.earliest[n]});
  if (c != DramCommand::kActivate) return at;
  const auto window = [&](std::size_t activates, Clock clocks) {
    if (clocks > 0 && rank.activates.size() >= activates)
      at = std::max(at, rank.activates[rank.activates.size() - activates] + clocks);
  };
  window(4, spec_.t.faw);
  window(kMostActivates, spec_.t.aw32);
  return at;
}

void DramChannel::issue(std::int64_t bank, DramCommand c, Clock at) {
  const std::size_t rank = rank_of(bank);
  const auto wait = [at](Earliest& e, const DramConstraint& k) {
    e[number(k.after)] = std::max(e[number(k.after)], at + k.clocks);
  };
  for (const DramConstraint& k : after_[number(c)]) switch (k.scope) {
      case DramScope::kBank:
        wait(banks_[static_cast<std::size_t>(bank)].earliest, k);
        break;
      case DramScope::kGroup:
        wait(groups_[group_of(bank)], k);
        break;
      case DramScope::kRank:
        wait(ranks_[rank].earliest, k);
        break;
      case DramScope::kOtherRanks:
        for (std::size_t r = 0; r < ranks_.size(); ++r)
          if (r != rank) wait(ranks_[r].earliest, k);
        break;
    }
  if (c != DramCommand::kActivate) return;
  ++activates_;
  std::deque<Clock>& last = ranks_[rank].activates;
  last.push_back(at);
  if (last.size() > kMostActivates) last.pop_front();
}

std::optional<DramChannel::Wish> DramChannel::choose(Clock& later) {
  std::vector<Seen>& window = queue().window;
  const DramCommand column = draining_ ? DramCommand::kWrite : DramCommand::kRead;
  const bool starves = !window.empty() && now_ - window.front().since > kLongestWait;
  const std::size_t seen = starves ? 1 : window.size();
  ++step_;
  later = kNever;
  for (std::size_t i = 0; i < seen; ++i) {
    const Seen& s = window[i];
    const auto bank = static_cast<std::size_t>(s.request.bank);
    const bool hit = !spec_.rows || banks_[bank].row == s.request.row;
    if (!hit) continue;
    wanted_[bank] = step_;
    const Clock at = earliest(s.request.bank, column);
    if (at <= now_) return Wish{i, column};
    later = std::min(later, at);
  }
  std::optional<Wish> row;
  for (std::size_t i = 0; i < seen && !row; ++i) {
    const DramRequest& r = window[i].request;
    const auto bank = static_cast<std::size_t>(r.bank);
    // The oldest of a bank speaks for it, once nobody wants the row that is open.
    if (wanted_[bank] == step_ || wished_[bank] == step_) continue;
    wished_[bank] = step_;
    const DramCommand c = banks_[bank].row == kNoRow ? DramCommand::kActivate : DramCommand::kPrecharge;
    const Clock at = earliest(r.bank, c);
    if (at <= now_)
      row = Wish{i, c};
    else
      later = std::min(later, at);
  }
  return row;
}

void DramChannel::serve(const Wish& w, std::vector<DramServed>& served) {
  std::vector<Seen>& window = queue().window;
  Seen& s = window[w.entry];
  const DramRequest& r = s.request;
  issue(r.bank, w.command, now_);
  Bank& bank = banks_[static_cast<std::size_t>(r.bank)];
  if (w.command == DramCommand::kActivate) bank.row = r.row, s.opened = true;
  if (w.command == DramCommand::kPrecharge) bank.row = kNoRow;
  if (w.command == DramCommand::kActivate || w.command == DramCommand::kPrecharge) return;
  const Clock data = now_ + (r.write ? spec_.t.cwl : spec_.t.cl);
  if (log_ != nullptr) {
    const bool hit = !s.opened || s.missed;
    s.missed = !hit || s.missed;
    log_->columns.push_back({r.write, hit, data});
  }
  if (--s.left > 0) return;
  const Clock done = data + spec_.t.burst;
  served.push_back({r.id, r.write, !s.opened, r.bursts, s.since, done});
  window.erase(window.begin() + static_cast<std::ptrdiff_t>(w.entry));
}

// --- refresh

// Banks are closed as soon as they may be, and the rank rests until the refresh is over.
void DramChannel::refresh(std::size_t number_of_rank, Clock at) {
  Rank& rank = ranks_[number_of_rank];
  Clock begin = at;
  for (std::int64_t b = 0; b < spec_.banks; ++b) {
    const std::int64_t bank = static_cast<std::int64_t>(number_of_rank) * spec_.banks + b;
    Bank& state = banks_[static_cast<std::size_t>(bank)];
    if (state.row != kNoRow)
      issue(bank, DramCommand::kPrecharge, std::max(at, earliest(bank, DramCommand::kPrecharge)));
    state.row = kNoRow;
    begin = std::max(begin, state.earliest[number(DramCommand::kActivate)]);
  }
  Clock& activate = rank.earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, begin + spec_.t.rfc);
  if (log_ != nullptr) log_->refreshes.push_back({static_cast<std::int64_t>(number_of_rank), begin});
}

void DramChannel::refresh_what_is_due() {
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (; ranks_[r].refresh <= now_; ranks_[r].refresh += spec_.t.refi) refresh(r, ranks_[r].refresh);
}

void DramChannel::run(Clock until, std::vector<DramServed>& served) {
  while (next_ < until) {
    now_ = std::max(now_, next_);
    refresh_what_is_due();
    reads_.admit(now_);
    writes_.admit(now_);
    choose_direction();
    Clock later = kNever;
    if (const std::optional<Wish> w = choose(later)) {
      serve(*w, served);
      next_ = now_;
    } else {
      next_ = std::min({later, reads_.next_arrival(), writes_.next_arrival()});
    }
    if (reads_.empty() && writes_.empty()) next_ = kNever;
  }
}

}  // namespace tilescope::sim
