// SPDX-License-Identifier: Apache-2.0
#include "construct/roller.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <span>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/layout.h"
#include "construct/detail/matrix_kernels.h"
#include "construct/detail/shared_reductions.h"
#include "construct/detail/tiles.h"
#include "model/simt/registers.h"
#include "tile/fit.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using tile::TileSpace;
using SpacePtr = std::shared_ptr<const TileSpace>;

constexpr std::size_t kFewTiles = 24;    // of one seed: fewer are no choice, so that tiles may waste more
constexpr std::size_t kManyTiles = 200;  // with those that waste more
constexpr std::size_t kEvaluated =
    128;  // tiles of one seed that the cost model sees, of those that waste little and more
constexpr std::size_t kEvaluatedOfOthers = 32;  // of loops as they stand where they are seen as a matrix product too
constexpr std::size_t kLaidOut = 32;            // tiles that are worth trying other layouts on
constexpr std::size_t kLaidOutAgain = 4;        // a second time
constexpr base::Microseconds kNever{std::numeric_limits<double>::infinity()};

// What register tiles grow from: single elements, a register tile of filter taps that read overlapping elements, or the
// fragments of a matrix instruction.
struct Seed {
  SpacePtr space;
  Extents unit;
  std::size_t evaluated = kEvaluated;
  const arch::ComputeSpec* instruction = nullptr;  // null: multiply-adds of single threads
  tile::MicroKernel kernel = {};
};

// A seed for every instruction of the chip that may multiply the stage.
void add_matrix_seeds(const SpacePtr& space, const arch::ArchSpec& a, const Restrictions& given,
                      std::vector<Seed>& out) {
  for (tile::MicroKernel& kernel : matrix_kernels(*space, a, given)) {
    const tile::MatrixUnit u = *tile::unit_of(kernel);
    const auto spec = std::find_if(a.compute.begin(), a.compute.end(),
                                   [&](const arch::ComputeSpec& c) { return c.name == u.instruction; });
    Seed seed{space, Extents(space->axes.size(), 1), kEvaluated, &*spec, std::move(kernel)};
    seed.unit[u.rows] = u.m;
    seed.unit[u.columns] = u.n;
    seed.unit[u.depth] = u.k;
    out.push_back(std::move(seed));
  }
}

// The ways to collapse a stage's loops: as a matrix product where it is one, there also by the chip's matrix
// instructions, and as it is; where it is no such product also with register tiles of the innermost axis of taps or of
// all of them.
std::vector<Seed> seeds_of(const expr::Expression& e, const arch::ArchSpec& chip, const Restrictions& given) {
  std::vector<Seed> out;
  const auto add = [&](const tile::AxisCollapse& collapse) {
    const SpacePtr space = tile::make_space(e, collapse);
    add_matrix_seeds(space, chip, given, out);
    out.push_back({space, Extents(space->axes.size(), 1)});
  };
  const auto product = tile::contraction_collapse(e);
  if (product) add(*product);
  add(tile::contiguous_collapse(e));
  if (product) {
    out.back().evaluated = kEvaluatedOfOthers;
    return out;
  }
  Seed tiled = out.back();
  for (std::size_t a = tiled.space->axes.size(); a-- > tiled.space->spatial;) {
    if (!tile::taps_overlap(*tiled.space, a) || tiled.space->axes[a].extent == 1) continue;
    tiled.unit[a] = tiled.space->axes[a].extent;
    out.push_back(tiled);
  }
  return out;
}

// Elements of a register tile are strided over the threads, so that neighbouring threads touch neighbouring words
// (ROLLER's vthreads); without reuse the innermost axis is kept whole for wide accesses, and neighbours share a
// register tile.
StageProgram program_of(const Seed& seed, const GrowthLimits& limits, const Extents& registers, const Extents& block) {
  const TileSpace& space = *seed.space;
  const bool reduces = space.axes.size() > space.spatial;
  const bool tiles_reduction = seed.unit != Extents(space.axes.size(), 1);
  const std::int64_t widest = elements_in(limits.max_access, base::size_of(space.expression.dtype));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const bool wide = !reduces && a + 1 == space.spatial;
    const std::int64_t per_thread = tiles_reduction ? registers[a] : wide ? std::min(registers[a], widest) : 1;
    mapping.push_back({registers[a] / per_thread, block[a] / registers[a], per_thread});
  }
  StageProgram p = tile::make_stage_program(seed.space, mapping, block, limits.max_access);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) p.thread[a] = seed.unit[a];
  return tile::with_micro_kernel(std::move(p), seed.kernel, limits.max_access);
}

