// SPDX-License-Identifier: Apache-2.0
// What an exchange asks of every link and port of a mesh: a tree's links of one direction fill a rectangle of routers,
// of which two-dimensional differences count any size at one cost.

#include <algorithm>
#include <array>
#include <utility>

#include "sim/bsp/detail/mesh_ways.h"

namespace tilescope::sim::bsp {
namespace {

// Of one dimension, `count` places from `first` on, the way round where it ends.
struct Range {
  std::int32_t first = 0, count = 0;
};

// Sums over rectangles of routers.
class Plane {
 public:
  Plane(std::int32_t rows, std::int32_t columns)
      : rows_(rows), columns_(columns), differences_(at(rows + 1, 0, columns)) {}

  void add(Range rows, Range columns, Cycle cycles) {
    for (const Range& r : cut(rows, rows_))
      for (const Range& c : cut(columns, columns_)) {
        if (r.count == 0 || c.count == 0) continue;
        differences_[at(r.first, c.first)] += cycles;
        differences_[at(r.first, c.first + c.count)] -= cycles;
        differences_[at(r.first + r.count, c.first)] -= cycles;
        differences_[at(r.first + r.count, c.first + c.count)] += cycles;
      }
  }

  Cycle most() {
    Cycle most{};
    for (std::int32_t r = 0; r < rows_; ++r)
      for (std::int32_t c = 0; c < columns_; ++c) {
        if (r > 0) differences_[at(r, c)] += differences_[at(r - 1, c)];
        if (c > 0) differences_[at(r, c)] += differences_[at(r, c - 1)];
        if (r > 0 && c > 0) differences_[at(r, c)] -= differences_[at(r - 1, c - 1)];
        most = std::max(most, differences_[at(r, c)]);
      }
    return most;
  }

 private:
  std::size_t at(std::int32_t row, std::int32_t column) const { return at(row, column, columns_); }
  static std::size_t at(std::int32_t row, std::int32_t column, std::int32_t columns) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns + 1) + static_cast<std::size_t>(column);
  }
  static std::array<Range, 2> cut(Range r, std::int32_t extent) {
    const std::int32_t before = std::min(r.count, extent - r.first);
    return {Range{r.first, before}, Range{0, r.count - before}};
  }

  std::int32_t rows_, columns_;
  std::vector<Cycle> differences_;
};

// Routers whose links forward, or backward, reach so far from a place.
Range taken(std::int32_t from, std::int32_t reach, bool forward, std::int32_t extent) {
  return {forward ? from : (from - reach + 1 + extent) % extent, reach};
}

}  // namespace

Load load_of(const Exchange& exchange, const MeshWays& ways, const arch::LinkSpec& link) {
  const std::int32_t rows = ways.extent(true), columns = ways.extent(false);
  const auto networks = static_cast<std::size_t>(link.networks.value_or(1));
  const Cycle gap(link.noncontiguous_gap ? link.noncontiguous_gap->n : 0), hop(link.hop ? link.hop->n : 0),
      port(link.port ? link.port->n : 0);
  constexpr std::size_t kIn = 4, kOut = 5, kToChannel = 6, kFromChannel = 7, kKinds = 8;
  std::vector<Plane> planes(networks * kKinds, Plane(rows, columns));
  // Ports' first sendings, by turn and then in order, need no gap before their first piece.
  std::vector<std::pair<std::int64_t, const Transfer*>> first;
  const auto port_of = [&](const Sending& s) {
    return static_cast<std::size_t>(s.transfer->from) * networks + static_cast<std::size_t>(s.network);
  };
  if (gap > 0_cycles) {
    first.assign(static_cast<std::size_t>(ways.senders()) * networks, {0, nullptr});
    ways.for_each_sending(exchange, [&](const Sending& s) {
      auto& [turn, transfer] = first[port_of(s)];
      if (transfer == nullptr || ways.turn_of(s) < turn) turn = ways.turn_of(s), transfer = s.transfer;
    });
  }
  Load out;
  ways.for_each_sending(exchange, [&](const Sending& s) {
    const Transfer& t = *s.transfer;
    const Place from = ways.place_of(t.from);
    const Tree tree = ways.tree(s.network, from, s.to);
    const auto network = static_cast<std::size_t>(s.network);
    Plane* of_network = &planes[network * kKinds];
    const bool begins = gap > 0_cycles && first[port_of(s)] == std::pair(ways.turn_of(s), s.transfer);
    const Cycle holds = cycles_of_bytes(t, link), lasts = holds + gap * (t.pieces - (begins ? 1 : 0));
    const bool by_column = tree.trunk_by_column;
    const auto add = [&](std::size_t kind, bool column_first, Range along, Range across, Cycle cycles) {
      of_network[kind].add(column_first ? along : across, column_first ? across : along, cycles);
    };
    for (const bool forward : {true, false}) {
      const std::int32_t reach = forward ? tree.trunk.forward : tree.trunk.backward,
                         branch = forward ? tree.branches.forward : tree.branches.backward,
                         here = from.along(by_column), beside = from.along(!by_column);
      add(direction(by_column, forward), by_column, taken(here, reach, forward, ways.extent(by_column)), {beside, 1},
          holds);
      add(direction(!by_column, forward), !by_column, taken(beside, branch, forward, ways.extent(!by_column)),
          {s.to.first.along(by_column), s.to.last.along(by_column) - s.to.first.along(by_column) + 1}, holds);
    }
    const Range of_rows{s.to.first.row, s.to.last.row - s.to.first.row + 1},
        of_columns{s.to.first.column, s.to.last.column - s.to.first.column + 1};
    const bool of_channel = ways.is_channel(t.from);
    of_network[s.to_channel ? kToChannel : kIn].add(of_rows, of_columns, lasts);
    if (!of_channel && !s.to_channel && s.to.has(from.row, true) && s.to.has(from.column, false))
      of_network[kIn].add({from.row, 1}, {from.column, 1}, -lasts);
    of_network[of_channel ? kFromChannel : kOut].add({from.row, 1}, {from.column, 1}, lasts);
    out.way = std::max(out.way, 2 * port + hop * MeshWays::longest_of(tree));
    out.links_taken += MeshWays::links_of(tree, s.to) + s.to.count();
  });
  for (Plane& p : planes) out.busiest = std::max(out.busiest, p.most());
  return out;
}

}  // namespace tilescope::sim::bsp
