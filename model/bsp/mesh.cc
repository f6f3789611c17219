// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/mesh.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/ports.h"
#include "base/integer.h"
#include "model/bsp/detail/halo.h"
#include "model/bsp/detail/places.h"
#include "model/bsp/detail/real.h"

namespace tilescope::model::bsp {
namespace {

// Up to which a count takes tens of milliseconds at most.
constexpr std::int64_t kMaxCores = 2048;

}  // namespace

bool MeshTraffic::counts(const arch::ArchSpec& a) {
  return arch::core_link(a).kind == arch::LinkKind::kMesh && a.core.count <= kMaxCores;
}

MeshTraffic::MeshTraffic(const arch::ArchSpec& a, const tile::BspStage& s)
    : link_(arch::core_link(a)),
      s_(s),
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
  interleave_ = dram->interleave->n;
}

MeshTraffic::Interval MeshTraffic::window(std::size_t axis, tile::Window window, std::int64_t core) const {
  const std::int64_t first = coordinate(s_, axis, core) * s_.part(axis);
  const std::int64_t end = std::min(first + s_.part(axis), s_.space->axes[axis].extent);
  std::int64_t begin = first, length = s_.part(axis);
  if (window != tile::Window::kPart) {
    const std::int64_t blocks = s_.blocks_of_slice(axis), middle = s_.blocks(axis) / 2;
    std::int64_t slice = middle / blocks;
    for (std::size_t i = 0; i < s_.dataflow.size(); ++i)
      if (s_.dataflow[i].how == tile::Dataflow::kShift && s_.dataflow[i].axis == static_cast<int>(axis))
        slice = slice + place_in_ring(s_, i, core);
    length = blocks * s_.block[axis];
    begin += slice % s_.slices(axis) * length;
    if (window == tile::Window::kBlock) begin += middle % blocks * s_.block[axis], length = s_.block[axis];
  }
  return {begin, std::max<std::int64_t>(0, std::min(begin + length, end) - begin)};
}

double MeshTraffic::packets(double bytes) const {
  return link_.max_packet ? std::ceil(bytes / of(link_.max_packet->n)) : 1;
}

MeshTraffic::Place MeshTraffic::place_of(std::int64_t core) const {
  return {static_cast<int>(core) / columns_, static_cast<int>(core) % columns_};
}

MeshTraffic::Box MeshTraffic::box(const tile::Operand& o, const tile::Windows& windows, std::int64_t core,
                                  std::size_t sliced) const {
  Box out;
  for (const tile::TileDim& d : o.dims) {
    std::int64_t first = d.low, last = d.low + d.spread;
    for (const expr::Term& t : d.terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      Interval w = window(a, windows[a], core);
      if (sliced != kWhole && s_.dataflow[sliced].axis == t.axis) {
        const std::int64_t ring = s_.dataflow[sliced].ring, slice = base::ceil_div(w.length, ring);
        const std::int64_t skipped = std::min(w.length, place_in_ring(s_, sliced, core) * slice);
        w = {w.begin + skipped, std::min(slice, w.length - skipped)};
      }
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

MeshTraffic::Sharers MeshTraffic::sharers_of(std::size_t i, const tile::Windows& windows) const {
  Sharers out;
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    std::vector<std::int64_t> key;
    const std::size_t sliced = s_.dataflow[i].gathers() ? i : kWhole;
    for (const Interval& w : box(s_.space->inputs[i], windows, core, sliced))
      key.insert(key.end(), {w.begin, w.length});
    out[key].push_back(core);
  }
  return out;
}

void MeshTraffic::add_from_homes(std::size_t i, const tile::Windows& windows, std::int64_t home) {
  const tile::Operand& o = s_.space->inputs[i];
  for (const auto& [key, cores] : sharers_of(i, windows)) {
    // Runs of neighbours take the inner dimensions that the box has whole, and the next one.
    std::int64_t elements = 1, run = 1, first = 0, last = 0, stride = 1;
    std::size_t outer = o.dims.size();  // dimensions outside a run
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      const std::int64_t begin = key[2 * d], length = key[2 * d + 1];
      if (outer == d + 1 && run == stride) run *= length, outer = d;
      elements *= length;
      first += begin * stride, last += (begin + length - 1) * stride;
      stride *= o.dims[d].extent;
    }
    // Of the box, elements that lie before one of the tensor in row order, or beginnings of runs.
    const auto before = [&, &key = key](std::int64_t element, bool of_runs) {
      std::int64_t n = 0, left = o.elements, inside = of_runs ? elements / run : elements;
      for (std::size_t d = 0; d < o.dims.size(); ++d) {
        const std::int64_t begin = key[2 * d], length = of_runs && d >= outer ? 1 : key[2 * d + 1];
        left /= o.dims[d].extent;
        inside /= length;
        const std::int64_t index = element / left;
        n += std::clamp<std::int64_t>(index - begin, 0, length) * inside;
        if (index < begin || index >= begin + length) return n;
        element %= left;
      }
      return n;
    };
    if (elements == 0) continue;
    const std::vector<Rectangle> to = rectangles(cores);
    std::int64_t done = 0, begun = 0;
    for (std::int64_t h = first / home; h <= last / home; ++h) {
      const std::int64_t until = before((h + 1) * home, false), begin = before((h + 1) * home, true);
      const std::int64_t goes_on = done < begun * run ? 1 : 0;  // a run that the home before began
      const std::int64_t count = until - std::exchange(done, until),
                         runs = begin - std::exchange(begun, begin) + goes_on;
      if (count == 0) continue;
      const double bytes = of(count * o.element.n), pieces = of(runs);
      const Load what{bytes, pieces * packets(bytes / pieces)};
      for (const Rectangle& r : to) send(place_of(h), r, what);
    }
  }
}

void MeshTraffic::add_from_dram(std::size_t i, const tile::Windows& windows) {
  const tile::Operand& o = s_.space->inputs[i];
  for (const auto& [key, cores] : sharers_of(i, windows)) {
    std::int64_t elements = 1, run = 1;
    bool whole = true;
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      elements *= key[2 * d + 1];
      if (whole) run *= key[2 * d + 1];
      whole = whole && key[2 * d + 1] == o.dims[d].extent;
    }
    if (elements == 0) continue;
    const double bytes = of(elements * o.element.n), of_piece = of(std::min(run * o.element.n, interleave_));
    const double ports = of(static_cast<std::int64_t>(ports_.size()));
    const Load what{bytes / ports, std::max(1.0, bytes / of_piece / ports) * packets(of_piece)};
    for (const Rectangle& to : rectangles(cores))
      for (const Place& port : ports_) send(port, to, what);
  }
}

