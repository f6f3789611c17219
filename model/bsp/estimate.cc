// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "base/integer.h"
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
  StageModel(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a)
      : s_(stages[number]),
        a_(a),
        link_(a, s_),
        dram_(a),
        in_dram_(tile::homes_in_dram(stages, a)),
        stored_(tile::is_stored(stages, number, a)) {
    for (std::size_t i = 0; i < s_.moves.size(); ++i)
      outside_.push_back(in_dram_ && tile::is_outside(stages, number, i));
  }

  // Bytes that cross the link over all of the stage's steps, for each core; bytes of the DRAM.
  double received() const { return received_; }
  double of_dram() const { return of_dram_; }

  // A phase of its own: its bytes at the busiest link and at the DRAM, whose channels fill the link as they drain; the
  // way of its last word.
  double cycles(const Traffic& t) const { return std::max(link_.cycles(t), dram_.cycles(t)) + horizon(t); }
  double horizon(const Traffic& t) const { return link_.horizon() + (t.read > 0 ? dram_.latency() : 0); }

  // From where input `i` is at home.
  Traffic brought(std::size_t i, const tile::Windows& windows) const {
    return outside_[i] ? from_dram(i, windows) : from_homes(i, windows);
  }

  // From the DRAM, once for all cores that want the same where the link sends to several at a time.
  Traffic from_dram(std::size_t i, const tile::Windows& windows) const {
    const tile::Operand& o = s_.space->inputs[i];
    const tile::Extents tile = tile::window_extents(s_, windows);
    const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n);
    const double cores = of(s_.cores()), parts = pieces_in_dram(o, tile);
    const bool one_by_one = arch::core_link(a_).multicast == arch::Multicast::kNone;
    // Cores of one ring begin with slices of their own; those that have the same one do not lie side by side.
    const bool rotates = s_.moves[i].move == Move::kRotate;
    const double groups = cores * of(rotates ? s_.moves[i].ring : 1) / of(s_.sharing(o));
    const double sendings = (rotates ? cores : groups * link_.sendings(o)) / dram_.ports();
    Traffic t{bytes, bytes * sendings, parts, std::max(1.0, parts * sendings)};
    t.read = bytes * (one_by_one ? cores : groups);
    link_.add_ways_of_ports(rotates ? nullptr : &o, bytes * sendings, t);
    return t;
  }

  // Runs of neighbouring elements, cut where the next channel begins.
  double pieces_in_dram(const tile::Operand& o, const tile::Extents& tile) const {
    const tile::Runs runs = tile::runs_of(o, tile);
    const double run = of(runs.length * o.element.n), granule = of(arch::dram_of(a_)->interleave->n);
    return of(runs.count) * std::max(1.0, run / granule) * link_.packets(std::min(run, granule));
  }

  // One block of every core's results to the DRAM; and how often.
  Traffic stored_block() {
    const tile::Operand& o = s_.space->output;
    const tile::Extents tile = tile::window_extents(s_, tile::result_windows(s_, true));
    const double parts = of(tile::partial_sums(s_)), cores = of(s_.cores());
    const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n) / parts;
    const double pieces = std::max(1.0, pieces_in_dram(o, tile) / parts);
    Traffic t{bytes * cores / dram_.ports(), bytes, pieces * cores / dram_.ports(), pieces};
    t.written = bytes * cores;
    link_.add_ways_of_ports(nullptr, bytes * cores / dram_.ports(), t);
    return t;
  }
  double stores() const {
    double n = stored_ ? 1 : 0;
    const tile::Windows windows = tile::result_windows(s_, stored_);
    for (std::size_t x = 0; x < s_.space->spatial; ++x)
      if (windows[x] == tile::Window::kBlock) n *= of(s_.blocks(x));
    return n;
  }
  double store_cycles() {
    if (!stored_) return 0;
    const Traffic t = stored_block();
    received_ += stores() * t.sent;
    of_dram_ += stores() * t.written;
    return stores() * cycles(t);
  }

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
    out.times = one_by_one ? own_elements * of(s_.cores()) / distinct : link_.sendings(o);
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
    double link = 0, dram = 0, phases = 0;  // cycles of the bytes alone
    double ways = 0, latencies = 0;         // of the last words
  };

  // All steps' exchanges. Operands that change at the same step share a phase.
  Moves moves() {
    Moves out;
    for (std::size_t i = 0; i < s_.moves.size(); ++i) {
      const Move move = s_.moves[i].move;
      if (move == Move::kHold) continue;
      const tile::Windows windows = tile::input_windows(s_, i);
      double times = changes(i);
      Traffic t;
      if (move == Move::kFetch) {
        t = brought(i, windows);
      } else {
        const tile::Operand& o = s_.space->inputs[i];
        const double bytes = of(tile::data_tile_elements_inside(o, tile::window_extents(s_, windows)) * o.element.n);
        times = passes(i);
        t = {bytes, bytes, link_.packets(bytes), link_.packets(bytes)};
        link_.add_shift(o, s_.moves[i].ring, bytes, t);
      }
      out.link += times * link_.cycles(t);
      out.dram += times * dram_.cycles(t);
      if (t.received > 0) out.phases = std::max(out.phases, times);
      if (t.read > 0) out.latencies = std::max(out.latencies, times * dram_.latency());
      received_ += times * t.received;
      of_dram_ += times * t.read;
    }
    out.ways = out.phases * link_.horizon();
    return out;
  }

  Traffic arranged() {
    Traffic t;
    for (std::size_t i = 0; i < s_.moves.size(); ++i)
      if (s_.moves[i].move != Move::kFetch) t += brought(i, tile::input_windows(s_, i));
    received_ += t.received;
    of_dram_ += t.read;
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
  DramModel dram_;
  bool in_dram_, stored_;
  std::vector<bool> outside_;  // by input: it is at home in the DRAM
  double received_ = 0, of_dram_ = 0;
};

