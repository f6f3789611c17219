// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/link.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/ports.h"
#include "base/integer.h"
#include "model/bsp/detail/real.h"

namespace tilescope::model::bsp {

LinkModel::LinkModel(const arch::ArchSpec& a, const tile::BspStage& s)
    : link_(arch::core_link(a)),
      s_(s),
      rate_(of(link_.width.n) * arch::ratio_of(a, "link.copy")),
      gap_(of(link_.noncontiguous_gap)),
      networks_(of(link_.networks.value_or(1))),
      cores_(of(a.core.count)),
      horizon_(of(link_.latency) + of(link_.latency_spread)) {
  if (link_.kind != arch::LinkKind::kMesh) return;
  if (const arch::DramLevel* dram = arch::dram_of(a)) {
    const std::vector<arch::MeshPlace> ports = arch::ports_of(*dram);
    for (const arch::MeshPlace& one : ports) {
      double row = 0, column = 0;
      for (const arch::MeshPlace& p : ports) row += p.row == one.row, column += p.column == one.column;
      ports_of_row_ = std::max(ports_of_row_, row), ports_of_column_ = std::max(ports_of_column_, column);
    }
  }
  const double farthest = of(link_.rows.value_or(1) + link_.columns.value_or(1) - 2);
  horizon_ = 2 * of(link_.port) + of(link_.hop) * (link_.torus == arch::Torus::kBothWays ? farthest / 2 : farthest);
}

double LinkModel::packets(double bytes) const {
  return link_.max_packet ? std::max(1.0, bytes / of(link_.max_packet->n)) : 1;
}

bool LinkModel::pairs(const tile::Operand& o) const {
  if (link_.port_pairing.value_or(1) == 1 || link_.multicast == arch::Multicast::kNone) return false;
  for (auto a = s_.core_order.rbegin(); a != s_.core_order.rend(); ++a) {
    const std::int64_t neighbours = s_.grid[static_cast<std::size_t>(*a)];
    if (neighbours > 1) return !o.uses(*a) && neighbours % *link_.port_pairing == 0;
  }
  return false;
}

double LinkModel::cycles(const Traffic& t) const {
  const double header = link_.header ? of(link_.header->n) : 0;
  // The first piece's pointers are set before the phase begins.
  const double together = t.paired - t.paired / of(link_.port_pairing.value_or(1));
  const double in = (t.received + t.waited - together + header * t.pieces) / rate_ + std::max(0.0, t.pieces - 1) * gap_;
  const double out = (t.sent + header * t.sent_pieces) / rate_ + std::max(0.0, t.sent_pieces - 1) * gap_;
  const double share = t.received > 0 ? 1 + header * t.pieces / t.received : 1;
  const double link = std::max(t.along_row, t.along_column) * share / rate_;
  return std::max({in / networks_, out / networks_, link, t.one_network * share / rate_});
}

double LinkModel::min_cycles(const Traffic& t) const {
  const double together = of(link_.port_pairing.value_or(1));
  return (t.received / (rate_ * together) + std::max(0.0, t.pieces - 1) * gap_) / networks_;
}

// Between two places of a row, drawn alike: of a line, of a ring either way, of a ring one way.
double LinkModel::mean_distance(double length) const {
  if (link_.torus == arch::Torus::kBothWays) return length / 4;
  if (link_.torus == arch::Torus::kOneWay) return (length - 1) / 2;
  return (length * length - 1) / (3 * length);
}

LinkModel::Group LinkModel::group_of(const tile::Operand& o, std::int64_t ring) const {
  const double columns = of(link_.columns.value_or(1));
  Group g;
  double side_by_side = 1;
  for (std::size_t a = 0; a < s_.grid.size(); ++a) {
    if (o.uses(static_cast<int>(a)) || s_.grid[a] == 1) continue;
    const double stride = of(s_.core_stride(a)), count = of(s_.grid[a]);
    g.cores *= count;
    if (stride * count <= columns) {
      g.columns += (count - 1) * stride;
      if (stride == side_by_side) side_by_side *= count;
    } else if (stride >= columns) {
      g.rows += (count - 1) * stride / columns;
    } else {
      g.columns = columns - 1;
      g.rows += (stride * count - 1) / columns;
    }
  }
  const bool filled = (g.rows + 1) * (g.columns + 1) <= g.cores * 1.001;
  g.sendings = link_.multicast == arch::Multicast::kNone ? g.cores : filled ? 1 : g.cores / side_by_side;
  if (g.sendings == g.cores)
    g.rows = g.columns = 0;
  else if (!filled)
    g.rows = 0, g.columns = side_by_side - 1;
  // Of neighbours in a ring one gets an element: the others lie a ring apart.
  if (ring > 1) g = {0, 0, g.cores / of(ring), g.cores / of(ring)};
  return g;
}

// Columns that those span who want what one row of homes has: parts along the tensor's outer dimensions that fill a row
// of homes at least lie in rows of their own.
double LinkModel::receiving_columns(const tile::Operand& o) const {
  const double columns = of(link_.columns.value_or(1)), of_row = of(o.elements) / cores_ * columns;
  std::vector<bool> apart(s_.grid.size(), false);
  double below = of(o.elements);  // elements of one index
  for (const tile::TileDim& d : o.dims) {
    below /= of(d.extent);
    bool fills = d.terms.size() == 1;
    for (const expr::Term& t : d.terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      fills = fills && of(s_.part(a) * std::abs(t.coefficient)) * below >= of_row;
      apart[a] = fills;
    }
    if (!fills) break;
  }
  double span = 1;
  for (std::size_t a = 0; a < s_.grid.size(); ++a)
    if (!apart[a] && of(s_.core_stride(a)) < columns) span += of(s_.grid[a] - 1) * of(s_.core_stride(a));
  return std::min(span, columns);
}

double LinkModel::sendings(const tile::Operand& o, std::int64_t ring) const {
  return link_.kind == arch::LinkKind::kMesh ? group_of(o, ring).sendings : 1;
}

double LinkModel::gather_sendings(const tile::Operand& o, std::int64_t ring) const {
  if (link_.multicast == arch::Multicast::kNone) return of(ring - 1);
  // One after the other, each over a port of its own, is a turn shorter than all at once.
  if (link_.kind != arch::LinkKind::kMesh) return pairs(o) ? 1 : of(ring - 1);
  return std::min(of(ring - 1), group_of(o).sendings);
}

void LinkModel::add_gather(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const {
  add_ways(o, bytes * of(ring - 1), of(s_.cores()), t);
}

void LinkModel::add_ways(const tile::Operand& o, double bytes, double sources, Traffic& t, std::int64_t ring) const {
  if (link_.kind != arch::LinkKind::kMesh) return;
  const double rows = of(link_.rows.value_or(1)), columns = of(link_.columns.value_or(1));
  const Group g = group_of(o, ring);
  const double sendings = of(s_.cores()) / g.cores * g.sendings;
  // Each goes along a row to its receivers' columns and over all of these, then along each of these columns; to several
  // receivers the other way round where that takes fewer links.
  const double across = mean_distance(columns) * (1 - g.columns / columns) + g.columns,
               along = mean_distance(rows) * (1 - g.rows / rows) + g.rows;
  const double by_row = across + (g.columns + 1) * along, by_column = along + (g.rows + 1) * across;
  const bool column_first = g.rows + g.columns > 0 && by_column < by_row;
  const double ways = networks_ * (link_.torus == arch::Torus::kOneWay ? 1 : 2);
  // Of a mesh that is no torus the links in the middle carry half as much again as the mean one. Where receivers of
  // what a row has stand in few of its columns, at its end for some rows, the link before them carries nearly all of
  // it.
  const double busiest = link_.torus == arch::Torus::kNone ? 1.5 : 1;
  const double width = receiving_columns(o) / columns;
  const double confined = link_.torus != arch::Torus::kNone || column_first ? 1
                          : width >= 0.5                                    ? 1 / width
                                                                            : 4 * (1 - width);
  // The first way lies in rows that have sources, or in columns that do; sources are neighbours by number.
  const double in_rows = std::max(1.0, std::min(cores_, std::ceil(sources / columns) * columns)),
               in_columns = std::max(1.0, std::min(cores_, std::ceil(sources) * rows));
  const double all = busiest * sendings * bytes / ways;
  t.along_row += all * (column_first ? (g.rows + 1) * across / cores_ : confined * across / in_rows);
  t.along_column += all * (column_first ? along / in_columns : (g.columns + 1) * along / cores_);
}

void LinkModel::add_shift(const tile::Operand& o, std::int64_t ring, double bytes, Traffic& t) const {
  if (link_.kind != arch::LinkKind::kMesh) return;
  // Neighbours differ along the fastest axis that the operand lacks: so far do all cores send at a time.
  for (auto axis = s_.core_order.rbegin(); axis != s_.core_order.rend(); ++axis) {
    const auto a = static_cast<std::size_t>(*axis);
    if (o.uses(*axis) || s_.grid[a] == 1) continue;
    // All go the same way, so into the same network.
    t.one_network += bytes;
    const std::int64_t stride = s_.core_stride(a), far = (s_.folded ? 2 : 1) * stride,
                       columns = link_.columns.value_or(1);
    // So many rows further, and columns forth or, from the next row, back.
    const auto across = [columns](std::int64_t cores) { return std::min(cores % columns, columns - cores % columns); };
    const auto along = [columns](std::int64_t cores) {
      return cores / columns + (cores % columns > columns - cores % columns ? 1 : 0);
    };
    std::int64_t in_row = across(far), in_column = along(far);
    if (!s_.folded && ring > 2) {
      // Last ones pass back to first ones, of neighbouring rings out of one row; against the others, which where rings
      // are no part of a row go both ways.
      const std::int64_t back = std::min(across((ring - 1) * stride), stride);
      in_row = ring * stride <= columns && columns % (ring * stride) == 0 ? std::max(in_row, back) : in_row + back;
      in_column = std::max(in_column, base::ceil_div(stride, columns));
    }
    t.along_row += bytes * of(in_row);
    t.along_column += bytes * of(in_column);
    return;
  }
}

LinkModel::Hops LinkModel::hops_to(std::int64_t distance) const {
  const std::int64_t far = std::abs(distance), columns = link_.columns.value_or(1), beyond = far % columns;
  const bool back = beyond > columns - beyond;  // in the next row
  return {far / columns + (back ? 1 : 0), back ? columns - beyond : beyond};
}

double LinkModel::way_to(std::int64_t distance) const {
  if (link_.kind != arch::LinkKind::kMesh) return horizon_;
  // Without a network the other way round one of two neighbours is nearly a round away.
  if (link_.torus == arch::Torus::kOneWay && networks_ == 1) return horizon_;
  const Hops h = hops_to(distance);
  return 2 * of(link_.port) + of(link_.hop) * of(h.rows + h.columns);
}

// Neighbours on the other side get as much the other way round, over the other direction of a link or another network.
void LinkModel::add_neighbour(std::int64_t distance, double bytes, Traffic& t) const {
  if (link_.kind != arch::LinkKind::kMesh) return;
  const Hops h = hops_to(distance);
  const double ways = networks_ * (link_.torus == arch::Torus::kOneWay ? 1 : 2);
  t.along_row += bytes * of(h.columns) / ways;
  t.along_column += bytes * of(h.rows) / ways;
}

// Networks that go along rows first carry what a port sends along its row, with what other ports of the row do, then
// along the columns of all receivers; those that go along columns first, the other way round. What ports get comes to
// them likewise, last link first. Of a port's own bytes nearly all take the link beside it; of another port's in the
// same row those that go further than it is away, a mean of (links - 1) / (length - 1) over all places.
void LinkModel::add_ways_of_ports(const tile::Operand* shared, double bytes, Traffic& t) const {
  if (link_.kind != arch::LinkKind::kMesh) return;
  const bool one_way = link_.torus == arch::Torus::kOneWay, opposite = one_way && networks_ > 1;
  const Group g = shared == nullptr ? Group{} : group_of(*shared);
  const double of_network = bytes / networks_ / (one_way ? 1 : 2);
  const auto busiest = [&](std::int64_t length, double apart, double ports) {
    if (length == 1) return 0.0;
    // Of two opposite ways round, each sending takes the shorter one over both dimensions: in the mean a third round.
    const double alone = opposite ? of(length) / 3 : mean_distance(of(length));
    const double links = alone * (1 - apart / of(length)) + apart;
    return of_network * (1 + (ports - 1) * std::max(0.0, links - 1) / of(length - 1));
  };
  t.along_row += busiest(link_.columns.value_or(1), g.columns, ports_of_row_);
  if (opposite) t.along_column += busiest(link_.rows.value_or(1), g.rows, ports_of_column_);
}

DramModel::DramModel(const arch::ArchSpec& a) {
  const arch::DramLevel* dram = arch::dram_of(a);
  if (dram == nullptr) return;
  const double cycles_of_byte = static_cast<double>(a.clock.n) / arch::bandwidth_of(a, *dram).v;
  cycles_of_read_ = cycles_of_byte / arch::ratio_of(a, dram->name + ".read");
  cycles_of_write_ = cycles_of_byte / arch::ratio_of(a, dram->name + ".write");
  latency_ = of(dram->latency);
  ports_ = of(static_cast<std::int64_t>(arch::ports_of(*dram).size()));
}

}  // namespace tilescope::model::bsp
