// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/derive.h"
#include "base/check.h"
#include "base/integer.h"
#include "model/bsp/bound.h"
#include "model/bsp/detail/link.h"
#include "tile/bsp/memory.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Move;

double of(std::int64_t n) { return static_cast<double>(n); }

class StageModel {
 public:
  StageModel(const BspStage& s, const arch::ArchSpec& a) : s_(s), a_(a), link_(a, s) {}

  // Bytes that a core gets over all of the stage's steps.
  double received() const { return received_; }

  double cycles(const Traffic& t) const { return link_.cycles(t); }
  // What a phase takes apart from its bytes: the way of its last word.
  double horizon() const { return link_.horizon(); }

  // From homes to a buffer of those windows, on every core; of what is gathered only a slice of it.
  Traffic from_homes(std::size_t i, const tile::Windows& windows) const {
    const tile::Operand& o = s_.space->inputs[i];
    tile::Extents tile = tile::window_extents(s_, windows);
    if (s_.moves[i].gathers()) cut(tile, s_.moves[i]);
    const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n);
    const std::int64_t home = ceil_div(o.elements, a_.core.count), run = std::min(tile::runs_of(o, tile).length, home);
    const FromHome from = from_home(i, tile, home);
    const double away = 1 - share_at_home(o, home), sent = from.bytes * from.times;
    Traffic t{bytes * away, sent * away, pieces(o, tile, home), std::max(1.0, sent / of(run * o.element.n))};
    if (away == 0) t.pieces = t.sent_pieces = 0;
    if (!s_.moves[i].gathers()) t.paired = link_.paired(o, t.received);
    link_.add_ways(o, bytes * away, from.sources, t, s_.moves[i].gathers() ? s_.moves[i].ring : 1);
    return t;
  }

  static void cut(tile::Extents& tile, const tile::OperandMove& m) {
    std::int64_t& along = tile[static_cast<std::size_t>(m.axis)];
    along = ceil_div(along, m.ring);
  }

  // From the cores of a ring, which have a slice each, to all of them: a receiver waits for every other one's slice.
  Traffic gathered(std::size_t i, const tile::Windows& windows) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::OperandMove& m = s_.moves[i];
    tile::Extents slice = tile::window_extents(s_, windows);
    const double bytes = of(tile::data_tile_elements_inside(o, slice) * o.element.n);
    const std::int64_t window = slice[static_cast<std::size_t>(m.axis)];
    cut(slice, m);
    const std::int64_t slices = ceil_div(window, slice[static_cast<std::size_t>(m.axis)]);
    const double own = of(tile::data_tile_elements_inside(o, slice) * o.element.n);
    // Rows of the slice lie apart in the buffer, but those of its outermost dimension.
    const double runs = of(runs_in(o, slice, tile::window_extents(s_, windows)));
    const double pieces = runs * link_.packets(own / runs);
    const double times = link_.gather_sendings(o, m.ring);
    Traffic t{bytes - bytes / of(slices), own * times, of(slices - 1) * pieces, pieces * times};
    t.paired = link_.paired(o, t.received);
    link_.add_gather(o, m.ring, own, t);
    return t;
  }

  // Runs of neighbouring elements that a smaller box is in a larger one.
  static std::int64_t runs_in(const tile::Operand& o, const tile::Extents& smaller, const tile::Extents& larger) {
    const tile::TileShape one = tile::data_tile(o, smaller), all = tile::data_tile(o, larger);
    std::int64_t runs = 1;
    std::size_t inner = one.size() - 1;
    while (inner > 0 && one[inner] == all[inner]) --inner;
    for (std::size_t d = 0; d < inner; ++d) runs *= one[d];
    return runs;
  }

  // How much of what its part reads a core has at home at least: parts that follow each other in the tensor as the
  // cores do drift away from the even shares.
  double share_at_home(const tile::Operand& o, std::int64_t home) const {
    const tile::Extents part = tile::window_extents(s_, tile::Windows(s_.grid.size(), tile::Window::kPart));
    const std::int64_t elements = tile::data_tile_elements_inside(o, part);
    if (tile::runs_of(o, part).count > 1 || s_.sharing(o) > 1) return 0;
    std::int64_t stride = 1;
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      for (const expr::Term& t : o.dims[d].terms) {
        const auto a = static_cast<std::size_t>(t.axis);
        if (s_.grid[a] > 1 && t.coefficient * s_.part(a) * stride != elements * s_.core_stride(a)) return 0;
      }
      stride *= o.dims[d].extent;
    }
    const std::int64_t drift = std::abs(elements - home) * (s_.cores() - 1);
    return of(std::max<std::int64_t>(0, std::min(elements, home) - drift)) / of(elements);
  }

  // Runs of neighbouring elements, each cut where another core's share begins and where a packet ends.
  double pieces(const tile::Operand& o, const tile::Extents& tile, std::int64_t home) const {
    const tile::Runs runs = tile::runs_of(o, tile);
    const double of_run = std::max(1.0, of(runs.length) / of(home));
    const double packets = link_.packets(of(std::min(runs.length, home) * o.element.n));
    // Short neighbouring runs of a tensor whose rows are one after another at one home are still pieces.
    return of(runs.count) * of_run * packets;
  }

  // The busiest home sends what of its share any core wants: of dimensions that a share spans, the part that all cores
  // together want; once where the link's multicast reaches all receivers, else once to each.
  struct FromHome {
    double bytes = 0;    // of the busiest home's share that any core wants
    double times = 1;    // that it sends them
    double sources = 1;  // homes of all that is wanted
  };
  FromHome from_home(std::size_t i, const tile::Extents& tile, std::int64_t home) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::OperandMove& m = s_.moves[i];
    const std::int64_t ring = m.gathers() ? m.ring : 1;
    tile::Extents all = tile;
    if (ring > 1) all[static_cast<std::size_t>(m.axis)] *= ring;
    for (std::size_t x = 0; x < all.size(); ++x) all[x] = std::min(s_.space->axes[x].extent, all[x] * s_.grid[x]);
    const tile::TileShape wanted = tile::data_tile(o, all), own = tile::data_tile(o, tile);
    double bytes = of(home * o.element.n), distinct = 1, own_elements = 1;
    std::int64_t stride = 1;
    for (std::size_t d = o.dims.size(); d-- > 0;) {
      const std::int64_t extent = o.dims[d].extent;
      const double part = of(std::min(wanted[d], extent)) / of(extent);
      distinct *= of(std::min(wanted[d], extent));
      own_elements *= of(std::min(own[d], extent));
      if (stride * extent <= home) {
        bytes *= part;
      } else if (stride <= home) {
        // Of the indices that a share spans, those of the ranges that lie among them.
        const double spanned = of(home) / of(stride), apart = of(extent) * of(own[d]) / of(wanted[d]);
        bytes *= std::min(1.0, std::ceil(spanned / apart) * of(own[d]) / spanned);
      }
      stride *= extent;
    }
    FromHome out;
    out.bytes = std::min(bytes, distinct * of(o.element.n));
    const bool one_by_one = arch::core_link(a_).multicast == arch::Multicast::kNone;
    out.times = one_by_one ? own_elements * of(s_.cores()) / distinct : link_.sendings(o, ring);
    out.sources = std::clamp(distinct * of(o.element.n) / std::max(1.0, out.bytes), 1.0, of(a_.core.count));
    return out;
  }

  // How often what the operand's buffer holds changes: all loops outside the innermost one that it follows.
  double changes(std::size_t i) const {
    const tile::Operand& o = s_.space->inputs[i];
    double n = 1, outside = 1;
    for (const int axis : s_.loop_order) {
      const auto a = static_cast<std::size_t>(axis);
      outside *= of(s_.blocks(a));
      if (o.uses(axis) && s_.blocks(a) > 1) n = outside;
    }
    return n;
  }

  // Times that a rotating operand's slice is passed on: the loops outside, and the slices of its own.
  double passes(std::size_t i) const {
    double outside = 1;
    for (const int axis : s_.loop_order) {
      if (axis == s_.moves[i].axis) break;
      outside *= of(s_.blocks(static_cast<std::size_t>(axis)));
    }
    return outside * of(s_.moves[i].ring) - 1;
  }

  struct Moves {
    double cycles = 0, phases = 0;
  };

  // All steps' exchanges. Operands that change at the same step share a phase.
  Moves moves() {
    Moves out;
    double gathers = 0;
    for (std::size_t i = 0; i < s_.moves.size(); ++i) {
      const Move move = s_.moves[i].move;
      if (move == Move::kHold) continue;
      const tile::Windows windows = tile::input_windows(s_, i);
      double times = changes(i);
      Traffic t;
      if (move == Move::kFetch) {
        t = from_homes(i, windows);
      } else {
        const tile::Operand& o = s_.space->inputs[i];
        const double bytes = of(tile::data_tile_elements_inside(o, tile::window_extents(s_, windows)) * o.element.n);
        times = passes(i);
        t = {bytes, bytes, link_.packets(bytes), link_.packets(bytes)};
        link_.add_shift(o, s_.moves[i].ring, bytes, t);
      }
      out.cycles += times * cycles(t);
      if (t.received > 0) out.phases = std::max(out.phases, times);
      received_ += times * t.received;
      if (!s_.moves[i].gathers()) continue;
      const Traffic sent_on = gathered(i, windows);
      out.cycles += times * cycles(sent_on);
      gathers = std::max(gathers, times);
      received_ += times * sent_on.received;
    }
    out.phases += gathers;
    out.cycles += out.phases * horizon();
    return out;
  }

  // From homes, and then between the cores that gather.
  std::array<Traffic, 2> arranged() {
    std::array<Traffic, 2> out;
    for (std::size_t i = 0; i < s_.moves.size(); ++i) {
      if (s_.moves[i].move == Move::kFetch) continue;
      out[0] += from_homes(i, tile::input_windows(s_, i));
      if (s_.moves[i].gathers()) out[1] += gathered(i, tile::input_windows(s_, i));
    }
    received_ += out[0].received + out[1].received;
    return out;
  }

  // What bringing all that every core needs takes at least: its bytes over all networks and ports that may work
  // together, of its pieces those that cores which share them have between them.
  double least_cycles() const {
    Traffic all;
    for (std::size_t i = 0; i < s_.moves.size(); ++i) {
      const Traffic t = from_homes(i, tile::Windows(s_.grid.size(), tile::Window::kPart));
      all.received += t.received;
      all.pieces += t.pieces / of(s_.sharing(s_.space->inputs[i]));
    }
    return link_.least_cycles(all);
  }

  // Every core gets its share of the others' partial sums.
  Traffic reduced() {
    const std::int64_t parts = tile::partial_sums(s_);
    const tile::Operand& o = s_.space->output;
    const std::int64_t sums = tile::data_tile_elements_inside(o, tile::window_extents(s_, tile::sums_windows(s_)));
    const double bytes = of(ceil_div(sums, parts) * (parts - 1) * base::size_of(s_.space->expression.accumulate).n);
    received_ += bytes;
    Traffic t{bytes, bytes, of(parts - 1), of(parts - 1)};
    link_.add_ways(o, bytes, of(s_.cores()), t);
    return t;
  }

  // Adding up what every other core sent of the share.
  double adding_cycles() const {
    const std::int64_t parts = tile::partial_sums(s_);
    const base::Dtype sum = s_.space->expression.accumulate;
    const arch::ComputeSpec* adds = arch::scalar_unit_of(a_, sum, sum);
    if (adds == nullptr) return 0;
    const std::int64_t sums =
        tile::data_tile_elements_inside(s_.space->output, tile::window_extents(s_, tile::sums_windows(s_)));
    return addition_cycles(ceil_div(sums, parts), parts, sum, *adds, a_);
  }

 private:
  const BspStage& s_;
  const arch::ArchSpec& a_;
  LinkModel link_;
  double received_ = 0;
};

