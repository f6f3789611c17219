#include "sim/memory/dram.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

// A controller looks at so many requests of a kind, and drains writes between these marks (facts of DRAMsim3,
// Ramulator 2 and DRAMSys: 32 entries each, drained from about 80 % to 20 %).
constexpr std::size_t kWindow = 32;
constexpr std::size_t kDrainFrom = 26;
constexpr std::size_t kDrainTo = 6;
// Nobody whom the controller sees waits longer than this for requests that suit the open rows better.
constexpr Clock kLongestWait = 2000;

}  // namespace

DramChannel::DramChannel(const DramSpec& spec) : spec_(spec), banks_(static_cast<std::size_t>(spec.banks)) {}

// Requests are announced ahead of their arrival, and not quite in its order.
void DramChannel::push(const DramRequest& r) {
  std::deque<DramRequest>& queue = (r.write ? writes_ : reads_).waiting;
  auto at = queue.end();
  while (at != queue.begin() && std::prev(at)->arrival > r.arrival) --at;
  queue.insert(at, r);
}

Clock DramChannel::Queue::first() const {
  return window.empty() ? waiting.front().arrival : window.front().request.arrival;
}

void DramChannel::Queue::admit(Clock now) {
  while (!waiting.empty() && window.size() < kWindow && waiting.front().arrival <= now) {
    window.push_back({waiting.front(), now});
    waiting.pop_front();
  }
}

std::optional<Clock> DramChannel::next() const {
  if (reads_.empty() && writes_.empty()) return std::nullopt;
  Clock first = reads_.empty() ? writes_.first() : reads_.first();
  if (!writes_.empty()) first = std::min(first, writes_.first());
  return std::max(first, bus_free_);
}

// What a bank does before its data is due may have begun before the bus was free: row commands overlap with data.
DramChannel::Plan DramChannel::plan(const DramRequest& r) const {
  const DramTimes& t = spec_.t;
  const Bank& b = banks_[static_cast<std::size_t>(r.bank)];
  Plan p;
  p.hit = !spec_.rows || (b.open && b.row == r.row);
  Clock column = std::max(r.arrival, b.column_from);
  if (!p.hit) {
    const Clock closed = b.open ? std::max(r.arrival, b.precharge_from) + t.rp : r.arrival;
    p.activate = std::max({closed, last_activate_ + t.rrd, b.activated + t.rc});
    column = p.activate + t.rcd;
  }
  const Clock turn = r.write == wrote_last_ ? 0 : r.write ? t.rtw : t.wtr + t.cl;
  p.data = std::max(column + (r.write ? t.cwl : t.cl), bus_free_ + turn);
  return p;
}

void DramChannel::choose_direction(Clock now) {
  reads_.admit(now);
  writes_.admit(now);
  if (writes_.size() >= kDrainFrom) draining_ = true;
  if (writes_.size() <= kDrainTo && !reads_.window.empty()) draining_ = false;
  if (reads_.window.empty()) draining_ = true;
  if (writes_.window.empty()) draining_ = false;
}

std::size_t DramChannel::choose(const Queue& queue, Clock now) const {
  if (now - queue.window.front().since > kLongestWait) return 0;
  std::size_t best = 0;
  Plan best_plan = plan(queue.window.front().request);
  for (std::size_t i = 1; i < queue.window.size(); ++i) {
    if (best_plan.hit && best_plan.data <= bus_free_) break;
    const Plan p = plan(queue.window[i].request);
    if (p.data > best_plan.data || (p.data == best_plan.data && (best_plan.hit || !p.hit))) continue;
    best = i;
    best_plan = p;
  }
  return best;
}

void DramChannel::apply(const DramRequest& r, const Plan& p) {
  const DramTimes& t = spec_.t;
  Bank& b = banks_[static_cast<std::size_t>(r.bank)];
  if (!p.hit) {
    b.open = true;
    b.row = r.row;
    b.activated = p.activate;
    b.column_from = p.activate + t.rcd;
    b.precharge_from = p.activate + t.ras;
    last_activate_ = std::max(last_activate_, p.activate);
  }
  const Clock end = p.data + r.bursts * t.burst;
  const Clock last_column = end - t.burst - (r.write ? t.cwl : t.cl);
  b.precharge_from = std::max(b.precharge_from, r.write ? end + t.wr : last_column + t.rtp);
  bus_free_ = end;
  wrote_last_ = r.write;
}

DramServed DramChannel::serve(Clock now) {
  choose_direction(now);
  Queue& queue = draining_ ? writes_ : reads_;
  const std::size_t at = choose(queue, now);
  const DramRequest r = queue.window[at].request;
  const Plan p = plan(r);
  queue.window.erase(queue.window.begin() + static_cast<std::ptrdiff_t>(at));
  apply(r, p);
  return {r.id, r.write, p.hit, r.bursts, bus_free_};
}

}  // namespace tilescope::sim
