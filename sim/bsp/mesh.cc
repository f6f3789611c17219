// SPDX-License-Identifier: Apache-2.0
// A mesh of routers: what is sent goes along the row first and then along the column (networks that go the other way:
// along the column first), to a rectangle of receivers as a tree. A head takes the next link when it is there and the
// link is free, in the order of arrival, until its tail has passed; routers keep what waits, as many virtual channels
// would, so that it holds no other link. What a core sends into one network goes in order.

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/ports.h"
#include "base/integer.h"
#include "sim/bsp/detail/dram.h"
#include "sim/bsp/detail/fabric.h"

namespace tilescope::sim::bsp {
namespace {

struct Place {
  std::int64_t row = 0, column = 0;
};
// Of receivers, inclusive.
struct Rectangle {
  Place first, last;

  std::int64_t count() const { return (last.row - first.row + 1) * (last.column - first.column + 1); }
};

enum Direction : std::uint8_t { kEast, kWest, kSouth, kNorth };

class Mesh : public Fabric {
 public:
  Mesh(const arch::ArchSpec& a, PortWatch watch)
      : link_(arch::core_link(a)),
        gap_(link_.noncontiguous_gap.value_or(base::Cycles{0}).n),
        hop_(link_.hop.value_or(base::Cycles{0}).n),
        port_(link_.port.value_or(base::Cycles{0}).n),
        rows_(link_.rows.value_or(1)),
        columns_(link_.columns.value_or(1)),
        networks_(link_.networks.value_or(1)),
        cores_(a.core.count),
        free_(static_cast<std::size_t>(networks_ * kKinds * rows_ * columns_), 0),
        watch_(std::move(watch)) {
    if (const arch::DramLevel* dram = arch::dram_of(a)) {
      dram_.emplace(a);
      of_channels_ = arch::places_of_channels(*dram);
    }
    ports_.resize((static_cast<std::size_t>(cores_) + of_channels_.size()) * static_cast<std::size_t>(networks_));
  }

  void begin(const Exchange& exchange, Cycle now) override {
    exchange_ = &exchange;
    end_ = now;
    arrived_.clear();
    std::vector<Cycle> read;
    if (dram_) read = dram_->read(exchange, now);
    for (std::size_t n = 0; n < exchange.transfers.size(); ++n) {
      const Transfer& t = exchange.transfers[n];
      const std::vector<std::int64_t>& to = exchange.groups[t.group];
      for (const Rectangle& r : rectangles_of(to))
        if (to.front() >= cores_ || r.count() > 1 || core_at(r.first) != t.from)
          port_for(t, r).waiting.push_back({t, r, n, to.front() >= cores_, t.from < cores_ ? now : read[n]});
    }
    for (std::size_t p = 0; p < ports_.size(); ++p) {
      if (ports_[p].waiting.empty()) continue;
      stagger(ports_[p]);
      ready_.emplace(ports_[p].waiting.front().ready, p);
    }
  }

  std::optional<Cycle> next() const override {
    if (ready_.empty() && heads_.empty()) return std::nullopt;
    if (heads_.empty()) return ready_.top().first;
    return ready_.empty() ? heads_.top().at : std::min(ready_.top().first, heads_.top().at);
  }

  void advance(Cycle now) override {
    while (!ready_.empty() && ready_.top().first <= now) {
      const std::size_t number = ready_.top().second;
      ready_.pop();
      OutPort& p = ports_[number];
      const Cycle lasts = inject(p.waiting[p.sent], static_cast<std::int64_t>(number) % networks_, now, p.sent == 0);
      if (++p.sent < p.waiting.size())
        ready_.emplace(std::max(now + lasts, p.waiting[p.sent].ready), number);
      else
        p = {};
    }
    while (!heads_.empty() && heads_.top().at <= now) {
      const Head h = heads_.top();
      heads_.pop();
      go_on(h);
    }
    if (arrived_.empty() || !ready_.empty() || !heads_.empty()) return;
    end_ = std::max(end_, dram_->write(*exchange_, arrived_));
    arrived_.clear();
  }

