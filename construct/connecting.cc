// SPDX-License-Identifier: Apache-2.0
#include "construct/connecting.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/kernel_schedules.h"
#include "construct/detail/matrix_kernels.h"
#include "expr/infer.h"
#include "model/simt/cached_costs.h"
#include "model/simt/estimate.h"
#include "model/simt/kernel_stage.h"
#include "model/simt/registers.h"
#include "tile/fit.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/staging.h"
#include "tile/transfer/results.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::RProgram;
using tile::StageProgram;

constexpr std::size_t kTiles = 12;        // output tiles of one run that are scheduled
constexpr std::size_t kMostTiles = 4096;  // that are looked at
// Of the extents along an axis but the whole: rows that are kept are of so many elements at most, or whole.
constexpr std::int64_t kLongest = 1024;
// Of what a block may have of the scratchpad: kept tiles are counted as if all were there at once.
constexpr double kMostKept = 4;
constexpr double kNever = std::numeric_limits<double>::infinity();

// What the runs of an expression share: its stages' spaces, what was counted of programs over them, and, for runs that
// ask the same of a stage, the best schedule by stage and request, or nothing.
struct Shared {
  Shared(const expr::Expression& e, const arch::ArchSpec& a, const Restrictions& restrictions)
      : given(restrictions), known(a) {
    for (std::size_t s = 0; s < e.stages.size(); ++s) {
      const expr::Expression one = expr::single_stage(e, s);
      spaces.push_back(tile::make_space(one, tile::no_collapse(one.stages.front())));
      matrix.push_back(matrix_kernels(*spaces.back(), a, restrictions));
    }
  }

  const Restrictions& given;

  std::vector<std::shared_ptr<const tile::TileSpace>> spaces;
  std::vector<std::vector<tile::MicroKernel>> matrix;  // instructions that may multiply a stage
  model::CachedCosts known;
  std::map<std::vector<std::int64_t>, std::optional<StageProgram>> schedules;
};

// Whether every thread's results of a stage are worth computing on where they are: of a product, whose operands are
// reused, or without a reduction. Threads share other reductions, and leave results to each other in the scratchpad.
bool holds_results(const tile::TileSpace& space) {
  if (space.axes.size() == space.spatial) return true;
  const auto reused = [&](const tile::Operand& o) {
    for (std::size_t a = 0; a < space.spatial; ++a)
      if (!o.uses(static_cast<int>(a))) return true;
    return false;
  };
  return std::count_if(space.inputs.begin(), space.inputs.end(), reused) > 1;
}

// The last of the stages first .. last that can be epilogues of the first, one after the other: none of their tensors
// but the last one's is read elsewhere.
std::size_t end_of_epilogues(const expr::Expression& e, const Shared& shared, std::size_t first, std::size_t last) {
  if (!holds_results(*shared.spaces[first])) return first;
  const auto reads = [&](std::size_t stage, std::size_t of) {
    const auto& all = e.stages[stage].reads;
    return std::any_of(all.begin(), all.end(), [&](const expr::Read& r) { return r.tensor == e.stages[of].output; });
  };
  std::size_t end = first;
  for (bool follows = true; follows && end < last;) {
    follows = false;
    for (std::size_t of = first; of <= end; ++of) {
      if (!reads(end + 1, of)) continue;
      const tile::TileSpace &space = *shared.spaces[end + 1], &holder = *shared.spaces[of];
      follows = tile::epilogue_refusal(space, holder, holder.output.name).empty();
      if (!follows) break;
    }
    end += follows ? 1 : 0;
  }
  for (; end > first; --end) {
    bool inside = true;
    for (std::size_t of = first; of < end; ++of)
      for (std::size_t s = end + 1; s < e.stages.size(); ++s) inside = inside && !reads(s, of);
    if (inside) break;
  }
  return end;
}

// A stage and the epilogues behind it, to which its results pass in registers.
struct Chain {
  std::size_t holder = 0, end = 0;
};

// By stage, from the first of them on: the chains that the stages first .. last fall into, those of products only where
// `of_products`.
std::vector<Chain> chains_of(const expr::Expression& e, const Shared& shared, std::size_t first, std::size_t last,
                             bool of_products = true) {
  std::vector<Chain> out;
  for (std::size_t s = first; s <= last;) {
    const bool reduces = shared.spaces[s]->axes.size() > shared.spaces[s]->spatial;
    const Chain chain{s - first, (of_products || !reduces ? end_of_epilogues(e, shared, s, last) : s) - first};
    for (; s <= chain.end + first; ++s) out.push_back(chain);
  }
  return out;
}

