// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/estimate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "base/integer.h"
#include "model/bsp/bound.h"
#include "model/bsp/detail/halo.h"
#include "model/bsp/detail/phase.h"
#include "model/bsp/detail/real.h"
#include "model/bsp/detail/work_counts.h"
#include "tile/bsp/memory.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;
using tile::BspStage;
using tile::Dataflow;

const arch::ComputeSpec& instruction_of(const BspStage& s, const arch::ArchSpec& a) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == s.instruction) return c;
  base::check(false, "the program's instruction is one of the chip's");
  return a.compute.front();
}

// How often what the operand's buffer holds changes: all loops outside the innermost one that it follows.
double changes(const BspStage& s, std::size_t i) {
  const tile::Operand& o = s.space->inputs[i];
  double n = 1, outside = 1;
  for (const int axis : s.loop_order) {
    const auto a = static_cast<std::size_t>(axis);
    outside *= of(s.blocks(a));
    if (o.uses(axis) && s.blocks(a) > 1) n = outside;
  }
  return n;
}

// Times that a rotating operand's slice is passed on: the loops outside, and the slices of its own.
double passes(const BspStage& s, std::size_t i) {
  double outside = 1;
  for (const int axis : s.loop_order) {
    if (axis == s.dataflow[i].axis) break;
    outside *= of(s.blocks(static_cast<std::size_t>(axis)));
  }
  return outside * of(s.dataflow[i].ring) - 1;
}

// How often a block of results goes to the DRAM.
double stores(const BspStage& s) {
  double n = 1;
  const tile::Windows windows = tile::result_windows(s, true);
  for (std::size_t x = 0; x < s.space->spatial; ++x)
    if (windows[x] == tile::Window::kBlock) n *= of(s.blocks(x));
  return n;
}

// Adding up what every other core sent of the share.
double adding_cycles(const BspStage& s, const arch::ArchSpec& a) {
  const std::int64_t parts = tile::partial_sums(s);
  const base::Dtype sum = s.space->expression.accumulate;
  const arch::ComputeSpec* adds = arch::scalar_unit_of(a, sum, sum);
  if (adds == nullptr) return 0;
  const std::int64_t sums =
      tile::data_tile_elements_inside(s.space->output, tile::window_extents(s, tile::sums_windows(s)));
  return addition_cycles(ceil_div(sums, parts), parts, sum, *adds, a);
}

// Exchanges of one kind, in cycles: their bytes at links and at the DRAM alone, both together, the last words' ways.
struct Exchanges {
  double phases = 0, link = 0, dram = 0, bytes = 0, ways = 0, latencies = 0;
  double received = 0, sent = 0, of_dram = 0;  // bytes, of a core over the link, of all channels

  void add(const Phase& p, double times) {
    if (p.empty() || times == 0) return;
    const double link_cycles = p.link(), dram_cycles = p.dram();
    phases += times;
    link += times * link_cycles, dram += times * dram_cycles;
    bytes += times * std::max(link_cycles, dram_cycles);
    ways += times * p.way(), latencies += times * p.latency();
    received += times * p.traffic().received, sent += times * p.traffic().sent;
    of_dram += times * (p.traffic().read + p.traffic().written);
  }
  double cycles() const { return bytes + ways + latencies; }
};

class StageModel {
 public:
  StageModel(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a, Links links)
      : homes_(stages, number, a),
        s_(homes_.stage()),
        prearranged_(tile::prearranged(stages) && number == 0),
        counted_(links == Links::kCounted && counts_links(a)) {}

  // From homes, and then between the cores that gather.
  Exchanges arranged() const {
    if (prearranged_) return halos();
    Exchanges out;
    Phase first(homes_, counted_), second(homes_, counted_);
    for (std::size_t i = 0; i < s_.dataflow.size(); ++i) {
      if (s_.dataflow[i].how == Dataflow::kFetch) continue;
      first.bring(i);
      if (s_.dataflow[i].gathers()) second.gather(i);
    }
    out.add(first, 1);
    out.add(second, 1);
    return out;
  }

  // Of prearranged inputs, what windows of neighbouring cores share.
  Exchanges halos() const {
    Exchanges out;
    Phase p(homes_, counted_);
    double bytes = 0;
    for (std::size_t i = 0; i < s_.dataflow.size(); ++i) {
      p.halo(i);
      bytes += halo_bytes(s_, i);
    }
    out.add(p, 1);
    out.received = bytes / of(s_.cores());  // of a core in the mean: those at the edges get less
    return out;
  }