class Ranking {
 public:
  Ranking(const arch::ArchSpec& a, const CostModel& cost_model)
      : arch_(a),
        machine_(model::make_machine(a)),
        cost_model_(cost_model),
        candidate_(tile::program_of(a.name, StageProgram())) {}

  // Another one for the same chip and cost model, of no program yet.
  Ranking empty() const { return {arch_, cost_model_}; }

  // Its time; never where it does not fit or the cost model cannot tell.
  base::Microseconds add(StageProgram p) {
    if (!tile::fits(p, arch_)) return kNever;
    const base::Microseconds time = ask(std::move(p));
    if (time < kNever) programs_.push_back({std::move(candidate_.simt()[0]), time});
    return time;
  }

  // The same of another layout of a program that is known already, which is kept where it is one of the best of its
  // tiles.
  base::Microseconds add_to(const Ranked& known, StageProgram p) {
    if (!tile::fits(p, arch_)) return kNever;
    const base::Microseconds time = ask(std::move(p));
    const StageProgram& asked = candidate_.simt()[0];
    if (time < known.time || (time < kNever && !same_tiles(asked, known.program))) programs_.push_back({asked, time});
    return time;
  }

  // The best ones of distinct tiles, best first; equal times keep the order of construction.
  std::vector<Ranked> best(std::size_t keep) const { return best_of_distinct(keep, same_tiles); }

  // The best ones that differ in what a thread keeps or in how many threads there are: where two axes may stand for
  // each other, as images and channels of a depthwise convolution, one layout is as good for blocks along either.
  std::vector<Ranked> best_of_each_size(std::size_t keep) const { return best_of_distinct(keep, same_size); }

 private:
  template <class Same>
  std::vector<Ranked> best_of_distinct(std::size_t keep, Same same) const {
    std::vector<const Ranked*> in_order;
    for (const Ranked& r : programs_) in_order.push_back(&r);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const Ranked* a, const Ranked* b) { return a->time < b->time; });
    std::vector<Ranked> out;
    for (const Ranked* r : in_order) {
      if (out.size() >= keep) break;
      const bool seen =
          std::any_of(out.begin(), out.end(), [&](const Ranked& o) { return same(o.program, r->program); });
      if (!seen) out.push_back(*r);
    }
    return out;
  }

  base::Microseconds ask(StageProgram p) {
    candidate_.simt()[0] = model::held_to_registers(std::move(p), machine_);
    // Where nothing is reduced, threads that keep less compute the same and spill nothing.
    const StageProgram& held = candidate_.simt()[0];
    const bool reduces = held.space->axes.size() > held.space->spatial;
    if (!reduces && model::registers_needed(held, machine_) > machine_.registers_per_thread) return kNever;
    return tile::holds_registers(candidate_.simt()[0], arch_) ? cost_model_(candidate_) : kNever;
  }

  static bool same_tiles(const StageProgram& p, const StageProgram& q) {
    return p.space == q.space && p.block == q.block && p.thread == q.thread &&
           p.reduction_threads == q.reduction_threads;
  }
  static bool same_size(const StageProgram& p, const StageProgram& q) {
    return p.space == q.space && p.thread == q.thread && p.threads() == q.threads();
  }

  const arch::ArchSpec& arch_;
  const model::Machine machine_;
  const CostModel& cost_model_;
  tile::RProgram candidate_;     // reused: one stage, replaced for every question
  std::deque<Ranked> programs_;  // in the order of construction
};

// One run of the construction: what is known of the stage, the chip and the question.
class Construction {
 public:
  Construction(const expr::Expression& one_stage, const arch::ArchSpec& a, const CostModel& cost_model,
               const Restrictions& given, model::CachedCosts& known)
      : arch_(a),
        given_(given),
        memory_(known),
        rules_{a, given.pads, &memory_, given.direct_stores},
        limits_(growth_limits(a)),
        seeds_(seeds_of(one_stage, a, given)),
        ranking_(a, cost_model) {}

