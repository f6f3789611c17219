// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/mesh_load.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/ports.h"
#include "model/bsp/detail/real.h"

namespace tilescope::model::bsp {

MeshLoad::MeshLoad(const arch::ArchSpec& a)
    : link_(arch::core_link(a)),
      rate_(of(link_.width.n) * arch::ratio_of(a, "link.copy")),
      rows_(static_cast<int>(link_.rows.value_or(1))),
      columns_(static_cast<int>(link_.columns.value_or(1))),
      networks_(static_cast<std::size_t>(link_.networks.value_or(1))),
      loads_(networks_ * kKinds * static_cast<std::size_t>(rows_ * columns_)) {
  const arch::DramLevel* dram = arch::dram_of(a);
  if (dram == nullptr) return;
  for (const arch::MeshPlace& p : arch::ports_of(*dram))
    ports_.push_back({static_cast<int>(p.row), static_cast<int>(p.column), ports_.size()});
  sent_.resize(ports_.size() * networks_);
  received_.resize(sent_.size());
}

double MeshLoad::packets(double bytes) const {
  return link_.max_packet ? std::ceil(bytes / of(link_.max_packet->n)) : 1;
}

MeshLoad::Place MeshLoad::place_of(std::int64_t core) const {
  return {static_cast<int>(core) / columns_, static_cast<int>(core) % columns_};
}

std::vector<MeshLoad::Rectangle> MeshLoad::rectangles(const std::vector<std::int64_t>& cores) const {
  std::vector<Rectangle> rows;
  Rectangle hull{rows_, columns_, 0, 0};
  for (const std::int64_t core : cores) {
    const int row = static_cast<int>(core) / columns_, column = static_cast<int>(core) % columns_;
    hull = {std::min(hull.top, row), std::min(hull.left, column), std::max(hull.bottom, row),
            std::max(hull.right, column)};
    if (link_.multicast != arch::Multicast::kNone && !rows.empty() && rows.back().top == row &&
        rows.back().right + 1 == column)
      rows.back().right = column;
    else
      rows.push_back({row, column, row, column});
  }
  const auto area =
      static_cast<std::size_t>(hull.bottom - hull.top + 1) * static_cast<std::size_t>(hull.right - hull.left + 1);
  if (link_.multicast != arch::Multicast::kNone && area == cores.size()) return {hull};
  return rows;
}

MeshLoad::Way MeshLoad::way(int from, int first, int last, int length, std::size_t network) const {
  if (link_.torus == arch::Torus::kNone) return {std::max(0, last - from), std::max(0, from - first)};
  const auto round = [length](int steps) { return steps < 0 ? steps + length : steps; };
  Way out;
  if (link_.torus == arch::Torus::kOneWay) {
    // To the farthest one; all the way round where the sender stands among them, behind the first.
    const bool among = from >= first && from <= last;
    if (network % 2 == 0)
      out.forth = among && from > first ? length - 1 : round(last - from);
    else
      out.back = among && from < last ? length - 1 : round(from - first);
    return out;
  }
  for (int to = first; to <= last; ++to) {
    const int forth = round(to - from), back = round(from - to);
    if (forth <= back)
      out.forth = std::max(out.forth, forth);
    else
      out.back = std::max(out.back, back);
  }
  return out;
}

MeshLoad::Load& MeshLoad::load(std::size_t network, Kind kind, int row, int column) {
  return loads_[((network * kKinds + kind) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(row)) *
                    static_cast<std::size_t>(columns_) +
                static_cast<std::size_t>(column)];
}

void MeshLoad::add_links(std::size_t network, bool down, int row, int column, const Way& w, const Load& what) {
  for (const bool forth : {true, false}) {
    const int links = forth ? w.forth : w.back;
    if (links == 0) continue;
    Load* first =
        &load(network, down ? (forth ? kSouth : kNorth) : (forth ? kEast : kWest), down ? 0 : row, down ? column : 0);
    const std::ptrdiff_t stride = down ? columns_ : 1;
    const int extent = down ? rows_ : columns_, step = forth ? 1 : -1;
    int at = down ? row : column;
    for (int n = 0; n < links; ++n) {
      Load& l = first[at * stride];
      l.bytes += what.bytes, l.pieces += what.pieces;
      at += step;
      if (at == extent) at = 0;
      if (at < 0) at = extent - 1;
    }
  }
}

// Along rows first, of a torus one way in every other network along columns first; to several receivers along
// whichever takes fewer links. Into the network in which it takes fewest, of several that which has least to carry out.
void MeshLoad::send(const Place& from, const Rectangle& to, const Load& what, std::optional<std::size_t> to_port) {
  const int row = from.row, column = from.column;
  const bool one = to.top == to.bottom && to.left == to.right;
  if (one && to.top == row && to.left == column && !from.port && !to_port) return;
  const auto out = [&](std::size_t n) -> Load& {
    return from.port ? sent_[*from.port * networks_ + n] : load(n, kOut, row, column);
  };
  struct Choice {
    int links = 0;
    std::size_t network = 0;
    bool down = false;
    Way across, along;
  };
  std::optional<Choice> best;
  for (std::size_t n = 0; n < networks_; ++n) {
    Choice c{0, n, false, way(column, to.left, to.right, columns_, n), way(row, to.top, to.bottom, rows_, n)};
    const int across = c.across.forth + c.across.back, along = c.along.forth + c.along.back;
    const int by_row = across + (to.right - to.left + 1) * along, by_column = along + (to.bottom - to.top + 1) * across;
    const bool usual = link_.torus == arch::Torus::kOneWay && n % 2 == 1;
    c.down = one ? usual : usual ? by_column <= by_row : by_column < by_row;
    c.links = c.down ? by_column : by_row;
    if (!best || c.links < best->links || (c.links == best->links && out(n).bytes < out(best->network).bytes)) best = c;
  }
  const std::size_t n = best->network;
  add_links(n, best->down, row, column, best->down ? best->along : best->across, what);
  if (best->down) {
    for (int r = to.top; r <= to.bottom; ++r) add_links(n, false, r, column, best->across, what);
  } else {
    for (int c = to.left; c <= to.right; ++c) add_links(n, true, row, c, best->along, what);
  }
  const auto add = [&](Load& l) { l.bytes += what.bytes, l.pieces += what.pieces; };
  add(out(n));
  if (to_port) add(received_[*to_port * networks_ + n]);
  for (int r = to.top; r <= to.bottom && !to_port; ++r)
    for (int c = to.left; c <= to.right; ++c)
      if (from.port || r != row || c != column) add(load(n, kIn, r, c));
  const int links = std::max(best->across.forth, best->across.back) + std::max(best->along.forth, best->along.back);
  longest_ = std::max(longest_, 2 * of(link_.port) + of(link_.hop) * links);
}

double MeshLoad::busiest() const {
  const double header = link_.header ? of(link_.header->n) : 0, gap = of(link_.noncontiguous_gap);
  double most = 0;
  const std::size_t of_kind = loads_.size() / (networks_ * kKinds);
  // The first piece's pointers are set before the phase begins.
  const auto look = [&](const Load& l, bool port) {
    const double gaps = port ? gap * std::max(0.0, l.pieces - 1) : 0;
    most = std::max(most, (l.bytes + header * l.pieces) / rate_ + gaps);
  };
  for (std::size_t l = 0; l < loads_.size(); ++l) look(loads_[l], l / of_kind % kKinds >= kOut);
  for (const std::vector<Load>* ports : {&sent_, &received_})
    for (const Load& l : *ports) look(l, false);
  return most;
}

}  // namespace tilescope::model::bsp