void MeshTraffic::add_store() {
  const tile::Operand& o = s_.space->output;
  const tile::Windows windows = tile::result_windows(s_, true);
  const double ports = of(static_cast<std::int64_t>(ports_.size())), parts = of(tile::partial_sums(s_));
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    std::int64_t elements = 1, run = 1;
    bool whole = true;
    const Box b = box(o, windows, core);
    for (std::size_t d = b.size(); d-- > 0;) {
      elements *= b[d].length;
      if (whole) run *= b[d].length;
      whole = whole && b[d].length == o.dims[d].extent;
    }
    if (elements == 0) continue;
    const double bytes = of(elements * o.element.n) / parts, of_piece = of(std::min(run * o.element.n, interleave_));
    const Load what{bytes / ports, std::max(1.0, bytes / of_piece / ports) * packets(of_piece)};
    for (const Place& port : ports_)
      send(place_of(core), {port.row, port.column, port.row, port.column}, what, port.port);
  }
}

// Cores that have the same coordinates along all axes that an input uses, and are neighbours along the others.
MeshTraffic::Ring MeshTraffic::ring_of(std::size_t i, std::int64_t core) const {
  std::vector<std::int64_t> key = {number_of_sharer(s_, i, core) / s_.dataflow[i].ring};
  for (std::size_t a = 0; a < s_.grid.size(); ++a)
    if (s_.space->inputs[i].uses(static_cast<int>(a))) key.push_back(coordinate(s_, a, core));
  return {std::move(key), place_in_ring(s_, i, core)};
}

void MeshTraffic::add_gather(std::size_t i, const tile::Windows& windows) {
  const tile::Operand& o = s_.space->inputs[i];
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> rings;
  for (std::int64_t core = 0; core < s_.cores(); ++core) rings[ring_of(i, core).first].push_back(core);
  for (const auto& [key, cores] : rings)
    for (const std::int64_t from : cores) {
      const Box slice = box(o, windows, from, i), all = box(o, windows, from);
      double elements = 1, runs = 1;
      std::size_t inner = slice.size() - 1;
      while (inner > 0 && slice[inner].length == all[inner].length) --inner;
      for (std::size_t d = 0; d < slice.size(); ++d) (d < inner ? runs : elements) *= of(slice[d].length);
      elements *= runs;
      if (elements == 0) continue;
      const double bytes = elements * of(o.element.n);
      std::vector<std::int64_t> others;
      for (const std::int64_t core : cores)
        if (core != from) others.push_back(core);
      for (const Rectangle& to : rectangles(others)) send(place_of(from), to, {bytes, runs * packets(bytes / runs)});
    }
}

void MeshTraffic::add_shift(std::size_t i) {
  const tile::Operand& o = s_.space->inputs[i];
  std::map<Ring, std::int64_t> at;  // cores
  for (std::int64_t core = 0; core < s_.cores(); ++core) at[ring_of(i, core)] = core;
  const tile::Windows windows = tile::input_windows(s_, i);
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    double elements = 1;
    for (const Interval& w : box(o, windows, core)) elements *= of(w.length);
    Ring next = ring_of(i, core);
    next.second = (next.second + 1) % s_.dataflow[i].ring;
    const double bytes = elements * of(o.element.n);
    if (bytes > 0) send(place_of(at.at(next)), rectangles({core}).front(), {bytes, packets(bytes)});
  }
}

void MeshTraffic::add_halo(std::size_t i) {
  for (std::int64_t core = 0; core < s_.cores(); ++core)
    for (const HaloPart& p : halo_parts(s_, i, core)) {
      const double bytes = of(p.bytes), runs = of(p.runs);
      send(place_of(p.from), rectangles({core}).front(), {bytes, runs * packets(bytes / runs)});
    }
}

void MeshTraffic::add_sums(double bytes, std::int64_t receivers) {
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> alike;  // cores of the same results
  for (std::int64_t core = 0; core < s_.cores(); ++core) {
    std::vector<std::int64_t> key;
    for (std::size_t a = 0; a < s_.space->spatial; ++a) key.push_back(coordinate(s_, a, core));
    alike[key].push_back(core);
  }
  for (const auto& [key, cores] : alike)
    for (std::size_t to = 0; to < std::min(cores.size(), static_cast<std::size_t>(receivers)); ++to)
      for (const std::int64_t from : cores)
        if (from != cores[to]) send(place_of(from), rectangles({cores[to]}).front(), {bytes, packets(bytes)});
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
  const auto area =
      static_cast<std::size_t>(hull.bottom - hull.top + 1) * static_cast<std::size_t>(hull.right - hull.left + 1);
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
void MeshTraffic::send(const Place& from, const Rectangle& to, const Load& what, std::optional<std::size_t> to_port) {
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

double MeshTraffic::busiest() const {
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
