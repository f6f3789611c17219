// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/mesh.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "arch/derive.h"

namespace tilescope::model::bsp {
namespace {

// Up to which a count takes tens of milliseconds at most.
constexpr std::int64_t kMostCores = 2048;

double of(std::int64_t n) { return static_cast<double>(n); }
double of(const std::optional<base::Cycles>& c) { return c ? of(c->n) : 0; }

}  // namespace

bool MeshTraffic::counts(const arch::ArchSpec& a) {
  return arch::core_link(a).kind == arch::LinkKind::kMesh && a.core.count <= kMostCores;
}

MeshTraffic::MeshTraffic(const arch::ArchSpec& a, const tile::BspStage& s)
    : link_(arch::core_link(a)),
      s_(s),
      rate_(of(link_.width.n) * arch::ratio_of(a, "link.copy")),
      rows_(static_cast<int>(link_.rows.value_or(1))),
      columns_(static_cast<int>(link_.columns.value_or(1))),
      networks_(static_cast<std::size_t>(link_.networks.value_or(1))),
      loads_(networks_ * kKinds * static_cast<std::size_t>(a.core.count)) {}

std::int64_t MeshTraffic::coordinate(std::size_t axis, std::int64_t core) const {
  return core / s_.core_stride(axis) % s_.grid[axis];
}

// Among the cores that share an input's part, in the order of the grid.
std::int64_t MeshTraffic::number_of_sharers(std::size_t input, std::int64_t core) const {
  std::int64_t n = 0;
  for (const int axis : s_.core_order)
    if (!s_.space->inputs[input].uses(axis))
      n = n * s_.grid[static_cast<std::size_t>(axis)] + coordinate(static_cast<std::size_t>(axis), core);
  return n;
}

std::int64_t MeshTraffic::place(std::size_t input, std::int64_t core) const {
  const std::int64_t ring = s_.moves[input].ring, i = number_of_sharers(input, core) % ring;
  // A folded ring goes along every other core and comes back along those between.
  return !s_.folded ? i : i % 2 == 0 ? i / 2 : ring - (i + 1) / 2;
}

MeshTraffic::Interval MeshTraffic::window(std::size_t axis, tile::Window window, std::int64_t core) const {
  const std::int64_t first = coordinate(axis, core) * s_.part(axis);
  const std::int64_t end = std::min(first + s_.part(axis), s_.space->axes[axis].extent);
  std::int64_t begin = first, length = s_.part(axis);
  if (window != tile::Window::kPart) {
    const std::int64_t blocks = s_.blocks_of_slice(axis), middle = s_.blocks(axis) / 2;
    std::int64_t slice = middle / blocks;
    for (std::size_t i = 0; i < s_.moves.size(); ++i)
      if (s_.moves[i].move == tile::Move::kRotate && s_.moves[i].axis == static_cast<int>(axis))
        slice = slice + place(i, core);
    length = blocks * s_.block[axis];
    begin += slice % s_.slices(axis) * length;
    if (window == tile::Window::kBlock) begin += middle % blocks * s_.block[axis], length = s_.block[axis];
  }
  return {begin, std::max<std::int64_t>(0, std::min(begin + length, end) - begin)};
}

MeshTraffic::Box MeshTraffic::box(const tile::Operand& o, const tile::Windows& windows, std::int64_t core) const {
  Box out;
  for (const tile::TileDim& d : o.dims) {
    std::int64_t first = d.low, last = d.low + d.spread;
    for (const expr::Term& t : d.terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      const Interval w = window(a, windows[a], core);
      if (w.length == 0) return Box(o.dims.size(), Interval{});
      first += std::min(t.coefficient * w.begin, t.coefficient * (w.begin + w.length - 1));
      last += std::max(t.coefficient * w.begin, t.coefficient * (w.begin + w.length - 1));
    }
    if (d.whole) first = 0, last = d.extent - 1;
    first = std::max<std::int64_t>(0, first), last = std::min(last, d.extent - 1);
    out.push_back({first, std::max<std::int64_t>(0, last - first + 1)});
  }
  return out;
}

void MeshTraffic::add_from_homes(std::size_t i, const tile::Windows& windows, std::int64_t home) {
  const tile::Operand& o = s_.space->inputs[i];
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> sharers;  // cores by their box
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    std::vector<std::int64_t> key;
    for (const Interval& w : box(o, windows, core)) key.insert(key.end(), {w.begin, w.length});
    sharers[key].push_back(core);
  }
  for (const auto& [key, cores] : sharers) {
    // Elements of the box that lie before one of the tensor, in row order.
    const auto before = [&, &key = key](std::int64_t element) {
      std::int64_t n = 0, stride = o.elements, inside = 1;
      for (std::size_t d = 0; d < o.dims.size(); ++d) inside *= key[2 * d + 1];
      for (std::size_t d = 0; d < o.dims.size(); ++d) {
        const std::int64_t begin = key[2 * d], length = key[2 * d + 1];
        stride /= o.dims[d].extent;
        inside /= std::max<std::int64_t>(1, length);
        const std::int64_t index = element / stride;
        n += std::clamp<std::int64_t>(index - begin, 0, length) * inside;
        if (index < begin || index >= begin + length) break;
        element %= stride;
      }
      return n;
    };
    std::int64_t elements = 1, run = 1, first = 0, last = 0, stride = 1;
    bool whole = true;
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      const std::int64_t begin = key[2 * d], length = key[2 * d + 1];
      elements *= length;
      if (whole) run *= length;
      whole = whole && length == o.dims[d].extent;
      first += begin * stride, last += (begin + length - 1) * stride;
      stride *= o.dims[d].extent;
    }
    if (elements == 0) continue;
    const std::vector<Rectangle> to = rectangles(cores);
    std::int64_t done = 0;
    for (std::int64_t h = first / home; h <= last / home; ++h) {
      const std::int64_t until = before((h + 1) * home);
      const std::int64_t count = until - std::exchange(done, until);
      if (count == 0) continue;
      const double bytes = of(count * o.element.n), of_piece = of(std::min(run, home) * o.element.n);
      const double packets = link_.max_packet ? std::ceil(of_piece / of(link_.max_packet->n)) : 1;
      for (const Rectangle& r : to) send(h, r, {bytes, std::max(1.0, std::round(bytes / of_piece)) * packets});
    }
  }
}