const arch::ComputeSpec& instruction_of(const BspStage& s, const arch::ArchSpec& a) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == s.instruction) return c;
  base::check(false, "the program's instruction is one of the chip's");
  return a.compute.front();
}

// Microseconds of a stage's terms.
struct Times {
  double compute = 0, call = 0, exchange = 0, sync = 0, reduce = 0, arrange = 0, launch = 0, total = 0;
  bool beside = false;  // an exchange runs beside arithmetic
  double received = 0;  // bytes of a core
};

Times times_of(const BspStage& s, const arch::ArchSpec& a, bool placed) {
  StageModel m(s, a);
  const double steps = of(s.steps()), us = 1e6 / static_cast<double>(a.clock.n);
  const VertexCycles vertex = vertex_cycles(*s.space, s.block, instruction_of(s, a), a);
  const StageModel::Moves moves = m.moves();
  double phases = moves.phases, arrange = 0, reduce = 0;
  if (!placed)
    for (const Traffic& t : m.arranged())
      if (t.received > 0) arrange += m.cycles(t) + m.horizon(), ++phases;
  if (tile::partial_sums(s) > 1) reduce = m.cycles(m.reduced()) + m.horizon() + m.adding_cycles(), ++phases;
  Times t{steps * (vertex.all - vertex.overhead) * us,
          steps * vertex.overhead * us,
          moves.cycles * us,
          2 * phases * of(arch::core_sync(a).n) * us,
          reduce * us,
          arrange * us,
          a.launch_overhead.v};
  t.received = m.received();
  // An exchange runs beside the arithmetic before it where the chip can, and each buffer it fills is another one.
  t.beside = arch::core_link(a).overlap;
  for (const tile::OperandMove& move : s.moves) t.beside = t.beside && (move.move != Move::kFetch || move.buffers == 2);
  const double arithmetic = t.compute + t.call;
  // The first block's exchange has nothing to run beside.
  t.total =
      t.beside ? std::max(arithmetic, t.exchange) + std::min(arithmetic, t.exchange) / steps : arithmetic + t.exchange;
  t.total += t.sync + t.reduce + t.arrange + t.launch;
  return t;
}

