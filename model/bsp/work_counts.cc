// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/work_counts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/pipes.h"
#include "base/integer.h"
#include "model/bsp/detail/brought.h"
#include "model/bsp/detail/places.h"
#include "model/bsp/detail/real.h"
#include "model/bsp/estimate.h"
#include "model/common/detail/refreshes.h"
#include "tile/bsp/memory.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Dataflow;
using tile::Window;

// Blocks of an axis that all its cores have over all steps, by their lengths; none of which is 0. Blocks of a part
// follow each other, the last one may be shorter, and so may the last part.
struct Blocks {
  std::int64_t length = 0, count = 0;
};
std::vector<Blocks> blocks_of(const BspStage& s, std::size_t axis) {
  const std::int64_t extent = s.space->axes[axis].extent, part = s.part(axis), block = s.block[axis];
  std::vector<Blocks> out;
  const auto add_parts = [&](std::int64_t length, std::int64_t parts) {
    if (length >= block && parts > 0) out.push_back({block, parts * (length / block)});
    if (length % block > 0 && parts > 0) out.push_back({length % block, parts});
  };
  add_parts(part, extent / part);
  add_parts(extent % part, 1);
  return out;
}

// Cores of an axis that have iterations.
std::int64_t used_parts(const BspStage& s, std::size_t axis) {
  return ceil_div(s.space->axes[axis].extent, s.part(axis));
}

VertexWork operator*(double times, VertexWork w) {
  for (double* amount : {&w.instructions, &w.lanes, &w.arithmetic, &w.paths, &w.read, &w.written}) *amount *= times;
  return w;
}

void add(VertexWork& sum, const VertexWork& more) {
  sum.instructions += more.instructions, sum.lanes += more.lanes;
  sum.arithmetic += more.arithmetic, sum.paths += more.paths;
  sum.read += more.read, sum.written += more.written;
}

// Calls of all cores in all steps.
VertexWork calls_of(const BspStage& s, const arch::ComputeSpec& instruction, const arch::ArchSpec& a) {
  VertexWork out;
  tile::Extents block = s.block;
  const auto visit = [&](const auto& self, std::size_t axis, double count) -> void {
    if (axis == block.size()) return add(out, count * vertex_work(*s.space, block, instruction, a));
    for (const Blocks& b : blocks_of(s, axis)) block[axis] = b.length, self(self, axis + 1, count * of(b.count));
  };
  visit(visit, 0, 1);
  // Sums of every call, and those of the first call of each, which adds to none.
  double all = 1, first = 1;
  for (std::size_t axis = 0; axis < s.block.size(); ++axis) {
    double blocks = 0, results = 0;
    for (const Blocks& b : blocks_of(s, axis)) blocks += of(b.count), results += of(b.count * b.length);
    all *= axis < s.space->spatial ? results : blocks;
    first *= axis < s.space->spatial ? results : of(used_parts(s, axis));
  }
  const bool reduces = s.space->spatial < s.block.size();
  const double bytes = of(reduces ? base::size_of(s.space->expression.accumulate).n : s.space->output.element.n);
  out.written += all * bytes;
  out.read += (all - first) * bytes;
  return out;
}

// Adding up partial sums: of the cores that share a part of the results, each has an even share, the last ones less.
VertexWork additions_of(const BspStage& s, const arch::ComputeSpec& adds, const arch::ArchSpec& a) {
  const std::int64_t parts = tile::partial_sums(s);
  const base::Dtype sum = s.space->expression.accumulate;
  VertexWork out;
  const auto visit = [&](const auto& self, std::size_t axis, std::int64_t elements, double count) -> void {
    if (axis == s.space->spatial) {
      const std::int64_t share = ceil_div(elements, parts), last = elements % share;
      add(out, count * of(elements / share) * addition_work(share, parts, sum, adds, a));
      if (last > 0) add(out, count * addition_work(last, parts, sum, adds, a));
      return;
    }
    const std::int64_t extent = s.space->axes[axis].extent, part = s.part(axis);
    self(self, axis + 1, elements * part, count * of(extent / part));
    if (extent % part > 0) self(self, axis + 1, elements * (extent % part), count);
  };
  visit(visit, 0, 1, 1);
  return out;
}