void MeshTraffic::add_shift(std::size_t i) {
  const tile::Operand& o = s_.space->inputs[i];
  const std::int64_t ring = s_.moves[i].ring;
  std::map<std::pair<std::vector<std::int64_t>, std::int64_t>, std::int64_t> at;  // cores of a ring, by place
  const auto key = [&](std::int64_t core, std::int64_t p) {
    std::vector<std::int64_t> k = {number_of_sharers(i, core) / ring};
    for (std::size_t a = 0; a < s_.grid.size(); ++a)
      if (o.uses(static_cast<int>(a))) k.push_back(coordinate(a, core));
    return std::pair(k, p);
  };
  for (std::int64_t core = 0; core < s_.cores(); ++core) at[key(core, place(i, core))] = core;
  const tile::Windows windows = tile::input_windows(s_, i);
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    double elements = 1;
    for (const Interval& w : box(o, windows, core)) elements *= of(w.length);
    const std::int64_t from = at.at(key(core, (place(i, core) + 1) % ring));
    const double bytes = elements * of(o.element.n);
    if (bytes > 0)
      send(from, rectangles({core}).front(),
           {bytes, link_.max_packet ? std::ceil(bytes / of(link_.max_packet->n)) : 1});
  }
}

void MeshTraffic::add_sums(double bytes) {
  const double packets = link_.max_packet ? std::ceil(bytes / of(link_.max_packet->n)) : 1;
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> alike;  // cores of the same results
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    std::vector<std::int64_t> key;
    for (std::size_t a = 0; a < s_.space->spatial; ++a) key.push_back(coordinate(a, core));
    alike[key].push_back(core);
  }
  for (const auto& [key, cores] : alike)
    for (const std::int64_t to : cores)
      for (const std::int64_t from : cores)
        if (from != to) send(from, rectangles({to}).front(), {bytes, packets});
}

