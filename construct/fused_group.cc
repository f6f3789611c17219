// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/fused_group.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/kernel_schedules.h"
#include "construct/detail/matrix_kernels.h"
#include "construct/detail/online_reduction.h"
#include "construct/detail/output_tiles.h"
#include "construct/detail/ranking.h"
#include "construct/microkernel/detail/knobs.h"
#include "model/simt/estimate.h"
#include "model/simt/kernel_stage.h"
#include "model/simt/registers.h"
#include "tile/fit.h"
#include "tile/group.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"
#include "tile/microkernel/rules.h"
#include "tile/staging.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::RProgram;
using tile::StageProgram;

constexpr std::size_t kTiles = 12;  // output tiles of one run that are scheduled
// Of what a block may have of the scratchpad: kept tiles are counted as if all were there at once.
constexpr double kMaxKept = 4;
// Times over the best one at which a tile is given up, once all its kept rows have been padded together. The programs
// of the suite `fused` on v100, a100, mi210 and k80 are those without the limit, in half the time.
constexpr double kPaddingIsClose = 1.1;
// Of an axis along which a run is carried on.
constexpr std::int64_t kCarriedSteps[] = {16, 32, 64, 128};
constexpr std::int64_t kLoopStages[] = {2, 1};  // of which a block holds the tiles

// Where a run is carried on: along what, so far in a step, and of how many steps a block holds the tiles.
struct OnlineSteps {
  const OnlineAxis* along = nullptr;
  std::int64_t step = 1, ring = 1;

  // The axis along which the run is carried on through a stage, and whether the stage has a step's part of it.
  std::optional<std::size_t> axis(std::size_t i) const { return along == nullptr ? std::nullopt : along->axes[i]; }
  bool is_carried(std::size_t i, const tile::TileSpace& space) const {
    return along != nullptr && along->carried(i, space);
  }
  bool is_stepped(std::size_t i, const tile::TileSpace& space) const {
    return axis(i).has_value() && !is_carried(i, space);
  }
};

// Whether a stage's results pass along one of the edges in registers, which are the level of that name, or elsewhere.
bool passes(const std::vector<tile::Edge>& edges, std::size_t from, const std::string& registers, bool in_registers) {
  return std::any_of(edges.begin(), edges.end(), [&](const tile::Edge& e) {
    return static_cast<std::size_t>(e.from) == from && (e.level == registers) == in_registers;
  });
}

std::int64_t elements_of(const Extents& tile) {
  std::int64_t n = 1;
  for (const std::int64_t along : tile) n *= along;
  return n;
}

// The pitch of a tile that an earlier stage will leave: rows are one element longer, so that they begin in other banks.
tile::TileShape assumed_pitch(const StageProgram& p, std::size_t operand, std::optional<std::size_t> carried) {
  Extents whole = p.block;
  for (std::size_t a = p.space->spatial; a < whole.size(); ++a)
    if (a != carried) whole[a] = p.space->axes[a].extent;
  return model::pitch_of_rows(tile::data_tile(p.space->inputs[operand], whole), 1);
}

// The same of a tile whose rows a matrix instruction reads: by what its rows are longer than a step's.
std::int64_t assumed_padding(const StageProgram& p, std::size_t operand, std::optional<std::size_t> carried,
                             base::Bytes max_access) {
  const tile::Operand& o = p.space->inputs[operand];
  const auto axis = static_cast<std::size_t>(o.dims.back().terms.front().axis);
  const bool part = axis < p.space->spatial || axis == carried;
  const std::int64_t whole = part ? p.block[axis] : p.space->axes[axis].extent;
  return whole - tile::data_tile(o, p.block).back() + elements_in(max_access, o.element);
}

