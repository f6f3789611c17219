// SPDX-License-Identifier: Apache-2.0
// A mesh of routers: a packet holds every link of its way from when its head comes by until its tail has passed, along
// the row first and then along the column (networks that go the other way: along the column first). It starts when the
// way is free; a core's packets go in order, those of several cores in the order in which they could start.

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/integer.h"
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
      : link_(*a.link),
        gap_(link_.noncontiguous_gap ? link_.noncontiguous_gap->n : 0),
        hop_(link_.hop->n),
        port_(link_.port ? link_.port->n : 0),
        rows_(*link_.rows),
        columns_(*link_.columns),
        networks_(link_.networks.value_or(1)),
        free_(static_cast<std::size_t>(networks_ * kKinds * rows_ * columns_), 0),
        queues_(static_cast<std::size_t>(a.core.count)),
        watch_(std::move(watch)) {}

  void begin(const Exchange& exchange, Cycle now) override {
    end_ = now;
    for (const Transfer& t : exchange.transfers)
      for (const Rectangle& r : rectangles_of(exchange.groups[t.group]))
        if (r.count() > 1 || core_at(r.first) != t.from) queues_[static_cast<std::size_t>(t.from)].push_back({t, r});
    for (std::size_t c = 0; c < queues_.size(); ++c)
      if (!queues_[c].empty()) ready_.emplace(now, c);
    sent_.assign(queues_.size(), 0);
  }

  std::optional<Cycle> next() const override {
    if (ready_.empty()) return std::nullopt;
    return ready_.top().first;
  }

  void advance(Cycle now) override {
    while (!ready_.empty() && ready_.top().first <= now) {
      const std::size_t core = ready_.top().second;
      ready_.pop();
      const Cycle free = send(queues_[core][sent_[core]], now, sent_[core] == 0);
      if (++sent_[core] < queues_[core].size())
        ready_.emplace(std::max(free, now + 1), core);
      else
        queues_[core].clear();
    }
  }

  Cycle end() const override { return end_; }

 private:
  struct Sending {
    Transfer transfer;
    Rectangle to;
  };
  // Of a router: links to its neighbours, and its core's ports.
  static constexpr std::int64_t kOut = 4, kIn = 5, kKinds = 6;

  std::int64_t core_at(Place p) const { return p.row * columns_ + p.column; }
  Place place_of(std::int64_t core) const { return {core / columns_, core % columns_}; }

  Cycle& free_at(std::int64_t network, std::int64_t kind, Place p) {
    return free_[static_cast<std::size_t>((network * kKinds + kind) * rows_ * columns_ + core_at(p))];
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

  // Visits the links of a way from `from` on along one dimension of `length` routers until `distance` are passed.
  template <class Visit>
  void along(std::int64_t network, Place from, bool column, bool forward, std::int64_t distance, std::int64_t depth,
             const Visit& visit) {
    const std::int64_t length = column ? rows_ : columns_;
    for (std::int64_t i = 0; i < distance; ++i) {
      visit(free_at(network, column ? (forward ? kSouth : kNorth) : (forward ? kEast : kWest), from), depth + i);
      std::int64_t& at = column ? from.row : from.column;
      at = (at + (forward ? 1 : length - 1)) % length;
    }
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

  // Every link of the tree to a rectangle, and how many routers lie before it.
  template <class Visit>
  void tree(std::int64_t network, Place from, const Rectangle& to, const Visit& visit) {
    const bool column_first = network % 2 == 1 && link_.torus == arch::Torus::kOneWay;
    const auto extent = [&](bool column) { return column ? rows_ : columns_; };
    const auto range = [&](bool column) {
      return column ? std::pair(to.first.row, to.last.row) : std::pair(to.first.column, to.last.column);
    };
    const auto at = [&](Place p, bool column) { return column ? p.row : p.column; };
    const auto [first, last] = range(column_first);
    const Reach trunk = reach(at(from, column_first), first, last, extent(column_first), network);
    along(network, from, column_first, true, trunk.forward, 0, visit);
    along(network, from, column_first, false, trunk.backward, 0, visit);
    const bool branch = !column_first;
    const auto [low, high] = range(branch);
    const Reach twig = reach(at(from, branch), low, high, extent(branch), network);
    for (std::int64_t i = first; i <= last; ++i) {
      const Reach stem = reach(at(from, column_first), i, i, extent(column_first), network);
      Place p = from;
      (column_first ? p.row : p.column) = i;
      const std::int64_t depth = std::max(stem.forward, stem.backward);
      along(network, p, branch, true, twig.forward, depth, visit);
      along(network, p, branch, false, twig.backward, depth, visit);
      for (std::int64_t j = low; j <= high; ++j) {
        Place receiver = p;
        (branch ? receiver.row : receiver.column) = j;
        const Reach last_mile = reach(at(from, branch), j, j, extent(branch), network);
        if (core_at(receiver) != core_at(from))
          visit(free_at(network, kIn, receiver), depth + std::max(last_mile.forward, last_mile.backward));
      }
    }
  }

  // Books a sending over the network on which it ends first; when its core can send again.
  Cycle send(const Sending& s, Cycle now, bool first) {
    const Transfer& t = s.transfer;
    const std::int64_t header = link_.header ? link_.header->n * t.pieces : 0;
    const Cycle lasts = base::ceil_div(t.bytes + header, link_.width.n) + gap_ * (t.pieces - (first ? 1 : 0));
    const Place from = place_of(t.from);
    std::int64_t best = 0;
    Cycle best_end = 0, best_start = 0;
    for (std::int64_t n = 0; n < networks_; ++n) {
      Cycle start = std::max(now, free_at(n, kOut, from));
      std::int64_t farthest = 0;
      tree(n, from, s.to, [&](const Cycle& free, std::int64_t depth) {
        start = std::max(start, free - port_ - depth * hop_);
        farthest = std::max(farthest, depth);
      });
      const Cycle end = start + lasts + 2 * port_ + farthest * hop_;
      if (n > 0 && end >= best_end) continue;
      best = n, best_end = end, best_start = start;
    }
    free_at(best, kOut, from) = best_start + lasts;
    tree(best, from, s.to,
         [&](Cycle& free, std::int64_t depth) { free = std::max(free, best_start + port_ + depth * hop_ + lasts); });
    end_ = std::max(end_, best_end);
    watch_({t.from, best, true, best_start, best_start + lasts, t.bytes});
    for (std::int64_t r = s.to.first.row; r <= s.to.last.row; ++r)
      for (std::int64_t c = s.to.first.column; c <= s.to.last.column; ++c)
        if (const std::int64_t core = core_at({r, c}); core != t.from)
          watch_({core, best, false, best_end - lasts, best_end, t.bytes});
    Cycle again = best_start + lasts;
    for (std::int64_t n = 0; n < networks_; ++n) again = std::min(again, std::max(now, free_at(n, kOut, from)));
    return again;
  }

  const arch::LinkSpec& link_;
  Cycle gap_, hop_, port_;
  std::int64_t rows_, columns_, networks_;
  std::vector<Cycle> free_;  // of links and ports, by network and kind
  std::vector<std::vector<Sending>> queues_;
  std::vector<std::size_t> sent_;
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
