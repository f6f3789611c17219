// SPDX-License-Identifier: Apache-2.0
// A mesh of routers. A head takes the next link of its way when it is there and the link is free, in the order of
// arrival; a link is held for all bytes and packet headers; routers keep what waits, as many virtual channels would, so
// that it holds no other link. What a core sends into one network goes in order, and what a port takes between pieces
// holds that port, not the links.

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "sim/bsp/detail/calendar.h"
#include "sim/bsp/detail/dram.h"
#include "sim/bsp/detail/fabric.h"
#include "sim/bsp/detail/mesh_ways.h"

namespace tilescope::sim::bsp {
namespace {

class Mesh : public Fabric {
 public:
  Mesh(const arch::ArchSpec& a, PortWatch watch)
      : link_(arch::core_link(a)),
        ways_(a),
        gap_(link_.noncontiguous_gap.value_or(base::Cycles{0}).n),
        hop_(link_.hop.value_or(base::Cycles{0}).n),
        port_(link_.port.value_or(base::Cycles{0}).n),
        cores_(a.core.count),
        networks_(link_.networks.value_or(1)),
        routers_(std::int64_t{ways_.extent(true)} * ways_.extent(false)),
        free_(static_cast<std::size_t>(networks_ * kKinds * routers_)),
        ports_(static_cast<std::size_t>(ways_.senders() * networks_)),
        watch_(std::move(watch)) {
    if (arch::dram_of(a) != nullptr) dram_.emplace(a);
  }

  std::optional<Load> load(const Exchange& exchange) const override {
    Load out = load_of(exchange, ways_, link_);
    if (dram_) out.busiest = std::max(out.busiest, dram_->busiest(exchange));
    return out;
  }

  void begin(const Exchange& exchange, Cycle now) override {
    exchange_ = &exchange;
    end_ = now;
    arrived_.clear();
    if (dram_) read_ = dram_->read(exchange, now);
    heads_.begin(now);
    ways_.for_each_sending(exchange, [&](const Sending& s) {
      ports_[static_cast<std::size_t>(s.transfer->from * networks_ + s.network)].waiting.push_back(s);
    });
    for (std::size_t p = 0; p < ports_.size(); ++p) {
      if (ports_[p].waiting.empty()) continue;
      stagger(ports_[p]);
      ready_.emplace(std::max(now, there(ports_[p].waiting.front())), p);
    }
  }

  std::optional<Cycle> next() const override {
    if (ready_.empty() && heads_.empty()) return std::nullopt;
    if (heads_.empty()) return ready_.top().first;
    return ready_.empty() ? heads_.next() : std::min(ready_.top().first, heads_.next());
  }

  void advance(Cycle now) override {
    while (!ready_.empty() && ready_.top().first <= now) {
      const std::size_t number = ready_.top().second;
      ready_.pop();
      OutPort& p = ports_[number];
      const Cycle lasts = inject(p.waiting[p.sent], now, p.sent == 0);
      if (++p.sent < p.waiting.size())
        ready_.emplace(std::max(now + lasts, there(p.waiting[p.sent])), number);
      else
        p = {};
    }
    while (!heads_.empty() && heads_.next() <= now)
      heads_.take(heads_.next(), [this](Cycle at, const Head& h) { go_on(at, h); });
    if (arrived_.empty() || !ready_.empty() || !heads_.empty()) return;
    end_ = std::max(end_, dram_->write(*exchange_, arrived_));
    arrived_.clear();
  }

  Cycle end() const override { return end_; }
  LevelStatistics dram_of(const Exchange& exchange) const override {
    return dram_ ? dram_->counted(exchange) : LevelStatistics{};
  }
  LevelStatistics take_dram_statistics() override { return dram_ ? dram_->take_statistics() : LevelStatistics{}; }
  std::int64_t dram_refreshes(Cycle until) const override { return dram_ ? dram_->refreshes(until) : 0; }

 private:
  // A core's way into one network.
  struct OutPort {
    std::vector<Sending> waiting;
    std::size_t sent = 0;
  };
  // What is under way in a network.
  struct Flight {
    std::int64_t from = 0, bytes = 0;
    std::int32_t network = 0, heads = 0;  // that are still on their way
    Rectangle to;
    Tree tree;
    Cycle lasts{}, holds{};  // until its last byte has left; of a link
    std::size_t number = 0;  // of the transfer
    bool to_channel = false;
  };
  // Of what is under way, on the trunk or on a branch, where it still has so many links to take.
  struct Head {
    std::uint32_t flight = 0;
    std::int32_t left = 0;
    Place place;
    bool branch = false, forward = true, first = false;
  };
  // Of a router: links to its neighbours, and what goes to its core and to the channels beside it.
  static constexpr std::int64_t kIn = 4, kToChannel = 5, kKinds = 6;

  Cycle& free_at(std::int64_t network, std::int64_t kind, Place p) {
    return free_[static_cast<std::size_t>((network * kKinds + kind) * routers_ + ways_.core_at(p))];
  }