  // All steps' exchanges. Inputs that move at fewer steps do so together with those that move at more.
  Exchanges moves() const {
    std::vector<std::pair<double, std::size_t>> often, gathered;  // times, inputs
    for (std::size_t i = 0; i < s_.dataflow.size(); ++i) {
      const tile::OperandDataflow& m = s_.dataflow[i];
      if (m.how == Dataflow::kShift) often.emplace_back(passes(s_, i), i);
      if (m.how == Dataflow::kFetch) often.emplace_back(changes(s_, i), i);
      if (m.how == Dataflow::kFetch && m.gathers()) gathered.emplace_back(changes(s_, i), i);
    }
    Exchanges out;
    add_together(std::move(often), out, [&](Phase& p, std::size_t i) {
      if (s_.dataflow[i].how == Dataflow::kShift)
        p.shift(i);
      else
        p.bring(i);
    });
    add_together(std::move(gathered), out, [](Phase& p, std::size_t i) { p.gather(i); });
    return out;
  }

  Exchanges reduced() const {
    Exchanges out;
    if (tile::partial_sums(s_) == 1) return out;
    Phase p(homes_, counted_);
    p.reduce();
    out.add(p, 1);
    out.received = homes_.mean_reduced_bytes();
    return out;
  }

  Exchanges stored() const {
    Exchanges out;
    if (!homes_.stored()) return out;
    Phase p(homes_, counted_);
    p.store();
    out.add(p, stores(s_));
    return out;
  }

  // What bringing all that every core needs takes at least: its bytes over all networks and ports that may work
  // together, of its pieces those that cores which share them have between them; nothing where inputs are prearranged.
  double min_cycles() const {
    Traffic all;
    for (std::size_t i = 0; i < s_.dataflow.size() && !prearranged_; ++i) {
      const Traffic t = homes_.brought(i, tile::Windows(s_.grid.size(), tile::Window::kPart));
      all.received += t.received;
      all.pieces += t.pieces / of(s_.sharing(s_.space->inputs[i]));
    }
    return homes_.link().min_cycles(all);
  }

 private:
  template <class Add>
  void add_together(std::vector<std::pair<double, std::size_t>> often, Exchanges& out, const Add& add) const {
    std::stable_sort(often.begin(), often.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    Phase p(homes_, counted_);
    for (std::size_t n = 0; n < often.size(); ++n) {
      add(p, often[n].second);
      out.add(p, often[n].first - (n + 1 < often.size() ? often[n + 1].first : 0));
    }
  }

  StageHomes homes_;
  const BspStage& s_;
  bool prearranged_, counted_;
};

// Microseconds of a stage's terms.
struct Times {
  double compute = 0, call = 0, exchange = 0, dram = 0, sync = 0, reduce = 0, arrange = 0, store = 0, launch = 0,
         total = 0;
  bool beside = false;               // an exchange runs beside arithmetic
  double received = 0, of_dram = 0;  // bytes, of a core over the link, of all channels
  double on_links = 0;               // of all exchanges
};

Times times_of(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a, Links links) {
  const BspStage& s = stages[number];
  const StageModel m(stages, number, a, links);
  const double steps = of(s.steps()), us = 1e6 / of(a.clock.n);
  const VertexCycles vertex =
      vertex_cycles(*s.space, s.block, instruction_of(s, a), a, tile::input_addresses(stages, number, a));
  const Exchanges moves = m.moves(), arranged = m.arranged(), reduced = m.reduced(), stored = m.stored();
  const double phases = moves.phases + arranged.phases + reduced.phases + stored.phases;
  Times t;
  t.compute = steps * (vertex.all - vertex.overhead) * us;
  t.call = steps * vertex.overhead * us;
  t.exchange = (moves.link + moves.ways) * us;
  t.dram = (moves.dram + moves.latencies) * us;
  t.sync = 2 * phases * of(arch::core_sync(a).n) * us;
  t.reduce = reduced.phases > 0 ? (reduced.cycles() + adding_cycles(s, a)) * us : 0;
  t.arrange = arranged.cycles() * us;
  t.store = stored.cycles() * us;
  t.launch = a.launch_overhead.v;
  t.received = moves.received + arranged.received + reduced.received;
  t.received += stored.sent;
  t.of_dram = moves.of_dram + arranged.of_dram + stored.of_dram;
  t.on_links = t.exchange + t.arrange + t.store;
  // An exchange runs beside the arithmetic before it where the chip can, and each buffer it fills is another one. In it
  // the DRAM and the links overlap, whose last words' ways follow each other.
  t.beside = arch::core_link(a).overlap;
  for (const tile::OperandDataflow& move : s.dataflow)
    t.beside = t.beside && (move.how != Dataflow::kFetch || move.buffers == 2);
  const double arithmetic = t.compute + t.call, exchange = moves.cycles() * us;
  // The first block's exchange has nothing to run beside.
  t.total = t.beside ? std::max(arithmetic, exchange) + std::min(arithmetic, exchange) / steps : arithmetic + exchange;
  t.total += t.sync + t.reduce + t.arrange + t.store + t.launch;
  return t;
}

Estimate estimate_stage(std::span<const BspStage> stages, std::size_t number, const arch::ArchSpec& a, Links links) {
  const BspStage& s = stages[number];
  const Times t = times_of(stages, number, a, links);
  const arch::DramLevel* dram = arch::dram_of(a);
  Estimate e;
  e.blocks = s.cores();
  e.waves = of(s.steps());
  e.occupancy.blocks_per_core = 1;
  e.occupancy.ratio = of(s.cores()) / of(a.core.count);
  e.occupancy.limited_by = "cores";
  e.terms = {{kCompute, t.beside, t.compute}, {kCall, t.beside, t.call}, {kExchange, t.beside, t.exchange}};
  if (dram != nullptr) e.terms.push_back({dram->name, t.beside, t.dram});
  e.terms.push_back({kSync, false, t.sync});
  e.terms.push_back({kReduce, false, t.reduce});
  e.terms.push_back({kArrange, false, t.arrange});
  if (dram != nullptr) e.terms.push_back({kStore, false, t.store});
  e.terms.push_back({kLaunch, false, t.launch});
  e.total_us = t.total;
  e.bottleneck = static_cast<std::size_t>(
      std::max_element(e.terms.begin(), e.terms.end(),
                       [](const NamedTerm& x, const NamedTerm& y) { return x.time_us < y.time_us; }) -
      e.terms.begin());
  if (dram != nullptr) {
    const double all_us = t.of_dram / arch::bandwidth_of(a, *dram).v * 1e6;
    e.levels.push_back({dram->name, t.of_dram, t.of_dram / of(arch::transaction_of(*dram).n), 1, all_us});
  }
  const double all = t.received * of(s.cores());
  e.levels.push_back({"link", all, all / of(arch::core_link(a).width.n), 1, t.on_links});
  e.counts = work_counts(stages, number, a, instruction_of(s, a), t.total - t.launch);
  return e;
}

}  // namespace