// The stages first .. last as one kernel, which pass tensors on as `passing` says, multiplied by `matrix`. It has to be
// faster than `limit`, in microseconds.
class FusedGroup {
 public:
  FusedGroup(std::size_t first, std::size_t last, const model::Machine& machine, GroupMemory& shared, Passing passing,
             const MatrixKernels& matrix, double limit)
      : first_(first),
        machine_(machine),
        arch_(*machine.arch),
        shared_(shared),
        memory_(shared.known),
        rules_{arch_, shared.given.pads, &memory_, true},
        limits_(growth_limits(arch_)),
        program_{arch_.name, {}, {}},
        group_(last - first + 1),
        passing_(std::move(passing)),
        matrix_(matrix),
        best_us_(limit) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (std::size_t s = first; s <= last; ++s) {
      spaces_.push_back(shared.spaces[s]);
      program_.add(plain(s - first));
    }
    program_.edges = passing_.edges;
  }

  std::optional<FusedKernel> best() {
    try_tiles();
    const std::vector<tile::Edge> whole = program_.edges;
    const std::vector<OnlineAxis> axes = online_axes(spaces_, whole);
    for (const OnlineAxis& along : axes) {
      steps_.along = &along;
      program_.edges = with_online_reduction(whole, along, spaces_);
      for (const std::int64_t step : kCarriedSteps) {
        steps_.step = step;
        if (step < along.extent) try_tiles();
      }
    }
    if (best_.empty()) return std::nullopt;
    return FusedKernel{std::move(best_), {best_us_}, std::move(best_edges_)};
  }

 private:
  // Whether results stay in the scratchpad, or in registers.
  bool keeps(std::size_t i) const { return passes(passing_.edges, i, registers_, false); }
  bool holds(std::size_t i) const { return passes(passing_.edges, i, registers_, true); }
  std::size_t last() const { return group_.size() - 1; }
  StageProgram& stage(std::size_t i) { return program_.simt()[i]; }
  const tile::TileSpace& space(std::size_t i) const { return program_.space(i); }

  void try_tiles() {
    for (std::size_t i = 0; i <= last(); ++i) stage(i) = plain(i);
    for (const Extents& tile : tiles())
      for (std::int64_t threads = 4 * limits_.warp; threads <= limits_.max_threads; threads *= 2) {
        if (threads > 8 * limits_.warp && elements_of(tile) < 2 * threads) break;
        for (const std::int64_t stages : kLoopStages) {
          steps_.ring = stages;
          if (stages == 1 || (passing_.by_rows && steps_.along != nullptr)) try_tile(tile, threads);
        }
      }
  }

  // A program to stand there until the stage has one.
  StageProgram plain(std::size_t i) const {
    const SpacePtr& space = spaces_[i];
    base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping(space->spatial, tile::AxisMapping{});
    Extents one(space->axes.size(), 1);
    if (steps_.is_carried(i, *spaces_[i])) one[*steps_.axis(i)] = steps_.step;
    StageProgram p = tile::make_stage_program(space, mapping, one, limits_.max_access);
    for (tile::OperandPlan& plan : p.operands) plan.cached = false;
    return p;
  }

  // Output tiles of the last stage that move least for what they leave idle, those that fit alone.
  std::vector<Extents> tiles() {
    std::vector<std::pair<double, Extents>> ranked;
    for (const Extents& tile : output_tiles(space(last()))) {
      const double cost = cost_of_tile(tile, ranked.size() < kTiles ? kNever : ranked.back().first);
      if (!(cost < kNever)) continue;
      const auto at = std::upper_bound(ranked.begin(), ranked.end(), cost,
                                       [](double x, const auto& other) { return x < other.first; });
      ranked.emplace(at, cost, tile);
      if (ranked.size() > kTiles) ranked.pop_back();
    }
    std::vector<Extents> out;
    for (const auto& [cost, tile] : ranked) out.push_back(tile);
    return out;
  }

  // A block's loops in a stage, all steps together.
  Extents whole_of(std::size_t i) {
    Extents whole = stage(i).block;
    for (std::size_t a = 0; a < whole.size(); ++a)
      if (a >= space(i).spatial || a == steps_.axis(i)) whole[a] = space(i).axes[a].extent;
    return whole;
  }

  double points_of(std::size_t i) {
    double points = 1;
    for (const std::int64_t along : whole_of(i)) points *= static_cast<double>(along);
    return points;
  }

  double bytes_from_outside(std::size_t i) {
    const Extents whole = whole_of(i);
    double bytes = 0;
    for (std::size_t o = 0; o < space(i).inputs.size(); ++o)
      if (!stays(i, o))
        bytes += static_cast<double>(tile::data_tile_elements_inside(space(i).inputs[o], whole) *
                                     space(i).inputs[o].element.n);
    return bytes;
  }

  // Microseconds in which the device gives what all blocks ask for and cores compute all stages' points, each in whole
  // waves of blocks; never where the kept tiles alone do not fit, stages cannot meet, or it takes longer than `limit`.
  double cost_of_tile(const Extents& tile, double limit) {
    for (std::size_t a = 0; a < tile.size(); ++a) stage(last()).block[a] = tile[a];
    double blocks = 1;
    for (std::size_t a = 0; a < tile.size(); ++a)
      blocks *= static_cast<double>(base::ceil_div(space(last()).axes[a].extent, tile[a]));
    const auto cores = static_cast<double>(arch_.core.count);
    const double idle = std::ceil(blocks / cores) * cores / blocks;
    const double lanes = static_cast<double>(arch_.core.warp * arch_.core.partitions) * machine_.clock_hz * 1e-6;
    const double scratchpad = static_cast<double>(arch::scratchpad_per_block(*arch::scratchpad_of(arch_)).n);
    double bytes = static_cast<double>(elements_of(tile) * space(last()).output.element.n), points = 0, kept = 0;
    double cost = 0;  // so far: it only grows
    const double registers = static_cast<double>(arch::registers_of(arch_)->capacity.n);
    double sums = 0;  // bytes of a block, where all products keep theirs in registers
    const auto add = [&](std::size_t i, const Extents& results) {
      bytes += bytes_from_outside(i);
      points += points_of(i);
      if (passing_.by_rows && !matrix_[first_ + i].empty())
        sums += static_cast<double>(elements_of(results) * base::size_of(space(i).expression.accumulate).n);
      if (keeps(i)) kept += static_cast<double>(elements_of(results) * space(i).output.element.n);
      const double moved_us = blocks * bytes * 1e6 / arch::device_bandwidth_of(arch_).v;
      const double computed_us = blocks * points / lanes / cores;
      // As of tiles of a single stage (detail/tiles.h): what takes longer hides the rest in part.
      cost = (std::max(moved_us, computed_us) + kNotHidden * std::min(moved_us, computed_us)) * idle;
      return cost < limit && kept <= kMaxKept * scratchpad && sums <= registers;
    };
    return add(last(), tile) && tile::set_kept_extents(program_, group_, arch_, add) ? cost : kNever;
  }

  // Whether an input is an earlier stage's of the run.
  bool stays(std::size_t i, std::size_t operand) const {
    const tile::TileSpace& s = space(i);
    const std::string& name = s.tensor_name(s.inputs[operand]);
    return std::any_of(program_.edges.begin(), program_.edges.end(),
                       [&](const tile::Edge& e) { return e.tensor == name && static_cast<std::size_t>(e.to) == i; });
  }

  bool held_input(std::size_t i, std::size_t operand) const {
    const tile::TileSpace& s = space(i);
    const std::string& name = s.tensor_name(s.inputs[operand]);
    return std::any_of(passing_.edges.begin(), passing_.edges.end(), [&](const tile::Edge& e) {
      return e.tensor == name && static_cast<std::size_t>(e.to) == i && e.level == registers_;
    });
  }

  // Schedules stages from the last to the first, then the padding of what they keep.
  void try_tile(const Extents& tile, std::int64_t threads) {
    std::int64_t blocks = 1;
    for (std::size_t a = 0; a < tile.size(); ++a) blocks *= base::ceil_div(space(last()).axes[a].extent, tile[a]);
    std::vector<Extents> of_rows;
    if (passing_.by_rows && !asked_of_all(tile, of_rows)) return;
    for (std::size_t end = group_.size(); end-- > 0;) {
      const std::size_t holder = passing_.chains[end].holder;
      std::optional<Extents> asked = passing_.by_rows ? std::optional(of_rows[holder])
                                     : end == last()  ? std::optional(tile)
                                                      : tile::kept_extents(program_, group_, end, arch_);
      if (!asked || !schedule(holder, *asked, threads, blocks)) return;
      for (std::size_t i = holder + 1; i <= end; ++i)
        if (!go_on(i)) return;
      end = holder;
    }
    double us = evaluated();
    if (!(us < kNever) || !may_win(us)) return;
    for (std::size_t i = 0; i < last(); ++i) {
      if (!keeps(i)) continue;
      const std::int64_t widest = elements_in(limits_.max_access, space(i).output.element);
      std::int64_t best = 0;
      for (const std::int64_t padding : {std::int64_t{1}, widest}) {
        stage(i).operands.back().padding = padding;
        if (const double padded = evaluated(); padded < us) {
          us = padded;
          best = padding;
        }
      }
      stage(i).operands.back().padding = best;
    }
    if (us >= best_us_) return;
    best_us_ = us;
    best_ = program_.simt();
    best_edges_ = program_.edges;
  }

  // What stages behind ask of each, where the last one has this tile; false where they cannot meet.
  bool asked_of_all(const Extents& tile, std::vector<Extents>& out) {
    for (std::size_t i = 0; i <= last(); ++i) stage(i) = plain(i);
    for (std::size_t a = 0; a < tile.size(); ++a) stage(last()).block[a] = tile[a];
    out.assign(group_.size(), tile);
    return tile::set_kept_extents(program_, group_, arch_, [&](std::size_t i, const Extents& extents) {
      out[i] = extents;
      return true;
    });
  }

  // The program of a stage that goes on in the threads of its chain.
  bool go_on(std::size_t i) {
    const SpacePtr& space = spaces_[i];
    if (space->axes.size() == space->spatial) {
      stage(i) = tile::make_epilogue(space, stage(passing_.chains[i].holder), limits_.max_access);
      return true;
    }
    const auto reads = std::find_if(passing_.edges.begin(), passing_.edges.end(),
                                    [&](const tile::Edge& e) { return static_cast<std::size_t>(e.to) == i; });
    const StageProgram& holder = stage(static_cast<std::size_t>(reads->from));
    if (!tile::row_reduction_refusal(*space, holder).empty()) return false;
    stage(i) = tile::make_row_reduction(space, holder);
    return true;
  }

  // Whether paddings, chosen stage by stage, may make a tile the fastest that takes `us` without any: what they win
  // together is about what they win where all stages have one.
  bool may_win(double us) {
    if (us < kPaddingIsClose * best_us_) return true;
    for (const bool wide : {false, true}) {
      for (std::size_t i = 0; i < last(); ++i)
        if (keeps(i))
          stage(i).operands.back().padding = wide ? elements_in(limits_.max_access, space(i).output.element) : 1;
      us = std::min(us, evaluated());
    }
    for (std::size_t i = 0; i < last(); ++i)
      if (keeps(i)) stage(i).operands.back().padding = 0;
    return us < kPaddingIsClose * best_us_;
  }

  // The schedule of a stage that takes least by itself; false where none fits.
  bool schedule(std::size_t i, const Extents& asked, std::int64_t threads, std::int64_t blocks) {
    StageRequest request{stage(i).space, asked, threads, {}, matrix_[first_ + i]};
    model::KernelStage kernel;
    kernel.blocks = blocks;
    kernel.threads = threads;
    kernel.keeps_output = keeps(i);
    kernel.holds_output = holds(i);
    kernel.first = false;
    kernel.factors_by_rows = passing_.by_rows;
    request.whole_rows = passing_.by_rows;
    if (steps_.axis(i)) request.loop_stages = steps_.ring;
    if (steps_.is_carried(i, *spaces_[i])) {
      request.carried = steps_.axis(i);
      request.step = steps_.step;
      if (steps_.along->rescalings[i]) kernel.rescaling = &*steps_.along->rescalings[i];
    }
    if (steps_.is_stepped(i, *spaces_[i])) kernel.stepped = request.stepped = steps_.axis(i);
    if (steps_.is_stepped(i, *spaces_[i]) || (steps_.is_carried(i, *spaces_[i]) && steps_.along->runs[i])) {
      kernel.repeats = base::ceil_div(steps_.along->extent, steps_.step);
      kernel.leaves_factors = steps_.is_carried(i, *spaces_[i]);
    }
    for (std::size_t o = 0; o < space(i).inputs.size(); ++o) {
      request.kept.push_back(stays(i, o));
      kernel.kept_pitch.push_back(std::nullopt);
      kernel.held.push_back(held_input(i, o));
    }
    std::vector<std::int64_t> key = {static_cast<std::int64_t>(first_ + i),
                                     threads,
                                     blocks,
                                     kernel.keeps_output ? 1 : 0,
                                     kernel.holds_output ? 1 : 0,
                                     multiplies_by(i),
                                     passing_.by_rows ? request.loop_stages : 0,
                                     steps_.axis(i) ? steps_.step : 0};
    if (steps_.axis(i)) key.push_back(static_cast<std::int64_t>(*steps_.axis(i)));
    key.insert(key.end(), asked.begin(), asked.end());
    key.insert(key.end(), request.kept.begin(), request.kept.end());
    const auto [known, fresh] = shared_.schedules.try_emplace(std::move(key));
    if (fresh) known->second = best_schedule(request, std::move(kernel));
    if (!known->second) return false;
    stage(i) = *known->second;
    return true;
  }

  // A number that tells instructions of different kinds apart.
  std::int64_t multiplies_by(std::size_t i) const {
    const std::vector<tile::MicroKernel>& kernels = matrix_[first_ + i];
    return kernels.empty() ? -1 : static_cast<std::int64_t>(kernels.front().index());
  }

  std::optional<StageProgram> best_schedule(const StageRequest& request, model::KernelStage kernel) {
    double best = kNever;
    std::optional<StageProgram> found;
    for (StageProgram& p : kernel_schedules(request, limits_, rules_)) {
      if (!tile::fits(p, arch_) || (kernel.holds_output && p.sharers() > 1)) continue;
      p = model::with_max_registers(std::move(p), machine_, request.threads);
      if (!tile::holds_registers(p, arch_)) continue;
      if (!model::is_worth_compiling(p, model::registers_of(p, machine_), p.registers)) continue;
      StageProgram evaluated = p;
      for (std::size_t o = 0; o < request.kept.size(); ++o) {
        if (!request.kept[o] || kernel.held[o]) continue;
        kernel.kept_pitch[o] = assumed_pitch(p, o, request.carried);
        if (tile::of_micro_kernel(p, [](const auto& k) { return reads_by_rows(k); }))
          evaluated.operands[o].padding = assumed_padding(p, o, request.carried, limits_.max_access);
      }
      kernel.scratchpad = tile::staging_of(p, arch_.core).bytes +
                          (kernel.keeps_output ? p.space->output.element * tile::kept_elements(p) : base::Bytes{0});
      const auto e = model::estimate_stage_of(evaluated, kernel, machine_, &memory_.costs());
      if (!e || e->total_us >= best) continue;
      best = e->total_us;
      found = std::move(p);
    }
    return found;
  }

  // Where a tile begins where other stages ask for it, accesses are as wide as that allows.
  void narrow_vectors(const tile::GroupLayout& layout) {
    for (std::size_t i = 0; i < last(); ++i)
      for (std::size_t o = 0; o < space(i).inputs.size(); ++o)
        if (std::int64_t& vector = stage(i).operands[o].vector; !stays(i, o))
          vector = tile::aligned_vector(program_, layout, i, o, vector);
  }

  double evaluated() {
    base::Diagnostics refusals;
    const auto layout = tile::layout_of(program_, group_, arch_, refusals);
    if (!layout) return kNever;
    narrow_vectors(*layout);
    const auto e = model::estimate_group(program_, *layout, machine_, &memory_.costs());
    return e ? e->total_us : kNever;
  }

  std::size_t first_;
  const model::Machine& machine_;
  const arch::ArchSpec& arch_;
  const std::string registers_ = arch::registers_of(arch_)->name;
  GroupMemory& shared_;
  LayoutMemory memory_;
  LayoutRules rules_;
  GrowthLimits limits_;
  RProgram program_;  // of the run alone
  tile::Group group_;
  const Passing passing_;
  const MatrixKernels& matrix_;
  // Where the run is carried on: along what, so far in a step.
  OnlineSteps steps_;
  std::vector<SpacePtr> spaces_;  // of the run's stages
  double best_us_;
  std::vector<StageProgram> best_;
  std::vector<tile::Edge> best_edges_;
};

}  // namespace