std::vector<MeshTraffic::Rectangle> MeshTraffic::rectangles(const std::vector<std::int64_t>& cores) const {
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
  const auto area = static_cast<std::size_t>((hull.bottom - hull.top + 1) * (hull.right - hull.left + 1));
  if (link_.multicast != arch::Multicast::kNone && area == cores.size()) return {hull};
  return rows;
}

MeshTraffic::Way MeshTraffic::way(int from, int first, int last, int length, std::size_t network) const {
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

MeshTraffic::Load& MeshTraffic::load(std::size_t network, Kind kind, int row, int column) {
  return loads_[((network * kKinds + kind) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(row)) *
                    static_cast<std::size_t>(columns_) +
                static_cast<std::size_t>(column)];
}

void MeshTraffic::add_links(std::size_t network, bool down, int row, int column, const Way& w, const Load& what) {
  for (const bool forth : {true, false}) {
    const int links = forth ? w.forth : w.back;
    if (links == 0) continue;
    Load* first =
        &load(network, down ? (forth ? kSouth : kNorth) : (forth ? kEast : kWest), down ? 0 : row, down ? column : 0);
    const int stride = down ? columns_ : 1, extent = down ? rows_ : columns_, step = forth ? 1 : -1;
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
void MeshTraffic::send(std::int64_t from, const Rectangle& to, const Load& what) {
  const int row = static_cast<int>(from) / columns_, column = static_cast<int>(from) % columns_;
  const bool one = to.top == to.bottom && to.left == to.right;
  if (one && to.top == row && to.left == column) return;
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
    if (!best || c.links < best->links ||
        (c.links == best->links && load(n, kOut, row, column).bytes < load(best->network, kOut, row, column).bytes))
      best = c;
  }
  const std::size_t n = best->network;
  add_links(n, best->down, row, column, best->down ? best->along : best->across, what);
  if (best->down) {
    for (int r = to.top; r <= to.bottom; ++r) add_links(n, false, r, column, best->across, what);
  } else {
    for (int c = to.left; c <= to.right; ++c) add_links(n, true, row, c, best->along, what);
  }
  const auto add = [&](Kind kind, int r, int c) {
    Load& l = load(n, kind, r, c);
    l.bytes += what.bytes, l.pieces += what.pieces;
  };
  add(kOut, row, column);
  for (int r = to.top; r <= to.bottom; ++r)
    for (int c = to.left; c <= to.right; ++c)
      if (r != row || c != column) add(kIn, r, c);
  const int links = std::max(best->across.forth, best->across.back) + std::max(best->along.forth, best->along.back);
  longest_ = std::max(longest_, 2 * of(link_.port) + of(link_.hop) * links);
  empty_ = false;
}

double MeshTraffic::cycles() const {
  const double header = link_.header ? of(link_.header->n) : 0, gap = of(link_.noncontiguous_gap);
  double most = 0;
  const std::size_t of_kind = loads_.size() / (networks_ * kKinds);
  for (std::size_t l = 0; l < loads_.size(); ++l) {
    const bool port = l / of_kind % kKinds >= kOut;
    // The first piece's pointers are set before the phase begins.
    const double gaps = port ? gap * std::max(0.0, loads_[l].pieces - 1) : 0;
    most = std::max(most, (loads_[l].bytes + header * loads_[l].pieces) / rate_ + gaps);
  }
  return empty_ ? 0 : most + longest_;
}

}  // namespace tilescope::model::bsp