Estimate estimate_stage(const BspStage& s, const arch::ArchSpec& a, bool placed) {
  const Times t = times_of(s, a, placed);
  Estimate e;
  e.blocks = s.cores();
  e.waves = of(s.steps());
  e.occupancy.blocks_per_core = 1;
  e.occupancy.ratio = of(s.cores()) / of(a.core.count);
  e.occupancy.limited_by = "cores";
  e.terms = {{kCompute, t.beside, t.compute}, {kCall, t.beside, t.call},  {kExchange, t.beside, t.exchange},
             {kSync, false, t.sync},          {kReduce, false, t.reduce}, {kArrange, false, t.arrange},
             {kLaunch, false, t.launch}};
  e.total_us = t.total;
  e.bottleneck = static_cast<std::size_t>(
      std::max_element(e.terms.begin(), e.terms.end(),
                       [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; }) -
      e.terms.begin());
  const double all = t.received * of(s.cores());
  e.levels = {{"link", all, all / of(arch::core_link(a).width.n), 1, t.exchange + t.arrange}};
  return e;
}

}  // namespace

Estimate estimate(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  std::vector<Estimate> of_stages;
  for (std::size_t n = 0; n < stages.size(); ++n)
    of_stages.push_back(estimate_stage(stages[n], a, tile::placed(stages) && n == 0));
  return sum_of(of_stages);
}