std::optional<FusedKernel> best_of_group(const expr::Expression& e, std::size_t first, std::size_t last,
                                         const model::Machine& machine, GroupMemory& memory) {
  if (!stays_inside(e, first, last)) return std::nullopt;
  const arch::ArchSpec& a = *machine.arch;
  std::optional<FusedKernel> out;
  const auto try_passing = [&](Passing passing, const MatrixKernels& matrix) {
    const double limit = out ? out->time.v : kNever;
    if (auto found = FusedGroup(first, last, machine, memory, std::move(passing), matrix, limit).best())
      out = std::move(found);
  };
  const MatrixKernels of_fragments = kernels_of(memory.matrix, true),
                      of_core_matrices = kernels_of(memory.matrix, false);
  for (const MatrixKernels* matrix : {&of_core_matrices, &of_fragments}) {
    std::vector<bool> products;
    for (const auto& kernels : *matrix) products.push_back(!kernels.empty());
    if (auto rows = passing_by_rows(e, memory.spaces, products, first, last, a)) try_passing(*std::move(rows), *matrix);
  }
  const auto differ = [](const Chain& x, const Chain& y) { return x.end != y.end; };
  const std::vector<Chain> with = chains_of(e, memory.spaces, first, last),
                           without = chains_of(e, memory.spaces, first, last, false);
  try_passing(passing_in(with, e, first, a), of_fragments);
  if (!std::equal(with.begin(), with.end(), without.begin(), std::not_fn(differ)))
    try_passing(passing_in(without, e, first, a), of_fragments);
  return out;
}

}  // namespace tilescope::construct
