// SPDX-License-Identifier: Apache-2.0
#include "construct/aligned_programs.h"

#include <algorithm>
#include <array>
#include <functional>

#include "arch/derive.h"
#include "construct/detail/layout.h"
#include "construct/detail/tiles.h"
#include "construct/search_space.h"
#include "model/simt/registers.h"
#include "tile/align.h"
#include "tile/fit.h"

namespace tilescope::construct {
namespace {

using tile::AxisMapping;
using tile::StageProgram;
using tile::TileSpace;

class Aligned {
 public:
  Aligned(const SearchSpace& space, std::size_t collapse)
      : search_(space),
        collapse_(collapse),
        space_(space.space(collapse)),
        chip_(space.chip()),
        limits_(growth_limits(chip_)) {}

  // Elements strided over threads; reduced axes at the first step.
  std::vector<StageProgram> tiles() {
    for (const double epsilon : kEpsilons) {
      by_axis_.assign(space_->spatial, {});
      for (std::size_t a = 0; a < space_->spatial; ++a) by_axis_[a] = mappings_of_axis(a, epsilon);
      Mapping mapping(space_->spatial, {});
      map_axis(mapping, 0, 1);
      if (!tiles_.empty()) break;
    }
    return std::move(tiles_);
  }

 private:
  const std::vector<std::int64_t>& options(KnobKind kind, std::size_t axis) const {
    const std::vector<Knob>& knobs = search_.knobs(collapse_);
    return std::find_if(knobs.begin(), knobs.end(), [&](const Knob& g) { return g.kind == kind && g.of == axis; })
        ->options;
  }

  // What obeys rules 2 and 4.
  std::vector<AxisMapping> mappings_of_axis(std::size_t axis, double epsilon) const {
    std::vector<AxisMapping> out;
    for (const std::int64_t threads : options(KnobKind::kThreads, axis))
      for (const std::int64_t kept : options(KnobKind::kVthread, axis)) {
        const std::int64_t extent = threads * kept;
        if (tile::wasted_ratio(space_->axes[axis].extent, extent) <= epsilon &&
            tile::fills_transactions(*space_, axis, extent, limits_.transaction))
          out.push_back({kept, threads, 1});
      }
    return out;
  }

  void map_axis(Mapping& mapping, std::size_t axis, std::int64_t threads) {
    if (axis == space_->spatial) return add(mapping, threads);
    for (const AxisMapping& m : by_axis_[axis]) {
      if (threads * m.threads > limits_.max_threads) continue;
      mapping[axis] = m;
      map_axis(mapping, axis + 1, threads * m.threads);
    }
  }

  void add(const Mapping& mapping, std::int64_t threads) {
    std::int64_t results = 1;
    bool everything = true;
    for (std::size_t a = 0; a < space_->spatial; ++a) {
      results *= mapping[a].thread_extent();
      everything = everything && mapping[a].block_extent() >= space_->axes[a].extent;
    }
    if (results > search_.limits().thread_results || !(everything || tile::fills_units(threads, limits_.warp))) return;
    tiles_.push_back(tile::make_stage_program(space_, mapping, first_step(*space_, limits_), limits_.max_access));
  }

  const SearchSpace& search_;
  std::size_t collapse_;
  const std::shared_ptr<const TileSpace>& space_;
  const arch::ArchSpec& chip_;
  GrowthLimits limits_;
  std::vector<std::vector<AxisMapping>> by_axis_;
  std::vector<StageProgram> tiles_;
};

// The tile in no layout but its own, but for the reduction step; rows placed as they are best.
bool is_plain(const StageProgram& p, const StageProgram& tile, const arch::ArchSpec& chip) {
  if (!(p.mapping == tile.mapping) || p.num_stages != tile.num_stages || !(p.split == tile.split)) return false;
  if (p.block_order != tile.block_order || p.group_m != tile.group_m || p.cluster != tile.cluster ||
      p.tile_loop != tile.tile_loop)
    return false;
  for (std::size_t i = 0; i < p.operands.size(); ++i)
    if (p.operands[i].cached != tile.operands[i].cached) return false;
  StageProgram placed = p;
  apply_layout(placed, {chip});
  return p.operands == placed.operands;
}

}  // namespace

AlignedPrograms aligned_programs(const SearchSpace& space, std::size_t most) {
  std::vector<StageProgram> every, plain;
  for (std::size_t collapse = 0; collapse < space.constructed_collapses(); ++collapse)
    for (const StageProgram& tile : Aligned(space, collapse).tiles())
      for (StageProgram& p : layouts_of(tile, {space.chip()})) {
        if (!tile::fits(p, space.chip())) continue;
        p = model::with_max_registers(std::move(p), space.machine());
        if (!tile::holds_registers(p, space.chip())) continue;
        if (is_plain(p, tile, space.chip())) plain.push_back(p);
        if (every.size() <= most) every.push_back(std::move(p));
      }
  const bool every_layout = every.size() <= most;
  AlignedPrograms out{std::move(every_layout ? every : plain), 0, every_layout};
  out.count = out.programs.size();
  if (out.count > most) out.programs.clear();
  return out;
}

}  // namespace tilescope::construct