double total_us(const BspStage& s, const arch::ArchSpec& a) { return times_of(s, a, s.placed).total; }

GridBound::GridBound(const BspStage& s, const arch::ArchSpec& a) : a_(a), instruction_(instruction_of(s, a)) {
  BspStage held = s;
  for (tile::OperandMove& m : held.moves) m = {Move::kHold, 1, 1, -1};
  StageModel m(held, a);
  const double us = 1e6 / bsp::of(a.clock.n);
  if (!s.placed) received_us_ = m.least_cycles() * us;
  fixed_us_ = a.launch_overhead.v;
  if (tile::partial_sums(s) > 1)
    fixed_us_ += (m.cycles(m.reduced()) + m.adding_cycles() + 2 * bsp::of(arch::core_sync(a).n)) * us;
}

double GridBound::of(const BspStage& s) const {
  const double us = 1e6 / bsp::of(a_.clock.n);
  const double arithmetic = bsp::of(s.steps()) * vertex_cycles(*s.space, s.block, instruction_, a_).all * us;
  // Slices that have passed round once met so often.
  double phases = 0;
  for (const tile::OperandMove& m : s.moves)
    if (m.move == Move::kRotate) phases = std::max(phases, bsp::of(m.ring - 1));
  const double sync = 2 * phases * bsp::of(arch::core_sync(a_).n) * us;
  const bool beside = arch::core_link(a_).overlap;
  return (beside ? std::max(arithmetic, received_us_) : arithmetic + received_us_) + sync + fixed_us_;
}

}  // namespace tilescope::model::bsp