// The stages first .. last as one kernel; results of products pass to epilogues in registers where `of_products`.
class Run {
 public:
  Run(const expr::Expression& e, std::size_t first, std::size_t last, const model::Machine& machine, Shared& shared,
      bool of_products)
      : e_(e),
        first_(first),
        machine_(machine),
        arch_(*machine.arch),
        shared_(shared),
        memory_(shared.known),
        rules_{arch_, shared.given.pads, &memory_, true},
        limits_(growth_limits(arch_)),
        program_{arch_.name, {}, {}},
        group_(last - first + 1),
        chains_(chains_of(e, shared, first, last, of_products)) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (std::size_t s = first; s <= last; ++s) program_.add(plain(shared.spaces[s]));
    for (tile::Edge& edge : tile::edges_of(e, arch_)) {
      const auto in = [&](int s) {
        return static_cast<std::size_t>(s) >= first && static_cast<std::size_t>(s) <= last;
      };
      if (!in(edge.from) || !in(edge.to)) continue;
      edge.from -= static_cast<int>(first);
      edge.to -= static_cast<int>(first);
      const bool held = chain_of(edge.from).holder == chain_of(edge.to).holder;
      edge.level = held ? arch::registers_of(arch_)->name : arch::scratchpad_of(arch_)->name;
      program_.edges.push_back(std::move(edge));
    }
  }

  std::optional<ConnectedStages> best() {
    if (!stays_inside()) return std::nullopt;
    for (const Extents& tile : tiles())
      for (std::int64_t threads = 4 * limits_.warp; threads <= limits_.max_threads; threads *= 2) {
        if (threads > 8 * limits_.warp && elements_of(tile) < 2 * threads) break;
        try_tile(tile, threads);
      }
    if (!(best_us_ < kNever)) return std::nullopt;
    return ConnectedStages{std::move(best_), {best_us_}};
  }

 private:
  const Chain& chain_of(std::size_t i) const { return chains_[i]; }
  const Chain& chain_of(int i) const { return chains_[static_cast<std::size_t>(i)]; }
  bool keeps(std::size_t i) const { return chain_of(i).end == i && i != last(); }

  std::size_t last() const { return group_.size() - 1; }
  StageProgram& stage(std::size_t i) { return program_.simt()[i]; }
  const tile::TileSpace& space(std::size_t i) const { return program_.space(i); }

  static std::int64_t elements_of(const Extents& tile) {
    std::int64_t n = 1;
    for (const std::int64_t along : tile) n *= along;
    return n;
  }

  // A program to stand there until the stage has one.
  StageProgram plain(std::shared_ptr<const tile::TileSpace> space) const {
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping(space->spatial, tile::AxisMapping{});
    const Extents one(space->axes.size(), 1);
    StageProgram p = tile::make_stage_program(std::move(space), mapping, one, limits_.max_access);
    for (tile::OperandPlan& plan : p.operands) plan.cached = false;
    return p;
  }

  // Whether what every stage but the last writes is read, and inside the run alone.
  bool stays_inside() const {
    for (std::size_t i = 0; i < last(); ++i) {
      const int tensor = e_.stages[first_ + i].output;
      bool read = false;
      for (std::size_t s = first_ + i + 1; s < e_.stages.size(); ++s) {
        const auto& reads = e_.stages[s].reads;
        if (std::none_of(reads.begin(), reads.end(), [&](const expr::Read& r) { return r.tensor == tensor; })) continue;
        if (s > first_ + last()) return false;
        read = true;
      }
      if (!read) return false;
    }
    return true;
  }

  // Extents along an axis: powers of `factor`, and all of it.
  static std::vector<std::int64_t> choices(std::int64_t extent, std::int64_t factor) {
    std::vector<std::int64_t> out;
    for (std::int64_t n = 1; n < extent && n <= kLongest; n *= factor) out.push_back(n);
    out.push_back(extent);
    return out;
  }

  // Powers of two, or of more where there would be too many tiles.
  std::int64_t factor_of_choices() const {
    const tile::TileSpace& anchor = space(last());
    for (std::int64_t factor = 2;; factor *= 2) {
      std::size_t tiles = 1;
      for (std::size_t a = 0; a < anchor.spatial; ++a) tiles *= choices(anchor.axes[a].extent, factor).size();
      if (tiles <= kMostTiles || factor > kLongest) return factor;
    }
  }

  // Output tiles of the last stage that move least for what they leave idle, those that fit alone.
  std::vector<Extents> tiles() {
    const tile::TileSpace& anchor = space(last());
    const std::int64_t factor = factor_of_choices();
    std::vector<Extents> all = {Extents{}};
    for (std::size_t a = 0; a < anchor.spatial; ++a) {
      std::vector<Extents> longer;
      for (const Extents& e : all)
        for (const std::int64_t n : choices(anchor.axes[a].extent, factor)) {
          longer.push_back(e);
          longer.back().push_back(n);
        }
      all = std::move(longer);
    }
    std::vector<std::pair<double, Extents>> ranked;
    for (const Extents& tile : all)
      if (const double cost = cost_of_tile(tile); cost < kNever) ranked.emplace_back(cost, tile);
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<Extents> out;
    for (std::size_t i = 0; i < std::min(kTiles, ranked.size()); ++i) out.push_back(ranked[i].second);
    return out;
  }

  // Sets a stage's tile alone, whatever computes it.
  void set_tile(std::size_t i, const Extents& tile) {
    for (std::size_t a = 0; a < space(i).spatial; ++a) stage(i).block[a] = tile[a];
  }

  // Microseconds in which the device gives what all blocks ask for and cores compute all stages' points, each in whole
  // waves of blocks; never where the kept tiles alone do not fit, or stages cannot meet.
  double cost_of_tile(const Extents& tile) {
    set_tile(last(), tile);
    double bytes = 0, points = 0, kept = 0;
    for (std::size_t i = group_.size(); i-- > 0;) {
      if (i != last()) {
        const auto extents = tile::kept_extents(program_, group_, i, arch_);
        if (!extents) return kNever;
        set_tile(i, *extents);
        if (keeps(i)) kept += static_cast<double>(elements_of(*extents) * space(i).output.element.n);
      }
      Extents whole = stage(i).block;
      double own = 1;
      for (std::size_t a = 0; a < whole.size(); ++a) {
        if (a >= space(i).spatial) whole[a] = space(i).axes[a].extent;
        own *= static_cast<double>(whole[a]);
      }
      points += own;
      for (std::size_t o = 0; o < space(i).inputs.size(); ++o)
        if (!stays(i, o))
          bytes += static_cast<double>(tile::data_tile_elements_inside(space(i).inputs[o], whole) *
                                       space(i).inputs[o].element.n);
    }
    bytes += static_cast<double>(elements_of(tile) * space(last()).output.element.n);
    const arch::ScratchpadLevel& scratchpad = *arch::scratchpad_of(arch_);
    if (kept > kMostKept * static_cast<double>(arch::scratchpad_per_block(scratchpad).n)) return kNever;
    double blocks = 1;
    for (std::size_t a = 0; a < tile.size(); ++a)
      blocks *= static_cast<double>(base::ceil_div(space(last()).axes[a].extent, tile[a]));
    const auto cores = static_cast<double>(arch_.core.count);
    const double idle = std::ceil(blocks / cores) * cores / blocks;
    const double lanes = static_cast<double>(arch_.core.warp * arch_.core.partitions) * machine_.clock_hz * 1e-6;
    const double moved_us = blocks * bytes * 1e6 / arch::device_bandwidth_of(arch_).v;
    const double computed_us = blocks * points / lanes / cores;
    // As of tiles of a single stage (detail/tiles.h): what takes longer hides the rest in part.
    return (std::max(moved_us, computed_us) + kNotHidden * std::min(moved_us, computed_us)) * idle;
  }

  // Whether an input is an earlier stage's of the run.
  bool stays(std::size_t i, std::size_t operand) const {
    const tile::TileSpace& s = space(i);
    const std::string& name = s.expression.tensors[static_cast<std::size_t>(s.inputs[operand].tensor)].name;
    return std::any_of(program_.edges.begin(), program_.edges.end(),
                       [&](const tile::Edge& e) { return e.tensor == name && static_cast<std::size_t>(e.to) == i; });
  }

  // Schedules stages from the last to the first, then the padding of what they keep.
  void try_tile(const Extents& tile, std::int64_t threads) {
    std::int64_t blocks = 1;
    for (std::size_t a = 0; a < tile.size(); ++a) blocks *= base::ceil_div(space(last()).axes[a].extent, tile[a]);
    for (std::size_t end = group_.size(); end-- > 0;) {
      std::optional<Extents> asked =
          end == last() ? std::optional(tile) : tile::kept_extents(program_, group_, end, arch_);
      const std::size_t holder = chain_of(end).holder;
      if (!asked || !schedule(holder, *asked, threads, blocks)) return;
      for (std::size_t i = holder + 1; i <= end; ++i)
        stage(i) = tile::make_epilogue(stage(i).space, stage(holder), limits_.max_access);
      end = holder;
    }
    double us = judged();
    if (!(us < kNever)) return;
    for (std::size_t i = 0; i < last(); ++i) {
      if (!keeps(i)) continue;
      const std::int64_t widest = elements_in(limits_.max_access, space(i).output.element);
      std::int64_t best = 0;
      for (const std::int64_t padding : {std::int64_t{1}, widest}) {
        stage(i).operands.back().padding = padding;
        if (const double padded = judged(); padded < us) {
          us = padded;
          best = padding;
        }
      }
      stage(i).operands.back().padding = best;
    }
    if (us >= best_us_) return;
    best_us_ = us;
    best_ = program_.simt();
  }

  // The schedule of a stage that takes least by itself; false where none fits.
  bool schedule(std::size_t i, const Extents& asked, std::int64_t threads, std::int64_t blocks) {
    StageRequest request{stage(i).space, asked, threads, {}, shared_.matrix[first_ + i]};
    model::KernelStage kernel;
    kernel.blocks = blocks;
    kernel.keeps_output = keeps(i);
    kernel.holds_output = chain_of(i).end != i;
    kernel.first = false;
    for (std::size_t o = 0; o < space(i).inputs.size(); ++o) {
      request.kept.push_back(stays(i, o));
      kernel.kept_pitch.push_back(std::nullopt);
    }
    std::vector<std::int64_t> key = {static_cast<std::int64_t>(first_ + i), threads, blocks,
                                     kernel.keeps_output ? 1 : 0, kernel.holds_output ? 1 : 0};
    key.insert(key.end(), asked.begin(), asked.end());
    key.insert(key.end(), request.kept.begin(), request.kept.end());
    const auto [known, fresh] = shared_.schedules.try_emplace(std::move(key));
    if (fresh) known->second = best_schedule(request, std::move(kernel));
    if (!known->second) return false;
    stage(i) = *known->second;
    return true;
  }

  std::optional<StageProgram> best_schedule(const StageRequest& request, model::KernelStage kernel) {
    double best = kNever;
    std::optional<StageProgram> found;
    for (StageProgram& p : kernel_schedules(request, limits_, rules_)) {
      if (!tile::fits(p, arch_) || (kernel.holds_output && p.sharers() > 1)) continue;
      p = model::held_to_registers(std::move(p), machine_);
      if (!tile::holds_registers(p, arch_)) continue;
      StageProgram judged = p;
      for (std::size_t o = 0; o < request.kept.size(); ++o) {
        if (!request.kept[o]) continue;
        kernel.kept_pitch[o] = assumed_pitch(p, o);
        if (p.matrix() != nullptr) judged.operands[o].padding = assumed_padding(p, o);
      }
      kernel.scratchpad = tile::staging_of(p, arch_).bytes +
                          (kernel.keeps_output ? p.space->output.element * tile::kept_elements(p) : base::Bytes{0});
      const auto e = model::estimate_stage_of(judged, kernel, machine_, &memory_.costs());
      if (!e || e->total_us >= best) continue;
      best = e->total_us;
      found = std::move(p);
    }
    return found;
  }

  // Of a tile that an earlier stage will leave: rows one element apart from what would fall on the same banks.
  static tile::TileShape assumed_pitch(const StageProgram& p, std::size_t operand) {
    Extents whole = p.block;
    for (std::size_t a = p.space->spatial; a < whole.size(); ++a) whole[a] = p.space->axes[a].extent;
    return model::pitch_of_rows(tile::data_tile(p.space->inputs[operand], whole), 1);
  }

  // The same of a tile whose rows a matrix instruction reads: by what its rows are longer than a step's.
  std::int64_t assumed_padding(const StageProgram& p, std::size_t operand) const {
    const tile::Operand& o = p.space->inputs[operand];
    const tile::TileDim& row = o.dims.back();
    const auto axis = static_cast<std::size_t>(row.terms.front().axis);
    const std::int64_t whole = axis < p.space->spatial ? p.block[axis] : p.space->axes[axis].extent;
    return whole - tile::data_tile(o, p.block).back() + elements_in(limits_.max_access, o.element);
  }

  // Where a tile begins where other stages ask for it, accesses are as wide as that allows.
  void narrow_vectors(const tile::GroupLayout& layout) {
    for (std::size_t i = 0; i < last(); ++i)
      for (std::size_t o = 0; o < space(i).inputs.size(); ++o)
        if (std::int64_t& vector = stage(i).operands[o].vector; !stays(i, o))
          vector = tile::aligned_vector(program_, layout, i, o, vector);
  }

  double judged() {
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(program_, group_, arch_, refusals);
    if (!layout) return kNever;
    narrow_vectors(*layout);
    const auto e = model::estimate_group(program_, *layout, machine_, &memory_.costs());
    return e ? e->total_us : kNever;
  }

  const expr::Expression& e_;
  std::size_t first_;
  const model::Machine& machine_;
  const arch::ArchSpec& arch_;
  Shared& shared_;
  LayoutMemory memory_;
  LayoutRules rules_;
  GrowthLimits limits_;
  RProgram program_;  // of the run alone
  tile::Group group_;
  std::vector<Chain> chains_;  // by stage
  double best_us_ = kNever;
  std::vector<StageProgram> best_;
};

