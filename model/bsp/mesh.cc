// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/mesh.h"

#include <algorithm>
#include <map>
#include <utility>

#include "arch/derive.h"
#include "arch/hierarchy.h"
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

MeshTraffic::MeshTraffic(const arch::ArchSpec& a, const tile::BspStage& s) : s_(s), mesh_(a) {
  if (const arch::DramLevel* dram = arch::dram_of(a)) interleave_ = dram->interleave->n;
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
    const std::vector<MeshLoad::Rectangle> to = mesh_.rectangles(cores);
    std::int64_t done = 0, begun = 0;
    for (std::int64_t h = first / home; h <= last / home; ++h) {
      const std::int64_t until = before((h + 1) * home, false), begin = before((h + 1) * home, true);
      const std::int64_t goes_on = done < begun * run ? 1 : 0;  // a run that the home before began
      const std::int64_t count = until - std::exchange(done, until),
                         runs = begin - std::exchange(begun, begin) + goes_on;
      if (count == 0) continue;
      const double bytes = of(count * o.element.n), pieces = of(runs);
      const MeshLoad::Load what{bytes, pieces * mesh_.packets(bytes / pieces)};
      for (const MeshLoad::Rectangle& r : to) mesh_.send(mesh_.place_of(h), r, what);
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
    const double ports = of(static_cast<std::int64_t>(mesh_.ports().size()));
    const MeshLoad::Load what{bytes / ports, std::max(1.0, bytes / of_piece / ports) * mesh_.packets(of_piece)};
    for (const MeshLoad::Rectangle& to : mesh_.rectangles(cores))
      for (const MeshLoad::Place& port : mesh_.ports()) mesh_.send(port, to, what);
  }
}

void MeshTraffic::add_store() {
  const tile::Operand& o = s_.space->output;
  const tile::Windows windows = tile::result_windows(s_, true);
  const double ports = of(static_cast<std::int64_t>(mesh_.ports().size())), parts = of(tile::partial_sums(s_));
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
    const MeshLoad::Load what{bytes / ports, std::max(1.0, bytes / of_piece / ports) * mesh_.packets(of_piece)};
    for (const MeshLoad::Place& port : mesh_.ports())
      mesh_.send(mesh_.place_of(core), {port.row, port.column, port.row, port.column}, what, port.port);
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
      for (const MeshLoad::Rectangle& to : mesh_.rectangles(others))
        mesh_.send(mesh_.place_of(from), to, {bytes, runs * mesh_.packets(bytes / runs)});
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
    if (bytes > 0)
      mesh_.send(mesh_.place_of(at.at(next)), mesh_.rectangles({core}).front(), {bytes, mesh_.packets(bytes)});
  }
}

void MeshTraffic::add_halo(std::size_t i) {
  for (std::int64_t core = 0; core < s_.cores(); ++core)
    for (const HaloPart& p : halo_parts(s_, i, core)) {
      const double bytes = of(p.bytes), runs = of(p.runs);
      mesh_.send(mesh_.place_of(p.from), mesh_.rectangles({core}).front(), {bytes, runs * mesh_.packets(bytes / runs)});
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
        if (from != cores[to])
          mesh_.send(mesh_.place_of(from), mesh_.rectangles({cores[to]}).front(), {bytes, mesh_.packets(bytes)});
}

}  // namespace tilescope::model::bsp