  // Every core sends in turn; a channel what it has read.
  void stagger(OutPort& p) const {
    if (p.waiting.front().transfer->from >= cores_) {
      std::stable_sort(p.waiting.begin(), p.waiting.end(),
                       [this](const Sending& a, const Sending& b) { return there(a) < there(b); });
      return;
    }
    std::stable_sort(p.waiting.begin(), p.waiting.end(),
                     [&](const Sending& a, const Sending& b) { return ways_.turn_of(a) < ways_.turn_of(b); });
  }

  std::size_t number_of(const Sending& s) const {
    return static_cast<std::size_t>(s.transfer - exchange_->transfers.data());
  }
  // When what is sent has been read; at once of a core's.
  Cycle there(const Sending& s) const { return s.transfer->from < cores_ ? 0_cycles : read_[number_of(s)]; }

  // How long a sending that begins now holds its port.
  Cycle inject(const Sending& s, Cycle now, bool first) {
    const Transfer& t = *s.transfer;
    const Cycle holds = cycles_of_bytes(t, link_), lasts = holds + gap_ * (t.pieces - (first ? 1 : 0));
    const Place from = ways_.place_of(t.from);
    const Tree tree = ways_.tree(s.network, from, s.to);
    const std::uint32_t flight = new_flight({t.from, t.bytes, static_cast<std::int32_t>(s.network), 0, s.to, tree,
                                             lasts, holds, number_of(s), s.to_channel});
    push(now + port_, {flight, tree.trunk.forward, from, false, true, true});
    if (tree.trunk.backward > 0) push(now + port_, {flight, tree.trunk.backward, from, false, false, false});
    watch_({t.from, s.network, true, now, now + lasts, t.bytes});
    return lasts;
  }

  std::uint32_t new_flight(const Flight& f) {
    if (unused_.empty()) {
      flights_.push_back(f);
      return static_cast<std::uint32_t>(flights_.size() - 1);
    }
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    flights_[number] = f;
    return number;
  }
  void push(Cycle at, const Head& h) {
    ++flights_[h.flight].heads;
    heads_.add(at, h);
  }

  void go_on(Cycle at, const Head& h) {
    const Flight& f = flights_[h.flight];
    const bool by_column = h.branch != f.tree.trunk_by_column;
    const std::int32_t here = h.place.along(by_column);
    // Both heads of a trunk begin at one place, of which the first one's branches go.
    const bool begins = !h.branch && !h.first && ways_.place_of(f.from).along(by_column) == here;
    if (f.to.has(here, by_column) && !begins) {
      const bool among = f.to.has(h.place.along(!by_column), !by_column);
      if (h.branch || among) deliver(f, h.place, at);
      if (!h.branch) {
        if (f.tree.branches.forward > 0) take_link(at, {h.flight, f.tree.branches.forward, h.place, true, true, false});
        if (f.tree.branches.backward > 0)
          take_link(at, {h.flight, f.tree.branches.backward, h.place, true, false, false});
      }
    }
    if (h.left > 0) take_link(at, h);
    if (--flights_[h.flight].heads == 0) unused_.push_back(h.flight);
  }

  // Along the next link, from the router where the head is.
  void take_link(Cycle at, Head h) {
    const Flight& f = flights_[h.flight];
    const bool by_column = h.branch != f.tree.trunk_by_column;
    Cycle& free = free_at(f.network, direction(by_column, h.forward), h.place);
    const Cycle start = std::max(at, free);
    free = start + f.holds;
    std::int32_t& place = by_column ? h.place.row : h.place.column;
    const std::int32_t extent = ways_.extent(by_column);
    place += h.forward ? 1 : -1;
    if (place == extent) place = 0;
    if (place < 0) place = extent - 1;
    h.first = false;
    --h.left;
    push(start + hop_, h);
  }

  void deliver(const Flight& f, Place to, Cycle at) {
    if (ways_.core_at(to) == f.from && !f.to_channel) return;
    Cycle& free = free_at(f.network, f.to_channel ? kToChannel : kIn, to);
    const Cycle start = std::max(at, free), end = start + port_ + f.lasts;
    free = start + f.lasts;
    end_ = std::max(end_, end);
    if (f.to_channel)
      arrived_.emplace_back(end, f.number);
    else
      watch_({ways_.core_at(to), f.network, false, end - f.lasts, end, f.bytes});
  }

  const arch::LinkSpec& link_;
  MeshWays ways_;
  Cycle gap_, hop_, port_;
  std::int64_t cores_, networks_, routers_;
  std::optional<Dram> dram_;
  const Exchange* exchange_ = nullptr;
  std::vector<Cycle> read_;                             // by transfer of a channel: when it is there
  std::vector<std::pair<Cycle, std::size_t>> arrived_;  // at channels, and which transfer
  std::vector<Cycle> free_;                             // of links and ports, by network and kind
  std::vector<OutPort> ports_;                          // by core and network
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> unused_;  // flights
  Calendar<Head> heads_;
  PortWatch watch_;
  using Ready = std::pair<Cycle, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  Cycle end_{};
};

}  // namespace

std::unique_ptr<Fabric> make_mesh(const arch::ArchSpec& a, PortWatch watch) {
  return std::make_unique<Mesh>(a, std::move(watch));
}

}  // namespace tilescope::sim::bsp