// The best program of a stage with those behind it as its epilogues, which store directly or in whole rows; nothing
// where it cannot hold its results for them.
std::optional<ConnectedStages> with_epilogues(const expr::Expression& e, std::size_t first, std::size_t last,
                                              const Ranked& holder, const model::Machine& machine, Shared& shared) {
  const arch::ArchSpec& a = *machine.arch;
  const base::Bytes widest = arch::widest_access_of(a);
  RProgram program{a.name, {}, {}};
  program.add(tile::with_direct_stores(holder.program, widest));
  for (std::size_t s = first + 1; s <= last; ++s) {
    const StageProgram& before = program.simt().front();
    program.add(tile::make_epilogue(tile::epilogue_space(shared.spaces[s]->expression, *before.space), before, widest));
  }
  for (tile::Edge& edge : tile::edges_of(e, a)) {
    edge.from -= static_cast<int>(first);
    edge.to -= static_cast<int>(first);
    if (edge.from < 0 || edge.to >= static_cast<int>(program.stages())) continue;
    edge.level = arch::registers_of(a)->name;
    program.edges.push_back(std::move(edge));
  }
  ConnectedStages best{{}, {kNever}};
  const auto judge = [&](StageProgram stores) {
    program.simt().back() = std::move(stores);
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(program, tile::groups_of(program, a).front(), a, refusals);
    const auto estimate = layout ? model::estimate_group(program, *layout, machine, &shared.known) : std::nullopt;
    if (!estimate || estimate->total_us >= best.time.v) return;
    best = {program.simt(), {estimate->total_us}};
  };
  const StageProgram direct = program.simt().back();
  judge(direct);
  const std::int64_t wide = elements_in(widest, direct.space->output.element);
  if (!shared.given.direct_stores) {
    judge(tile::with_row_stores(direct, 0, widest));
    if (shared.given.pads) judge(tile::with_row_stores(direct, wide, widest));
  }
  if (!(best.time.v < kNever)) return std::nullopt;
  return best;
}