const arch::ComputeSpec& instruction_of(const BspStage& s, const arch::ArchSpec& a) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == s.instruction) return c;
  base::check(false, "the program's instruction is one of the chip's");
  return a.compute.front();
}

Estimate estimate_stage(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a) {
  const BspStage& s = stages[number];
  StageModel m(stages, number, a);
  const double steps = of(s.steps()), sync = of(arch::core_sync(a).n);
  const VertexCycles vertex = vertex_cycles(*s.space, s.block, instruction_of(s, a), a);
  const StageModel::Moves moves = m.moves();
  double phases = moves.phases, arrange = 0, reduce = 0;
  if (!tile::placed(stages) || number > 0)
    if (const Traffic t = m.arranged(); t.received > 0) arrange = m.cycles(t), ++phases;
  if (tile::partial_sums(s) > 1) reduce = m.cycles(m.reduced()) + m.adding_cycles(), ++phases;
  const double store = m.store_cycles();
  phases += m.stores();
  // An exchange runs beside the arithmetic before it where the chip can, and each buffer it fills is another one.
  bool beside = arch::core_link(a).overlap;
  for (const tile::OperandMove& move : s.moves) beside = beside && (move.move != Move::kFetch || move.buffers == 2);
  const arch::DramLevel* dram = arch::dram_of(a);
  const double us = 1e6 / static_cast<double>(a.clock.n);
  Estimate e;
  e.blocks = s.cores();
  e.waves = steps;
  e.occupancy.blocks_per_core = 1;
  e.occupancy.ratio = of(s.cores()) / of(a.core.count);
  e.occupancy.limited_by = "cores";
  e.terms = {{kCompute, beside, steps * (vertex.all - vertex.overhead) * us},
             {kCall, beside, steps * vertex.overhead * us},
             {kExchange, beside, (moves.link + moves.ways) * us}};
  if (dram != nullptr) e.terms.push_back({dram->name, beside, (moves.dram + moves.latencies) * us});
  const std::size_t on_top = e.terms.size();
  e.terms.push_back({kSync, false, 2 * phases * sync * us});
  e.terms.push_back({kReduce, false, reduce * us});
  e.terms.push_back({kArrange, false, arrange * us});
  if (dram != nullptr) e.terms.push_back({kStore, false, store * us});
  e.terms.push_back({kLaunch, false, a.launch_overhead.v});
  // What overlaps: in an exchange the DRAM and the links, whose last words' ways follow each other; beside it where the
  // chip can the arithmetic, but for the first block's, whose exchange has nothing to run beside.
  const double arithmetic = steps * vertex.all * us;
  const double exchange = (std::max(moves.link, moves.dram) + moves.ways + moves.latencies) * us;
  e.total_us = beside ? std::max(arithmetic, exchange) + std::min(arithmetic, exchange) / steps : arithmetic + exchange;
  for (std::size_t t = on_top; t < e.terms.size(); ++t) e.total_us += e.terms[t].time_us;
  e.bottleneck = static_cast<std::size_t>(
      std::max_element(e.terms.begin(), e.terms.end(),
                       [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; }) -
      e.terms.begin());
  const double link_us = (moves.link + moves.ways + arrange + store) * us;
  if (dram != nullptr) {
    const double all_us = m.of_dram() / arch::bandwidth_of(a, *dram).v * 1e6;
    e.levels.push_back({dram->name, m.of_dram(), m.of_dram() / of(arch::transaction_of(*dram).n), 1, all_us});
  }
  e.levels.push_back({"link", m.received() * of(s.cores()),
                      m.received() * of(s.cores()) / of(arch::core_link(a).width.n), 1, link_us});
  return e;
}

}  // namespace

Estimate estimate(std::span<const BspStage> stages, const arch::ArchSpec& a) {
  std::vector<Estimate> of_stages;
  for (std::size_t n = 0; n < stages.size(); ++n) of_stages.push_back(estimate_stage(stages, n, a));
  return sum_of(of_stages);
}

}  // namespace tilescope::model::bsp
