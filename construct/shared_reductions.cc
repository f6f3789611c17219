// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/shared_reductions.h"

#include <algorithm>

#include "base/integer.h"
#include "construct/detail/layout.h"
#include "tile/shared_reduction.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using tile::TileSpace;

constexpr std::int64_t kMaxRows = 4;  // of results that one thread keeps

// Whether an input that no result shares with another lies in rows along the axis.
bool rows_run_along(const TileSpace& space, std::size_t axis) {
  return std::any_of(space.inputs.begin(), space.inputs.end(), [&](const tile::Operand& o) {
    for (std::size_t a = 0; a < space.spatial; ++a)
      if (!o.uses(static_cast<int>(a)) && space.axes[a].extent > 1) return false;
    if (o.dims.empty() || o.dims.back().whole || o.dims.back().terms.size() != 1) return false;
    return static_cast<std::size_t>(o.dims.back().terms[0].axis) == axis;
  });
}

// The axis that threads share: the longest reduced one, unless only another has rows along it, of one element for each
// thread of the largest block at least.
std::optional<std::size_t> shared_axis(const TileSpace& space, std::int64_t max_threads) {
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(space);
  if (!longest || rows_run_along(space, *longest)) return longest;
  std::optional<std::size_t> along_rows;
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a)
    if (rows_run_along(space, a) && (!along_rows || space.axes[a].extent > space.axes[*along_rows].extent))
      along_rows = a;
  return along_rows && space.axes[*along_rows].extent >= max_threads ? along_rows : longest;
}

bool any_reuse(const TileSpace& space, std::size_t axis) {
  return std::any_of(space.inputs.begin(), space.inputs.end(),
                     [&](const tile::Operand& o) { return !o.uses(static_cast<int>(axis)); });
}

// So many results side by side for each thread, and so many threads, from the innermost axis outwards.
Mapping mapping_of(const TileSpace& space, std::int64_t rows, std::int64_t threads) {
  Mapping mapping(space.spatial, tile::AxisMapping{});
  for (std::size_t a = space.spatial; a-- > 0;) {
    tile::AxisMapping& m = mapping[a];
    if (a + 1 == space.spatial) m.per_thread = rows;
    while (threads > 1 && m.threads * m.per_thread < space.axes[a].extent) {
      m.threads *= 2;
      threads /= 2;
    }
  }
  return mapping;
}

}  // namespace

std::vector<StageProgram> sharing_programs(const std::shared_ptr<const TileSpace>& space, const GrowthLimits& limits,
                                           const arch::ArchSpec& a) {
  std::vector<StageProgram> out;
  const std::optional<std::size_t> axis = shared_axis(*space, limits.max_threads);
  if (!axis) return out;
  const std::int64_t length = space->axes[*axis].extent;
  const bool idle = space->output.elements < a.core.count * a.core.max_threads;
  if (length < 4 || (!idle && !rows_run_along(*space, *axis))) return out;
  const std::int64_t widest = elements_in(limits.max_access, base::size_of(space->expression.dtype));
  const std::int64_t most_rows = any_reuse(*space, space->spatial - 1) ? kMaxRows : 1;
  const auto add = [&](std::int64_t threads, std::int64_t sharers, std::int64_t each, std::int64_t rows) {
    const auto mapping = mapping_of(*space, rows, threads / sharers);
    Extents step(space->axes.size(), 1);
    for (std::size_t r = space->spatial; r < step.size(); ++r) step[r] = space->axes[r].extent;
    std::int64_t blocks = 1;
    for (std::size_t s = 0; s < space->spatial; ++s)
      blocks *= base::ceil_div(space->axes[s].extent, mapping[s].block_extent());
    for (std::int64_t parts = 1; parts <= kMaxParts; parts *= 2) {
      if (parts > 1 && (parts / 2 * blocks >= a.core.count || sharers * each * parts > length)) break;
      step[*axis] = base::round_up(base::ceil_div(length, parts), sharers * each);
      StageProgram p = tile::make_stage_program(space, mapping, step, limits.max_access);
      p.reduction_threads[*axis] = sharers;
      p.thread[*axis] = each;
      p.split[*axis] = parts;
      for (std::size_t i = 0; i < p.operands.size(); ++i) {
        p.operands[i] = {};
        p.operands[i].vector = tile::default_vector(p, i, limits.max_access);
      }
      if (tile::sharing_refusal(p, a).empty()) out.push_back(std::move(p));
    }
  };
  for (std::int64_t threads = limits.warp; threads <= limits.max_threads; threads *= threads == limits.warp ? 4 : 2)
    for (std::int64_t sharers = 2; sharers <= threads && sharers <= base::ceil_div(length, 2); sharers *= 2)
      for (std::int64_t each = widest;; each = 1) {
        for (std::int64_t rows = 1; rows <= most_rows && sharers * each < 2 * length; rows *= 2)
          add(threads, sharers, each, rows);
        if (each == 1) break;
      }
  return out;
}

}  // namespace tilescope::construct