// The faster one, where there are two.
std::optional<ConnectedStages> faster(std::optional<ConnectedStages> x, std::optional<ConnectedStages> y) {
  return !x || (y && y->time.v < x->time.v) ? std::move(y) : std::move(x);
}

// Products whose threads are few share reductions rather than hold results for epilogues.
std::optional<ConnectedStages> best_of_run(const expr::Expression& e, std::size_t first, std::size_t last,
                                           const model::Machine& machine, Shared& shared) {
  std::optional<ConnectedStages> held = Run(e, first, last, machine, shared, true).best();
  const auto differ = [](const Chain& x, const Chain& y) { return x.end != y.end; };
  const std::vector<Chain> with = chains_of(e, shared, first, last), without = chains_of(e, shared, first, last, false);
  if (std::equal(with.begin(), with.end(), without.begin(), std::not_fn(differ))) return held;
  return faster(std::move(held), Run(e, first, last, machine, shared, false).best());
}

bool is_split(const StageProgram& p) {
  return std::any_of(p.split.begin(), p.split.end(), [](std::int64_t parts) { return parts > 1; });
}

// Whether a run may be the best one: of a stage with epilogues all are in it or none, or it lies among them. Where the
// best program of that stage splits its reduction, those behind it may as well go with what follows.
bool worth_trying(const std::vector<Chain>& chains, const std::vector<Ranked>& alone, std::size_t first,
                  std::size_t last) {
  const Chain &begin = chains[first], &end = chains[last];
  if (begin.holder == end.holder) return true;
  return (begin.holder == first || is_split(alone[begin.holder].program)) &&
         (end.end == last || is_split(alone[end.holder].program));
}

