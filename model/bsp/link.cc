// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/link.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"

namespace tilescope::model::bsp {
namespace {

double of(std::int64_t n) { return static_cast<double>(n); }
double of(const std::optional<base::Cycles>& c) { return c ? of(c->n) : 0; }

}  // namespace

LinkModel::LinkModel(const arch::ArchSpec& a, const tile::BspStage& s)
    : link_(arch::core_link(a)),
      s_(s),
      rate_(of(link_.width.n) * arch::ratio_of(a, "link.copy")),
      gap_(of(link_.noncontiguous_gap)),
      networks_(of(link_.networks.value_or(1))),
      cores_(of(a.core.count)),
      horizon_(of(link_.latency) + of(link_.latency_spread)) {
  if (link_.kind != arch::LinkKind::kMesh) return;
  const double farthest = of(link_.rows.value_or(1) + link_.columns.value_or(1) - 2);
  horizon_ = 2 * of(link_.port) + of(link_.hop) * (link_.torus == arch::Torus::kBothWays ? farthest / 2 : farthest);
}

double LinkModel::packets(double bytes) const {
  return link_.max_packet ? std::max(1.0, bytes / of(link_.max_packet->n)) : 1;
}

double LinkModel::paired(const tile::Operand& o, double received) const {
  if (!link_.port_pairing || link_.multicast == arch::Multicast::kNone) return 0;
  for (auto a = s_.core_order.rbegin(); a != s_.core_order.rend(); ++a) {
    const std::int64_t neighbours = s_.grid[static_cast<std::size_t>(*a)];
    if (neighbours > 1) return !o.uses(*a) && neighbours % *link_.port_pairing == 0 ? received : 0;
  }
  return 0;
}

double LinkModel::cycles(const Traffic& t) const {
  const double header = link_.header ? of(link_.header->n) : 0;
  // The first piece's pointers are set before the phase begins.
  const double together = t.paired - t.paired / of(link_.port_pairing.value_or(1));
  const double in = (t.received - together + header * t.pieces) / rate_ + std::max(0.0, t.pieces - 1) * gap_;
  const double out = (t.sent + header * t.sent_pieces) / rate_ + std::max(0.0, t.sent_pieces - 1) * gap_;
  const double share = t.received > 0 ? 1 + header * t.pieces / t.received : 1;
  const double link = std::max(t.along_row, t.along_column) * share / rate_;
  return std::max({in / networks_, out / networks_, link, t.one_network * share / rate_});
}

double LinkModel::least_cycles(const Traffic& t) const {
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

double LinkModel::sendings(const tile::Operand& o, std::int64_t ring) const {
  return link_.kind == arch::LinkKind::kMesh ? group_of(o, ring).sendings : 1;
}

double LinkModel::gather_sendings(const tile::Operand& o, std::int64_t ring) const {
  if (link_.multicast == arch::Multicast::kNone) return of(ring - 1);
  if (link_.kind != arch::LinkKind::kMesh) return 1;
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
  // Each goes along a row to its receivers' columns and over all of these, then along each of these columns.
  const double row_links = mean_distance(columns) * (1 - g.columns / columns) + g.columns;
  const double column_links = (g.columns + 1) * (mean_distance(rows) * (1 - g.rows / rows) + g.rows);
  const double ways = networks_ * (link_.torus == arch::Torus::kOneWay ? 1 : 2);
  // Of a mesh that is no torus the links in the middle carry half as much again as the mean one.
  const double busiest = link_.torus == arch::Torus::kNone ? 1.5 : 1;
  // Only rows that have sources carry them along rows.
  const double carrying = std::max(1.0, std::min(cores_, std::ceil(sources / columns) * columns));
  t.along_row += busiest * sendings * bytes * row_links / (ways * carrying);
  t.along_column += busiest * sendings * bytes * column_links / (ways * cores_);
}

void LinkModel::add_shift(const tile::Operand& o, std::int64_t /*ring*/, double bytes, Traffic& t) const {
  if (link_.kind != arch::LinkKind::kMesh) return;
  // Neighbours differ along the fastest axis that the operand lacks: so far do all cores send at a time.
  for (auto axis = s_.core_order.rbegin(); axis != s_.core_order.rend(); ++axis) {
    const auto a = static_cast<std::size_t>(*axis);
    if (o.uses(*axis) || s_.grid[a] == 1) continue;
    // All go the same way, so into the same network.
    t.one_network += bytes;
    const std::int64_t places = s_.folded ? 2 : 1, far = places * s_.core_stride(a),
                       columns = link_.columns.value_or(1);
    // So many rows further, and columns forth or, from the next row, back.
    const std::int64_t forth = far % columns, back = columns - forth;
    t.along_row += bytes * of(std::min(forth, back));
    t.along_column += bytes * of(far / columns + (forth > back ? 1 : 0));
    return;
  }
}

}  // namespace tilescope::model::bsp