  Cycle end() const override { return end_; }
  LevelStatistics take_dram_statistics() override { return dram_ ? dram_->take_statistics() : LevelStatistics{}; }

 private:
  struct Sending {
    Transfer transfer;
    Rectangle to;
    std::size_t number = 0;  // of the transfer
    bool to_channel = false;
    Cycle ready = 0;  // it is there
  };
  // A core's way into one network.
  struct OutPort {
    std::vector<Sending> waiting;
    std::size_t sent = 0;
    std::int64_t bytes = 0;  // of all that waits
  };
  // What is under way in a network.
  struct Flight {
    std::int64_t from = 0, network = 0, bytes = 0;
    Rectangle to;
    Cycle lasts = 0;
    bool trunk_is_column = false;
    std::size_t number = 0;  // of the transfer
    bool to_channel = false;
  };
  // Of what is under way, on the trunk or on a branch, where it still has so many links to take.
  struct Head {
    Cycle at = 0;
    std::uint64_t order = 0;
    std::size_t flight = 0;
    Place place;
    bool branch = false, forward = true, first = false;
    std::int64_t left = 0;

    bool operator>(const Head& o) const { return std::tie(at, order) > std::tie(o.at, o.order); }
  };
  // Of a router: links to its neighbours, and what goes to its core and to the channels beside it.
  static constexpr std::int64_t kIn = 4, kToChannel = 5, kKinds = 6;

  std::int64_t core_at(Place p) const { return p.row * columns_ + p.column; }
  // Of a core, or of a channel, which are numbered behind the cores.
  Place place_of(std::int64_t core) const {
    if (core < cores_) return {core / columns_, core % columns_};
    const arch::MeshPlace& p = of_channels_[static_cast<std::size_t>(core - cores_)];
    return {p.row, p.column};
  }

  Cycle& free_at(std::int64_t network, std::int64_t kind, Place p) {
    return free_[static_cast<std::size_t>((network * kKinds + kind) * rows_ * columns_ + core_at(p))];
  }

  // Into the network on which it takes fewest links, of several the one that has least to send.
  OutPort& port_for(const Transfer& t, const Rectangle& to) {
    OutPort* best = nullptr;
    std::int64_t fewest = 0;
    for (std::int64_t n = 0; n < networks_; ++n) {
      OutPort& p = ports_[static_cast<std::size_t>(t.from * networks_ + n)];
      const std::int64_t links = links_to(n, place_of(t.from), to);
      if (best != nullptr && std::tie(fewest, best->bytes) <= std::tie(links, p.bytes)) continue;
      best = &p, fewest = links;
    }
    best->bytes += t.bytes;
    return *best;
  }

  // Every core begins with those behind itself, so that not all send to the same one first; a channel sends what it has
  // read.
  void stagger(OutPort& p) const {
    if (p.waiting.front().transfer.from >= cores_) {
      std::stable_sort(p.waiting.begin(), p.waiting.end(),
                       [](const Sending& a, const Sending& b) { return a.ready < b.ready; });
      return;
    }
    const auto cores = rows_ * columns_;
    const auto behind = [&](const Sending& s) { return (core_at(s.to.first) - s.transfer.from + cores) % cores; };
    std::stable_sort(p.waiting.begin(), p.waiting.end(),
                     [&](const Sending& a, const Sending& b) { return behind(a) < behind(b); });
  }

