// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "base/check.h"
#include "base/integer.h"
#include "model/bsp/detail/link.h"
#include "model/bsp/detail/mesh.h"
#include "tile/bsp/memory.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Move;

double of(std::int64_t n) { return static_cast<double>(n); }

class StageModel {
 public:
  StageModel(const BspStage& s, const arch::ArchSpec& a, Links links)
      : s_(s), a_(a), link_(a, s), counts_(links == Links::kCounted && counts_links(a)) {}

  // Bytes that a core gets over all of the stage's steps.
  double received() const { return received_; }

  double cycles(const Traffic& t) const { return link_.cycles(t); }
  // What a phase takes apart from its bytes: the way of its last word.
  double horizon() const { return link_.horizon(); }

  // From homes to a buffer of those windows, on every core.
  Traffic from_homes(std::size_t i, const tile::Windows& windows) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::Extents tile = tile::window_extents(s_, windows);
    const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n);
    const std::int64_t home = ceil_div(o.elements, a_.core.count), run = std::min(tile::runs_of(o, tile).length, home);
    const FromHome from = from_home(o, tile, home);
    const double away = 1 - share_at_home(o, home), sent = from.bytes * from.times;
    Traffic t{bytes * away, sent * away, pieces(o, tile, home), std::max(1.0, sent / of(run * o.element.n))};
    if (away == 0) t.pieces = t.sent_pieces = 0;
    link_.add_ways(o, bytes * away, from.sources, t);
    return t;
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
  FromHome from_home(const tile::Operand& o, const tile::Extents& tile, std::int64_t home) const {
    tile::Extents all = tile;
    for (std::size_t x = 0; x < all.size(); ++x) all[x] = std::min(s_.space->axes[x].extent, tile[x] * s_.grid[x]);
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
    out.times = one_by_one ? std::max(1.0, own_elements * of(s_.cores()) / distinct) : link_.sendings(o);
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
    std::vector<std::pair<double, std::size_t>> often;  // times that inputs move
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
      if (t.received > 0) out.phases = std::max(out.phases, times), often.emplace_back(times, i);
      received_ += times * t.received;
    }
    out.cycles += out.phases * horizon();
    if (counts_) out.cycles = counted(std::move(often));
    return out;
  }

  // Over a mesh of few cores: those that move at fewer steps do so together with those that move at more.
  double counted(std::vector<std::pair<double, std::size_t>> often) const {
    std::stable_sort(often.begin(), often.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    MeshTraffic traffic(a_, s_);
    double cycles = 0;
    for (std::size_t n = 0; n < often.size(); ++n) {
      const auto& [times, i] = often[n];
      if (s_.moves[i].move == Move::kRotate)
        traffic.add_shift(i);
      else
        traffic.add_from_homes(i, tile::input_windows(s_, i), home_of(i));
      cycles += (times - (n + 1 < often.size() ? often[n + 1].first : 0)) * traffic.cycles();
    }
    return cycles;
  }

  std::int64_t home_of(std::size_t i) const { return ceil_div(s_.space->inputs[i].elements, a_.core.count); }

  // What a phase takes: counted over a mesh of few cores, else by what the busiest core and link have.
  double arranging(const Traffic& t) const {
    if (!counts_) return cycles(t) + horizon();
    MeshTraffic traffic(a_, s_);
    for (std::size_t i = 0; i < s_.moves.size(); ++i)
      if (s_.moves[i].move != Move::kFetch) traffic.add_from_homes(i, tile::input_windows(s_, i), home_of(i));
    return traffic.cycles();
  }
  double reducing(const Traffic& t) const {
    if (!counts_) return cycles(t) + horizon();
    MeshTraffic traffic(a_, s_);
    traffic.add_sums(t.received / of(tile::partial_sums(s_) - 1));
    return traffic.cycles();
  }

  Traffic arranged() {
    Traffic t;
    for (std::size_t i = 0; i < s_.moves.size(); ++i)
      if (s_.moves[i].move != Move::kFetch) t += from_homes(i, tile::input_windows(s_, i));
    received_ += t.received;
    return t;
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
  bool counts_;
  double received_ = 0;
};

const arch::ComputeSpec& instruction_of(const BspStage& s, const arch::ArchSpec& a) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == s.instruction) return c;
  base::check(false, "the program's instruction is one of the chip's");
  return a.compute.front();
}

Estimate estimate_stage(const BspStage& s, const arch::ArchSpec& a, bool placed, Links links) {
  StageModel m(s, a, links);
  const double steps = of(s.steps()), sync = of(arch::core_sync(a).n);
  const VertexCycles vertex = vertex_cycles(*s.space, s.block, instruction_of(s, a), a);
  const StageModel::Moves moves = m.moves();
  double phases = moves.phases, arrange = 0, reduce = 0;
  if (!placed)
    if (const Traffic t = m.arranged(); t.received > 0) arrange = m.arranging(t), ++phases;
  if (tile::partial_sums(s) > 1) reduce = m.reducing(m.reduced()) + m.adding_cycles(), ++phases;
  // An exchange runs beside the arithmetic before it where the chip can, and each buffer it fills is another one.
  bool beside = arch::core_link(a).overlap;
  for (const tile::OperandMove& move : s.moves) beside = beside && (move.move != Move::kFetch || move.buffers == 2);
  const double us = 1e6 / static_cast<double>(a.clock.n);
  Estimate e;
  e.blocks = s.cores();
  e.waves = steps;
  e.occupancy.blocks_per_core = 1;
  e.occupancy.ratio = of(s.cores()) / of(a.core.count);
  e.occupancy.limited_by = "cores";
  e.terms = {{kCompute, beside, steps * (vertex.all - vertex.overhead) * us},
             {kCall, beside, steps * vertex.overhead * us},
             {kExchange, beside, moves.cycles * us},
             {kSync, false, 2 * phases * sync * us},
             {kReduce, false, reduce * us},
             {kArrange, false, arrange * us},
             {kLaunch, false, a.launch_overhead.v}};
  const double arithmetic = e.terms[0].time_us + e.terms[1].time_us, exchange = e.terms[2].time_us;
  // The first block's exchange has nothing to run beside.
  e.total_us = beside ? std::max(arithmetic, exchange) + std::min(arithmetic, exchange) / steps : arithmetic + exchange;
  for (std::size_t t = 3; t < e.terms.size(); ++t) e.total_us += e.terms[t].time_us;
  e.bottleneck = static_cast<std::size_t>(
      std::max_element(e.terms.begin(), e.terms.end(),
                       [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; }) -
      e.terms.begin());
  e.levels = {{"link", m.received() * of(s.cores()), m.received() * of(s.cores()) / of(arch::core_link(a).width.n), 1,
               moves.cycles * us + e.terms[5].time_us}};
  return e;
}

}  // namespace

bool counts_links(const arch::ArchSpec& a) { return MeshTraffic::counts(a); }

Estimate estimate(std::span<const BspStage> stages, const arch::ArchSpec& a, Links links) {
  std::vector<Estimate> of_stages;
  for (std::size_t n = 0; n < stages.size(); ++n)
    of_stages.push_back(estimate_stage(stages[n], a, tile::placed(stages) && n == 0, links));
  return sum_of(of_stages);
}

}  // namespace tilescope::model::bsp