// Where the tensor that passes from one stage of a run to another one does: in registers from a stage to its epilogues.
const std::string& level_inside(const std::vector<StageProgram>& run, std::size_t from, std::size_t to,
                                const arch::ArchSpec& a) {
  std::size_t holder = to;
  while (std::holds_alternative<tile::Epilogue>(run[holder].micro_kernel)) --holder;
  return holder <= from && holder < to ? arch::registers_of(a)->name : arch::scratchpad_of(a)->name;
}

}  // namespace

std::optional<ConnectedStages> sub_graph_tiling(const expr::Expression& e, std::size_t first, std::size_t last,
                                                const model::Machine& machine, const Restrictions& given) {
  Shared shared(e, *machine.arch, given);
  return best_of_run(e, first, last, machine, shared);
}

std::optional<RProgram> graph_connecting(const expr::Expression& e, const std::vector<Ranked>& alone,
                                         const model::Machine& machine, const Restrictions& given) {
  const arch::ArchSpec& a = *machine.arch;
  if (arch::scratchpad_of(a) == nullptr) return std::nullopt;
  const std::size_t stages = e.stages.size();
  // Up to every stage: the least time, and where the last run begins.
  struct Cut {
    double us = kNever;
    std::size_t begin = 0;
    std::vector<StageProgram> run;
  };
  Shared shared(e, a, given);
  const std::vector<Chain> chains = chains_of(e, shared, 0, stages - 1);
  std::vector<Cut> cuts(stages + 1);
  cuts[0].us = 0;
  for (std::size_t end = 1; end <= stages; ++end)
    for (std::size_t begin = end; begin-- > 0;) {
      if (!(cuts[begin].us < kNever)) continue;
      std::optional<ConnectedStages> run;
      if (begin + 1 == end)
        run = ConnectedStages{{alone[begin].program}, alone[begin].time};
      else if (worth_trying(chains, alone, begin, end - 1))
        run = best_of_run(e, begin, end - 1, machine, shared);
      if (begin + 1 < end && chains[begin].holder == begin && chains[end - 1].holder == begin)
        run = faster(std::move(run), with_epilogues(e, begin, end - 1, alone[begin], machine, shared));
      if (!run || cuts[begin].us + run->time.v >= cuts[end].us) continue;
      cuts[end] = {cuts[begin].us + run->time.v, begin, std::move(run->programs)};
    }
  std::vector<std::size_t> begins;
  for (std::size_t end = stages; end > 0; end = cuts[end].begin) begins.push_back(end);
  if (begins.size() == stages) return std::nullopt;
  RProgram out{a.name, {}, tile::edges_of(e, a)};
  for (auto end = begins.rbegin(); end != begins.rend(); ++end) {
    const std::size_t begin = cuts[*end].begin;
    for (tile::Edge& edge : out.edges)
      if (const auto from = static_cast<std::size_t>(edge.from), to = static_cast<std::size_t>(edge.to);
          from >= begin && to < *end)
        edge.level = level_inside(cuts[*end].run, from - begin, to - begin, a);
    for (StageProgram& p : cuts[*end].run) out.add(std::move(p));
  }
  return out;
}

}  // namespace tilescope::construct