  // Receivers as few rectangles: one where they fill it, else those of each row that lie side by side; each for itself
  // where the link cannot send to several.
  std::vector<Rectangle> rectangles_of(const std::vector<std::int64_t>& receivers) const {
    std::vector<Rectangle> out;
    Rectangle all{place_of(receivers.front()), place_of(receivers.front())};
    for (const std::int64_t core : receivers) {
      const Place p = place_of(core);
      if (link_.multicast != arch::Multicast::kNone && !out.empty() && out.back().last.row == p.row &&
          out.back().last.column + 1 == p.column)
        out.back().last = p;
      else
        out.push_back({p, p});
      all.first.row = std::min(all.first.row, p.row), all.first.column = std::min(all.first.column, p.column);
      all.last.row = std::max(all.last.row, p.row), all.last.column = std::max(all.last.column, p.column);
    }
    const bool filled = all.count() == static_cast<std::int64_t>(receivers.size());
    if (link_.multicast != arch::Multicast::kNone && filled) return {all};
    return out;
  }

  // How far it is along a dimension to reach all of [first, last] from `from`, each way.
  struct Reach {
    std::int64_t forward = 0, backward = 0;
  };
  Reach reach(std::int64_t from, std::int64_t first, std::int64_t last, std::int64_t length,
              std::int64_t network) const {
    const auto ahead = [&](std::int64_t to) { return (to - from + length) % length; };
    if (link_.torus == arch::Torus::kNone)
      return {std::max<std::int64_t>(0, last - from), std::max<std::int64_t>(0, from - first)};
    Reach out;
    for (std::int64_t to = first; to <= last; ++to) {
      const std::int64_t far = ahead(to), back = (length - far) % length;
      const bool forward = link_.torus == arch::Torus::kOneWay ? network % 2 == 0 : far <= back;
      (forward ? out.forward : out.backward) = std::max(forward ? out.forward : out.backward, forward ? far : back);
    }
    return out;
  }

  static std::int64_t along(Place p, bool column) { return column ? p.row : p.column; }
  std::int64_t extent(bool column) const { return column ? rows_ : columns_; }
  bool trunk_is_column(std::int64_t network) const { return network % 2 == 1 && link_.torus == arch::Torus::kOneWay; }
  Reach reach_along(bool column, Place from, const Rectangle& to, std::int64_t network) const {
    return reach(along(from, column), along(to.first, column), along(to.last, column), extent(column), network);
  }

  // Links of the tree to a rectangle.
  std::int64_t links_to(std::int64_t network, Place from, const Rectangle& to) const {
    const bool trunk = trunk_is_column(network);
    const Reach far = reach_along(trunk, from, to, network), near = reach_along(!trunk, from, to, network);
    const std::int64_t branches = along(to.last, trunk) - along(to.first, trunk) + 1;
    return far.forward + far.backward + branches * (near.forward + near.backward);
  }

  // How long a sending that begins now holds its port.
  Cycle inject(const Sending& s, std::int64_t network, Cycle now, bool first) {
    const Transfer& t = s.transfer;
    const std::int64_t header = link_.header ? link_.header->n * t.pieces : 0;
    const Cycle lasts = base::ceil_div(t.bytes + header, link_.width.n) + gap_ * (t.pieces - (first ? 1 : 0));
    const bool trunk = trunk_is_column(network);
    const std::size_t flight = new_flight({t.from, network, t.bytes, s.to, lasts, trunk, s.number, s.to_channel});
    const Place from = place_of(t.from);
    const Reach far = reach_along(trunk, from, s.to, network);
    push({now + port_, 0, flight, from, false, true, true, far.forward});
    if (far.backward > 0) push({now + port_, 0, flight, from, false, false, false, far.backward});
    watch_({t.from, network, true, now, now + lasts, t.bytes});
    return lasts;
  }

  std::size_t new_flight(const Flight& f) {
    if (unused_.empty()) {
      flights_.push_back(f);
      heads_of_.push_back(0);
      return flights_.size() - 1;
    }
    const std::size_t number = unused_.back();
    unused_.pop_back();
    flights_[number] = f;
    return number;
  }
  void push(Head h) {
    h.order = ++pushed_;
    ++heads_of_[h.flight];
    heads_.push(h);
  }