  std::vector<Ranked> best(std::size_t keep) {
    for (const Seed& seed : seeds_) add_tiles(seed);
    if (ranking_.best(1).empty() && given_.block.empty())
      for (const Seed& seed : seeds_) add_unaligned(seed);
    // A choice may pay only once a later one is taken, so that the best go round again.
    for (const std::size_t tiles : {kLaidOut, kLaidOutAgain})
      for (const Ranked& r : ranking_.best_of_each_size(tiles)) improve(r, ranking_);
    add_shared_reductions();
    return ranking_.best(keep);
  }

 private:
  struct TilePair {
    const LevelTile* registers = nullptr;
    Extents block;
    double cost = 0;
  };

  // What wastes little of an axis first, until there are tiles to choose from; then what wastes more, until there are
  // many: irregular shapes have few of the first, and the cost model finds some of the others faster. Both are ranked
  // among themselves, so that neither takes the other's place.
  void add_tiles(const Seed& seed) {
    const GrowthLimits limits = limits_of(seed);
    Extents step = first_step(*seed.space, limits);
    for (std::size_t a = seed.space->spatial; a < step.size(); ++a)
      step[a] = std::max(step[a] / seed.unit[a], std::int64_t{1}) * seed.unit[a];
    const std::vector<LevelTile> registers = register_tiles(*seed.space, limits, seed.unit);
    std::vector<AxisChoices> choices(registers.size());
    std::vector<TilePair> pairs;
    std::size_t strict = 0;
    for (const double epsilon : kEpsilons) {
      for (std::size_t r = 0; r < registers.size(); ++r)
        add_pairs(seed, limits, registers[r], step, epsilon, choices[r], pairs);
      if (strict == 0 && (pairs.size() >= kFewTiles || epsilon == kEpsilons.back())) strict = pairs.size();
      if (pairs.size() >= kManyTiles || !given_.block.empty()) break;
    }
    if (strict == 0) strict = pairs.size();
    add_best(seed, limits, std::span(pairs).first(strict));
    add_best(seed, limits, std::span(pairs).subspan(strict));
  }