bool counts_links(const arch::ArchSpec& a) { return MeshTraffic::counts(a); }

Estimate estimate(std::span<const BspStage> stages, const arch::ArchSpec& a, Links links) {
  std::vector<Estimate> of_stages;
  for (std::size_t n = 0; n < stages.size(); ++n) of_stages.push_back(estimate_stage(stages, n, a, links));
  return sum_of(of_stages);
}

double total_us(const BspStage& s, const arch::ArchSpec& a, Links links) {
  return times_of({&s, 1}, 0, a, links).total;
}

GridBound::GridBound(const BspStage& s, const arch::ArchSpec& a) : a_(a), instruction_(instruction_of(s, a)) {
  BspStage held = s;
  for (tile::OperandDataflow& m : held.dataflow) m = {Dataflow::kStationary, 1, 1, -1};
  const StageModel m({&held, 1}, 0, a, Links::kClosedForm);
  const double us = 1e6 / bsp::of(a.clock.n);
  received_us_ = m.min_cycles() * us;
  fixed_us_ = a.launch_overhead.v;
  if (tile::partial_sums(s) > 1)
    fixed_us_ += (m.reduced().cycles() + adding_cycles(held, a) + 2 * bsp::of(arch::core_sync(a).n)) * us;
}

double GridBound::of(const BspStage& s) const {
  const double us = 1e6 / bsp::of(a_.clock.n);
  const double arithmetic = bsp::of(s.steps()) * vertex_cycles(*s.space, s.block, instruction_, a_).all * us;
  // Slices that have passed round once met so often.
  double phases = 0;
  for (const tile::OperandDataflow& m : s.dataflow)
    if (m.how == Dataflow::kShift) phases = std::max(phases, bsp::of(m.ring - 1));
  const double sync = 2 * phases * bsp::of(arch::core_sync(a_).n) * us;
  const bool beside = arch::core_link(a_).overlap;
  return (beside ? std::max(arithmetic, received_us_) : arithmetic + received_us_) + sync + fixed_us_;
}

}  // namespace tilescope::model::bsp