  void go_on(const Head& h) {
    const Flight f = flights_[h.flight];
    const bool column = h.branch ? !f.trunk_is_column : f.trunk_is_column;
    const std::int64_t here = along(h.place, column);
    const bool inside = here >= along(f.to.first, column) && here <= along(f.to.last, column);
    // Both heads of a trunk begin at one place, of which the first one's branches go.
    const bool begins = !h.branch && along(place_of(f.from), column) == here && !h.first;
    if (inside && h.branch) deliver(f, h.place, h.at);
    if (inside && !h.branch && !begins) branch_off(h, f);
    if (h.left > 0) {
      const std::int64_t kind = column ? (h.forward ? kSouth : kNorth) : (h.forward ? kEast : kWest);
      Cycle& free = free_at(f.network, kind, h.place);
      const Cycle start = std::max(h.at, free);
      free = start + f.lasts;
      Head next = h;
      std::int64_t& at = column ? next.place.row : next.place.column;
      at = (at + (h.forward ? 1 : extent(column) - 1)) % extent(column);
      next.at = start + hop_;
      next.first = false;
      --next.left;
      push(next);
    }
    if (--heads_of_[h.flight] == 0) unused_.push_back(h.flight);
  }

  void branch_off(const Head& h, const Flight& f) {
    const bool column = !f.trunk_is_column;
    const Reach near = reach_along(column, place_of(f.from), f.to, f.network);
    const std::int64_t here = along(h.place, column);
    if (here >= along(f.to.first, column) && here <= along(f.to.last, column)) deliver(f, h.place, h.at);
    for (const bool forward : {true, false}) {
      const std::int64_t left = forward ? near.forward : near.backward;
      if (left == 0) continue;
      // It takes its first link here, and delivers from the next router on.
      Head b{h.at, 0, h.flight, h.place, true, forward, false, left};
      const std::int64_t kind = column ? (forward ? kSouth : kNorth) : (forward ? kEast : kWest);
      Cycle& free = free_at(f.network, kind, h.place);
      const Cycle start = std::max(h.at, free);
      free = start + f.lasts;
      std::int64_t& at = column ? b.place.row : b.place.column;
      at = (at + (forward ? 1 : extent(column) - 1)) % extent(column);
      b.at = start + hop_;
      --b.left;
      push(b);
    }
  }

  void deliver(const Flight& f, Place to, Cycle at) {
    if (core_at(to) == f.from && !f.to_channel) return;
    Cycle& free = free_at(f.network, f.to_channel ? kToChannel : kIn, to);
    const Cycle start = std::max(at, free);
    free = start + f.lasts;
    const Cycle end = start + port_ + f.lasts;
    end_ = std::max(end_, end);
    if (f.to_channel) {
      arrived_.emplace_back(end, f.number);
      return;
    }
    watch_({core_at(to), f.network, false, end - f.lasts, end, f.bytes});
  }

  const arch::LinkSpec& link_;
  Cycle gap_, hop_, port_;
  std::int64_t rows_, columns_, networks_, cores_;
  std::optional<Dram> dram_;
  std::vector<arch::MeshPlace> of_channels_;
  const Exchange* exchange_ = nullptr;
  std::vector<std::pair<Cycle, std::size_t>> arrived_;  // at channels, and which transfer
  std::vector<Cycle> free_;                             // of links and ports, by network and kind
  std::vector<OutPort> ports_;                          // by core and network
  std::vector<Flight> flights_;
  std::vector<std::int64_t> heads_of_;  // by flight
  std::vector<std::size_t> unused_;     // flights
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  std::uint64_t pushed_ = 0;
  PortWatch watch_;
  using Ready = std::pair<Cycle, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  Cycle end_ = 0;
};

}  // namespace

std::unique_ptr<Fabric> make_mesh(const arch::ArchSpec& a, PortWatch watch) {
  return std::make_unique<Mesh>(a, std::move(watch));
}

}  // namespace tilescope::sim::bsp
