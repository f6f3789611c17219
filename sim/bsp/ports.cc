// SPDX-License-Identifier: Apache-2.0
// An exchange whose phases are scheduled beforehand: a transfer holds the port of its sender and those of all its
// receivers for as long as it takes, and nothing between them. The schedule is a list's: whatever can begin does, in
// an order that spreads the senders.

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "base/integer.h"
#include "sim/bsp/detail/fabric.h"

namespace tilescope::sim::bsp {
namespace {

struct Port {
  bool busy = false, used = false;  // now; in this exchange
  std::deque<std::size_t> waiting;  // transfers that found it busy
};

class Ports : public Fabric {
 public:
  Ports(const arch::ArchSpec& a, PortWatch watch)
      : link_(arch::core_link(a)),
        gap_(link_.noncontiguous_gap.value_or(base::Cycles{0}).n),
        cores_(a.core.count),
        pairing_(link_.port_pairing.value_or(1)),
        out_(static_cast<std::size_t>(cores_)),
        in_(out_.size()),
        watch_(std::move(watch)) {}

  std::optional<Load> load(const Exchange& /*exchange*/) const override { return std::nullopt; }

  void begin(const Exchange& exchange, Cycle now) override {
    exchange_ = &exchange;
    end_ = now;
    paired_.assign(exchange.transfers.size(), false);
    for (std::size_t t = 0; t < paired_.size(); ++t) {
      const Transfer& one = exchange.transfers[t];
      paired_[t] = goes_in_pairs(link_, one.from, exchange.groups[one.group]);
    }
    for (std::vector<Port>* ports : {&out_, &in_})
      for (Port& p : *ports) p.used = false;
    for (const std::size_t t : in_turn()) try_to_begin(t, now);
  }

  std::optional<Cycle> next() const override {
    if (under_way_.empty()) return std::nullopt;
    return under_way_.top().first;
  }

  void advance(Cycle now) override {
    std::vector<Port*> freed;
    while (!under_way_.empty() && under_way_.top().first <= now) {
      const std::size_t number = under_way_.top().second;
      under_way_.pop();
      for_each_port(number, [&](Port& p) {
        p.busy = false;
        freed.push_back(&p);
      });
    }
    for (Port* p : freed)
      while (!p->busy && !p->waiting.empty()) {
        const std::size_t t = p->waiting.front();
        p->waiting.pop_front();
        try_to_begin(t, now);
      }
  }

  Cycle end() const override { return end_; }

 private:
  // One operand after another, as their groups of receivers may cross; of an operand every core begins with the
  // receivers behind itself, so that not all send to the same ones first.
  std::vector<std::size_t> in_turn() const {
    std::vector<std::size_t> out(exchange_->transfers.size());
    std::iota(out.begin(), out.end(), 0);
    const auto key = [&](std::size_t number) {
      const Transfer& t = exchange_->transfers[number];
      return std::pair(t.operand, (exchange_->groups[t.group].front() - t.from + cores_) % cores_);
    };
    std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return out;
  }

  template <class Visit>
  void for_each_port(std::size_t number, Visit visit) {
    const Transfer& t = exchange_->transfers[number];
    const std::int64_t ports = paired_[number] ? pairing_ : 1, first = t.from / ports * ports;
    for (std::int64_t from = first; from < first + ports; ++from) visit(out_[static_cast<std::size_t>(from)]);
    bool beside = false;  // whether a neighbour gets it over the sender's port too
    for (const std::int64_t to : exchange_->groups[t.group]) {
      if (to == t.from) continue;
      visit(in_[static_cast<std::size_t>(to)]);
      beside = beside || (paired_[number] && to / pairing_ == t.from / pairing_);
    }
    if (beside) visit(in_[static_cast<std::size_t>(t.from)]);
  }

  void try_to_begin(std::size_t number, Cycle now) {
    const Transfer& t = exchange_->transfers[number];
    Port* taken = nullptr;
    bool first = true;
    for_each_port(number, [&](Port& p) {
      if (p.busy && taken == nullptr) taken = &p;
      first = first && !p.used;
    });
    if (taken != nullptr) return taken->waiting.push_back(number);
    // Pointers of the first piece are set before the exchange begins.
    const Cycle lasts(base::ceil_div(cycles_of_bytes(t, link_).count(), paired_[number] ? pairing_ : 1));
    const Cycle until = now + lasts + gap_ * (t.pieces - (first ? 1 : 0));
    for_each_port(number, [](Port& p) { p.busy = p.used = true; });
    under_way_.emplace(until, number);
    watch_({t.from, 0, true, now, until, t.bytes});
    for (const std::int64_t to : exchange_->groups[t.group]) {
      if (to == t.from) continue;
      watch_({to, 0, false, now, until, t.bytes});
      end_ = std::max(end_, until + route(t.from, to));
    }
  }

  // A word's way grows with the distance of the cores' numbers, which is a third of the greatest in the mean.
  Cycle route(std::int64_t from, std::int64_t to) const {
    const Cycle mean(link_.latency ? link_.latency->n : 0), spread(link_.latency_spread ? link_.latency_spread->n : 0);
    const std::int64_t distance = std::abs(from - to), farthest = std::max<std::int64_t>(1, cores_ - 1);
    return std::max(0_cycles, mean - spread / 3) + spread * distance / farthest;
  }

  const arch::LinkSpec& link_;
  Cycle gap_;
  std::int64_t cores_, pairing_;
  std::vector<bool> paired_;  // by transfer
  std::vector<Port> out_, in_;
  PortWatch watch_;
  const Exchange* exchange_ = nullptr;
  using Ending = std::pair<Cycle, std::size_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> under_way_;
  Cycle end_{};
};

}  // namespace

std::unique_ptr<Fabric> make_ports(const arch::ArchSpec& a, PortWatch watch) {
  return std::make_unique<Ports>(a, std::move(watch));
}

}  // namespace tilescope::sim::bsp
