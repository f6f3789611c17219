// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/seed_tiles.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "construct/detail/matrix_kernels.h"
#include "construct/microkernel/detail/knobs.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/rules.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using tile::TileSpace;

constexpr std::size_t kFewTiles = 24;    // of one seed: fewer are no choice, so that tiles may waste more
constexpr std::size_t kManyTiles = 200;  // with those that waste more
// Tiles of one seed that the cost model sees, of those that waste little and more.
constexpr std::size_t kEvaluated = 128;
constexpr std::size_t kEvaluatedOfOthers = 32;  // of loops as they stand where they are seen as a matrix product too

// A seed for every instruction of the chip that may multiply the stage.
void add_matrix_seeds(const std::shared_ptr<const TileSpace>& space, const arch::ArchSpec& a, const Restrictions& given,
                      std::vector<Seed>& out) {
  for (tile::MicroKernel& kernel : matrix_kernels(*space, a, given)) {
    const tile::MatrixUnit u = *tile::unit_of(kernel);
    const auto spec = std::find_if(a.compute.begin(), a.compute.end(),
                                   [&](const arch::ComputeSpec& c) { return c.name == u.instruction; });
    Seed seed{space, Extents(space->axes.size(), 1), kEvaluated, static_cast<std::size_t>(spec - a.compute.begin()),
              std::move(kernel)};
    seed.unit[u.rows] = u.m;
    seed.unit[u.columns] = u.n;
    seed.unit[u.depth] = tile::depth_of_steps(*space, u);
    out.push_back(std::move(seed));
  }
}

// Warps in place of threads where lanes work together.
GrowthLimits limits_of(const Seed& seed, GrowthLimits limits) {
  const std::int64_t lanes = tile::lanes_of(seed.kernel);
  limits.max_threads /= lanes;
  limits.registers *= lanes;
  if (lanes > 1) limits.warp = 1;
  return limits;
}

// With what block tiles over it were grown from last, and which tiles these are.
struct RegisterTile {
  LevelTile tile;
  AxisChoices choices;
  std::vector<std::size_t> pairs;
};

// The block tile that is given over a register tile; nothing where it does not cut it, or into more threads than a
// block may have.
std::vector<LevelTile> given_tile(const TileSpace& space, const GrowthLimits& limits,
                                  const std::vector<std::int64_t>& given, const Extents& registers,
                                  const Extents& step) {
  if (given.size() != space.spatial) return {};
  Extents e = step;
  std::int64_t threads = 1;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const std::int64_t along = given[a] / registers[a];
    if (along * registers[a] != given[a] || along > limits.max_threads / threads) return {};
    threads *= along;
    e[a] = given[a];
  }
  return {{e, 0, 0}};
}

// The block tiles over one register tile that waste at most so much and are not among the tiles yet.
void add_pairs(const Seed& seed, const GrowthLimits& limits, const std::vector<std::int64_t>& given,
               RegisterTile& registers, const Extents& step, double epsilon, SeedTiles& out) {
  std::vector<LevelTile> blocks;
  if (given.empty()) {
    AxisChoices more = block_choices(*seed.space, limits, registers.tile.extents, step, epsilon);
    if (more == registers.choices) return;  // the same tiles as with the last share
    registers.choices = std::move(more);
    blocks = block_tiles(*seed.space, limits, registers.choices, step);
  } else {
    blocks = given_tile(*seed.space, limits, given, registers.tile.extents, step);
  }
  const std::vector<std::size_t> before = registers.pairs;
  for (const LevelTile& b : blocks) {
    const bool known =
        std::any_of(before.begin(), before.end(), [&](std::size_t pair) { return out.all[pair].block == b.extents; });
    if (known) continue;
    registers.pairs.push_back(out.all.size());
    out.all.push_back({registers.tile.extents, b.extents, work_of(*seed.space, registers.tile, b)});
  }
}

}  // namespace

std::vector<Seed> seeds_of(const expr::Expression& e, const arch::ArchSpec& chip, const Restrictions& given) {
  std::vector<Seed> out;
  const auto add = [&](const tile::AxisCollapse& collapse) {
    const auto space = tile::make_space(e, collapse);
    add_matrix_seeds(space, chip, given, out);
    out.push_back({space, Extents(space->axes.size(), 1), kEvaluated, {}, {}});
  };
  const auto product = tile::contraction_collapse(e);
  if (product) add(*product);
  add(tile::contiguous_collapse(e));
  if (product) {
    out.back().evaluated = kEvaluatedOfOthers;
    out.back().apart = true;
  }
  Seed tiled = out.back();
  tiled.evaluated = kEvaluated;
  for (std::size_t a = tiled.space->axes.size(); a-- > tiled.space->spatial;) {
    if (!tile::taps_overlap(*tiled.space, a) || tiled.space->axes[a].extent == 1) continue;
    tiled.unit[a] = tiled.space->axes[a].extent;
    out.push_back(tiled);
  }
  return out;
}

StageProgram program_of(const Seed& seed, const GrowthLimits& of_threads, const Extents& registers,
                        const Extents& block) {
  const GrowthLimits limits = limits_of(seed, of_threads);
  const TileSpace& space = *seed.space;
  const bool reduces = space.axes.size() > space.spatial;
  const bool tiles_reduction = seed.unit != Extents(space.axes.size(), 1);
  const std::int64_t widest = elements_in(limits.max_access, base::size_of(space.expression.dtype));
  Mapping mapping;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const bool wide = !reduces && a + 1 == space.spatial;
    const std::int64_t per_thread = tiles_reduction ? registers[a] : wide ? std::min(registers[a], widest) : 1;
    mapping.push_back({registers[a] / per_thread, block[a] / registers[a], per_thread});
  }
  StageProgram p = tile::make_stage_program(seed.space, mapping, block, limits.max_access);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) p.thread[a] = seed.unit[a];
  return tile::with_micro_kernel(std::move(p), seed.kernel, limits.max_access);
}

// What wastes little of an axis first, until there are tiles to choose from; then what wastes more, until there are
// many: irregular shapes have few of the first, and the cost model finds some of the others faster.
SeedTiles tiles_of(const Seed& seed, const GrowthLimits& of_threads, const std::vector<std::int64_t>& given) {
  const GrowthLimits limits = limits_of(seed, of_threads);
  SeedTiles out;
  Extents step = first_step(*seed.space, limits);
  for (std::size_t a = seed.space->spatial; a < step.size(); ++a)
    step[a] = std::max(step[a] / seed.unit[a], std::int64_t{1}) * seed.unit[a];
  std::vector<RegisterTile> registers;
  for (LevelTile& tile : register_tiles(*seed.space, limits, seed.unit))
    if (std::visit([&](const auto& k) { return suits_scales(k, *seed.space, tile.extents); }, seed.kernel))
      registers.push_back({std::move(tile), {}, {}});
  for (const double epsilon : kEpsilons) {
    for (RegisterTile& r : registers) add_pairs(seed, limits, given, r, step, epsilon, out);
    if (out.strict == 0 && (out.all.size() >= kFewTiles || epsilon == kEpsilons.back())) out.strict = out.all.size();
    if (out.all.size() >= kManyTiles || !given.empty()) break;
  }
  if (out.strict == 0) out.strict = out.all.size();
  return out;
}

}  // namespace tilescope::construct