  // The block tiles over one register tile that waste at most so much and are not among the pairs yet.
  void add_pairs(const Seed& seed, const GrowthLimits& limits, const LevelTile& registers, const Extents& step,
                 double epsilon, AxisChoices& choices, std::vector<TilePair>& pairs) {
    std::vector<LevelTile> blocks;
    if (given_.block.empty()) {
      AxisChoices more = block_choices(*seed.space, limits, registers.extents, step, epsilon);
      if (more == choices) return;  // the same tiles as with the last share
      choices = std::move(more);
      blocks = block_tiles(*seed.space, limits, choices, step);
    } else {
      blocks = given_tile(*seed.space, registers.extents, step);
    }
    const std::size_t before = pairs.size();
    for (const LevelTile& b : blocks) {
      const bool known =
          std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(before),
                      [&](const TilePair& p) { return p.registers == &registers && p.block == b.extents; });
      if (!known) pairs.push_back({&registers, b.extents, cost_of(*seed.space, registers, b, arch_, seed.instruction)});
    }
  }

  // Those of the pairs that are nearest to what the chip could do.
  void add_best(const Seed& seed, const GrowthLimits& limits, std::span<TilePair> pairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const TilePair& a, const TilePair& b) { return a.cost < b.cost; });
    for (const TilePair& p : pairs.first(std::min(pairs.size(), seed.evaluated)))
      add_tile(program_of(seed, limits, p.registers->extents, p.block));
  }

  // Warps in place of threads where lanes work together.
  GrowthLimits limits_of(const Seed& seed) const {
    GrowthLimits limits = limits_;
    const std::int64_t lanes = tile::lanes_of(seed.kernel);
    limits.max_threads /= lanes;
    limits.registers *= lanes;
    if (lanes > 1) limits.warp = 1;
    return limits;
  }

  // A tile by itself, and where its blocks leave cores idle with the reduction shared among as many as there are cores.
  void add_tile(const StageProgram& plain) {
    const StageProgram p = fitting(apply_layout(plain, rules_));
    ranking_.add(p);
    const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
    const std::int64_t blocks = p.blocks(), cores = arch_.core.count;
    if (!longest || blocks >= cores) return;
    std::int64_t parts = 2;
    while (parts * blocks < cores && parts < kMaxParts) parts *= 2;
    if (parts * p.block[*longest] <= p.space->axes[*longest].extent)
      if (std::optional<StageProgram> split = split_into(p, parts, rules_)) ranking_.add(std::move(*split));
  }

  // Programs whose threads share a reduction are ranked among themselves first, so that they take no other tile's
  // place.
  void add_shared_reductions() {
    if (!given_.block.empty()) return;
    Ranking sharing = ranking_.empty();
    for (const Seed& seed : seeds_)
      if (seed.instruction == nullptr && seed.unit == Extents(seed.space->axes.size(), 1))
        for (StageProgram& p : sharing_programs(seed.space, limits_, arch_)) sharing.add(std::move(p));
    for (const Ranked& r : sharing.best_of_each_size(kLaidOutAgain)) improve(r, sharing);
    for (const Ranked& r : sharing.best(kLaidOut)) ranking_.add(r.program);
  }

  // The block tile that is given over a register tile; nothing where it does not cut it, or into more threads than a
  // block may have.
  std::vector<LevelTile> given_tile(const TileSpace& space, const Extents& registers, const Extents& step) const {
    if (given_.block.size() != space.spatial) return {};
    Extents e = step;
    std::int64_t threads = 1;
    for (std::size_t a = 0; a < space.spatial; ++a) {
      const std::int64_t along = given_.block[a] / registers[a];
      if (along * registers[a] != given_.block[a] || along > limits_.max_threads / threads) return {};
      threads *= along;
      e[a] = given_.block[a];
    }
    return {{e, 0, 0}};
  }

  // For what no aligned tile covers: any tile of single elements, straight from memory. Slow, but a program.
  void add_unaligned(const Seed& seed) {
    GrowthLimits limits = limits_;
    limits.cached_bytes = std::numeric_limits<std::int64_t>::max();
    const TileSpace& space = *seed.space;
    const Extents one(space.axes.size(), 1), step = first_step(space, limits);
    for (const LevelTile& block :
         block_tiles(space, limits, block_choices(space, limits, one, step, kEpsilons.back()), step, Alignment::kAny)) {
      StageProgram p = program_of({seed.space, one}, limits, one, block.extents);
      for (std::size_t i = 0; i < space.inputs.size(); ++i) p.operands[i] = {};
      ranking_.add(std::move(p));
    }
  }

  // The program, with its rows as they are where it does not fit with them placed.
  StageProgram fitting(StageProgram p) const {
    return tile::fits(p, arch_) ? p : apply_layout(std::move(p), {arch_, false, rules_.known, rules_.direct_stores});
  }

  // Takes one choice after the other to what is fastest while the others stay.
  void improve(Ranked at, Ranking& ranking) {
    at.program.registers = 0;  // they are stated of each layout anew
    for (const LayoutKnob knob : layout_knobs())
      for (StageProgram& other : knob(at.program, rules_)) {
        StageProgram p = fitting(std::move(other));
        if (const base::Microseconds time = ranking.add_to(at, p); time < at.time) at = {std::move(p), time};
      }
  }

  const arch::ArchSpec& arch_;
  const Restrictions& given_;
  LayoutMemory memory_;
  LayoutRules rules_;
  GrowthLimits limits_;
  std::vector<Seed> seeds_;
  Ranking ranking_;
};

}  // namespace

std::vector<Ranked> roller(const expr::Expression& one_stage, const arch::ArchSpec& a, const CostModel& cost_model,
                           std::size_t keep, const Restrictions& given, model::CachedCosts* known) {
  model::CachedCosts own(a);
  return Construction(one_stage, a, cost_model, given, known != nullptr ? *known : own).best(keep);
}

}  // namespace tilescope::construct