// What exchanges move.
struct Moved {
  double read = 0, written = 0;            // bytes of the cores' memories
  double sent = 0;                         // between cores
  double dram_read = 0, dram_written = 0;  // in whole bursts
  double activates = 0;                    // a row for each piece of neighbouring bytes in a channel
};

class Exchanged {
 public:
  Exchanged(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a)
      : stages_(stages), number_(number), s_(stages[number]), a_(a), link_(arch::core_link(a)) {}

  Moved all() const {
    Moved out;
    for (std::size_t i = 0; i < s_.dataflow.size(); ++i) add_input(i, out);
    const double reduced = reduced_bytes(s_);
    out.read += reduced, out.written += reduced, out.sent += reduced;
    if (!tile::is_stored(stages_, number_, a_)) return out;
    const tile::Operand& o = s_.space->output;
    const double stored = of(o.elements * o.element.n);
    out.read += stored;
    const Bursts b = bursts_of(o, tile::result_windows(s_, true), tile::partial_sums(s_));
    out.dram_written += stored * b.bytes;
    out.activates += stored * b.pieces;
    return out;
  }

 private:
  bool multicasts() const { return link_.multicast != arch::Multicast::kNone; }

  void add_input(std::size_t i, Moved& out) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::OperandDataflow& m = s_.dataflow[i];
    const bool arranged = tile::prearranged(stages_) && number_ == 0;
    const Brought b = brought(s_, i, arranged);
    const double from_cores = b.all - b.from_home;
    out.written += b.all;
    // A slice goes to all others of its ring at once, or to one after the other.
    const bool gathered = m.gathers() && (!arranged || m.how != Dataflow::kStationary);
    const double passed = gathered && sends_together(i) ? from_cores / of(m.ring - 1) : from_cores;
    out.read += passed;
    if (gathered || m.how == Dataflow::kStationary || m.ring > 1) out.sent += passed;
    if (b.from_home == 0) return;
    const std::int64_t boxes = different_boxes(i), sharing = sharing_of(o);
    const double sent = multicasts() ? b.from_home * of(boxes) / of(sharing) : b.from_home;
    if (tile::homes_in_dram(stages_, a_) && tile::is_outside(stages_, number_, i)) {
      const Bursts bursts = bursts_of(o, tile::input_windows(s_, i), 1);
      out.dram_read += sent * bursts.bytes;
      out.activates += sent * bursts.pieces;
      return;
    }
    out.read += sent;
    out.sent += sent;
    if (!multicasts() || boxes == sharing) out.sent -= b.from_home * part_at_home(i);
  }

  // Cores that have one box of an operand at a time: a read that takes all of a dimension does not part them.
  std::int64_t sharing_of(const tile::Operand& o) const {
    std::int64_t n = 1;
    for (std::size_t a = 0; a < s_.grid.size(); ++a) {
      const bool parts = std::any_of(o.dims.begin(), o.dims.end(), [&](const tile::TileDim& d) {
        return !d.whole && std::any_of(d.terms.begin(), d.terms.end(),
                                       [&](const expr::Term& t) { return t.axis == static_cast<int>(a); });
      });
      if (!parts) n *= s_.grid[a];
    }
    return n;
  }

  // How many boxes of an input those have between them at a time that share its part: slices that rotate begin at
  // different ones, and of what is gathered each core of a ring brings another slice.
  std::int64_t different_boxes(std::size_t i) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::OperandDataflow& m = s_.dataflow[i];
    const tile::Windows windows = tile::input_windows(s_, i);
    std::vector<std::size_t> rotating;  // inputs whose slices the box follows
    for (std::size_t j = 0; j < s_.dataflow.size(); ++j)
      if (s_.dataflow[j].how == Dataflow::kShift && s_.dataflow[j].ring > 1 && o.uses(s_.dataflow[j].axis) &&
          windows[static_cast<std::size_t>(s_.dataflow[j].axis)] != Window::kPart)
        rotating.push_back(j);
    if (rotating.empty()) return m.gathers() ? m.ring : 1;
    std::set<std::vector<std::int64_t>> boxes;
    for (std::int64_t n = 0; n < s_.sharing(o); ++n) {
      const std::int64_t core = sharer(s_, i, n);
      std::vector<std::int64_t> box(s_.grid.size() + 1, 0);
      for (const std::size_t j : rotating) {
        const auto axis = static_cast<std::size_t>(s_.dataflow[j].axis);
        box[axis] = (box[axis] + place_in_ring(s_, j, core)) % s_.slices(axis);
      }
      if (m.gathers()) box.back() = place_in_ring(s_, i, core);
      boxes.insert(std::move(box));
    }
    return std::ssize(boxes);
  }

  // Whether a core sends its slice to all others of its ring at once: over a mesh, or an exchange whose ports work
  // together, where neighbours are all among them.
  bool sends_together(std::size_t i) const {
    if (!multicasts()) return false;
    if (link_.kind == arch::LinkKind::kMesh) return true;
    const std::int64_t pairing = link_.port_pairing.value_or(1), ring = s_.dataflow[i].ring;
    if (pairing == 1 || ring - 1 < pairing) return false;
    std::set<std::int64_t> cores;
    for (std::int64_t n = 0; n < ring; ++n) cores.insert(sharer(s_, i, n));
    return std::all_of(cores.begin(), cores.end(), [&](std::int64_t core) {
      for (std::int64_t n = 0; n < pairing; ++n)
        if (cores.count(core / pairing * pairing + n) == 0) return false;
      return true;
    });
  }

  // Of the parts of an input that cores have, what each has at home: an even share in row order.
  double part_at_home(std::size_t i) const {
    const tile::Operand& o = s_.space->inputs[i];
    if (!tile::is_outside(stages_, number_, i)) return 0;
    const std::int64_t bytes = ceil_div(o.elements, a_.core.count) * o.element.n;
    const std::int64_t home = base::round_up(bytes, arch::scratchpad_of(a_)->bank_width.n) / o.element.n;
    double there = 0;
    for (std::int64_t core = 0; core < s_.cores(); ++core) {
      const Box part = part_of(o, core);
      there += of(before(o, part, (core + 1) * home) - before(o, part, core * home));
    }
    const double all = part_bytes(s_, o);
    return all == 0 ? 0 : there * of(o.element.n) / all;
  }

  struct Interval {
    std::int64_t begin = 0, length = 0;
  };
  using Box = std::vector<Interval>;

  Box part_of(const tile::Operand& o, std::int64_t core) const {
    Box out;
    for (const tile::TileDim& d : o.dims) {
      std::int64_t first = d.low, last = d.low + d.spread;
      for (const expr::Term& t : d.terms) {
        const auto a = static_cast<std::size_t>(t.axis);
        const std::int64_t begin = coordinate(s_, a, core) * s_.part(a),
                           end = std::min(begin + s_.part(a), s_.space->axes[a].extent) - 1;
        if (end < begin) return Box(o.dims.size());
        first += std::min(t.coefficient * begin, t.coefficient * end);
        last += std::max(t.coefficient * begin, t.coefficient * end);
      }
      if (d.whole) first = 0, last = d.extent - 1;
      first = std::max<std::int64_t>(0, first), last = std::min(last, d.extent - 1);
      out.push_back({first, std::max<std::int64_t>(0, last - first + 1)});
    }
    return out;
  }

  // Elements of a box that come before one of the tensor in row order.
  static std::int64_t before(const tile::Operand& o, const Box& box, std::int64_t element) {
    std::int64_t inner = 1, stride = 1, out = 0;
    for (const Interval& i : box) inner *= i.length;
    for (const tile::TileDim& d : o.dims) stride *= d.extent;
    if (inner == 0 || element <= 0) return 0;
    if (element >= stride) return inner;
    for (std::size_t d = 0; d < box.size(); ++d) {
      stride /= o.dims[d].extent, inner /= box[d].length;
      const std::int64_t index = element / stride;
      element %= stride;
      out += std::clamp<std::int64_t>(index - box[d].begin, 0, box[d].length) * inner;
      if (index < box[d].begin || index >= box[d].begin + box[d].length) return out;
    }
    return out;
  }

  // For each byte that is asked for, bytes of whole bursts and pieces in one channel: of runs that begin anywhere that
  // a block may begin, or its share where `parts` cores share one.
  struct Bursts {
    double bytes = 1, pieces = 1;
  };
  Bursts bursts_of(const tile::Operand& o, const tile::Windows& windows, std::int64_t parts) const {
    const arch::DramLevel& dram = *arch::dram_of(a_);
    const std::int64_t burst = arch::transaction_of(dram).n, element = o.element.n;
    const tile::Extents tile = tile::window_extents(s_, windows);
    const tile::TileShape box = tile::data_tile(o, tile);
    std::int64_t aligned = burst, stride = element, run = 1;
    bool whole = true;  // the dimensions inside lie in one run
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      const tile::TileDim& dim = o.dims[d];
      const std::int64_t length = std::min(box[d], dim.extent);
      if (whole) run *= length;
      if (!whole && length > 1) aligned = std::gcd(aligned, stride);
      for (const expr::Term& t : dim.terms) {
        const auto a = static_cast<std::size_t>(t.axis);
        if (tile[a] < s_.space->axes[a].extent)
          aligned = std::gcd(aligned, t.coefficient * std::gcd(tile[a], s_.part(a)) * stride);
      }
      if (!dim.terms.empty()) aligned = std::gcd(aligned, dim.low * stride);
      whole = whole && length == dim.extent;
      stride *= dim.extent;
    }
    const std::int64_t share = ceil_div(tile::data_tile_elements_inside(o, tile), parts);
    if (parts > 1) run = std::min(run, share), aligned = std::gcd(aligned, share * element);
    const double bytes = of(run * element);
    return {(std::max(0.0, bytes - of(aligned)) / of(burst) + 1) * of(burst) / bytes,
            std::max(1.0, bytes / of(dram.interleave->n)) / bytes};
  }

  std::span<const BspStage> stages_;
  std::size_t number_;
  const BspStage& s_;
  const arch::ArchSpec& a_;
  const arch::LinkSpec& link_;
};

}  // namespace

energy::Counts work_counts(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a,
                           const arch::ComputeSpec& instruction, double running_us) {
  const BspStage& s = stages[number];
  energy::Counts out;
  const std::vector<arch::PipeSpec> pipes = arch::pipes_of(a);
  const auto hold = [&](std::string_view what, double cycles) {
    for (const arch::PipeShare& p : arch::shares_of(pipes, what)) out.pipe_cycles[p.pipe] += p.share * cycles;
  };
  const auto count = [&](const arch::ComputeSpec& c, const VertexWork& w) {
    out.instructions += w.instructions;
    out.add_operations(c.name, w.lanes);
    hold(c.name, w.arithmetic);
    hold(arch::kMemoryAccesses, w.paths);
  };
  const VertexWork calls = calls_of(s, instruction, a);
  count(instruction, calls);
  VertexWork additions;
  const base::Dtype sum = s.space->expression.accumulate;
  if (const arch::ComputeSpec* adds = arch::scalar_unit_of(a, sum, sum); adds != nullptr && tile::partial_sums(s) > 1) {
    additions = additions_of(s, *adds, a);
    count(*adds, additions);
  }
  const Moved moved = Exchanged(stages, number, a).all();
  if (const arch::DramLevel* dram = arch::dram_of(a)) {
    out.levels.push_back({dram->name, moved.dram_read, moved.dram_written});
    out.activates = moved.activates;
    out.refreshes = refreshes_per_us(*dram) * (running_us + a.launch_overhead.v);
  }
  out.levels.push_back({arch::scratchpad_of(a)->name, calls.read + additions.read + moved.read,
                        calls.written + additions.written + moved.written});
  out.link_bytes = moved.sent;
  out.block_us = of(s.cores()) * running_us;
  return out;
}

}  // namespace tilescope::model::bsp
