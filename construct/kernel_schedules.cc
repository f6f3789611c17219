// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/kernel_schedules.h"

#include <algorithm>
#include <variant>

#include "base/integer.h"
#include "construct/microkernel/detail/knobs.h"
#include "construct/transfer/detail/knobs.h"
#include "tile/shared_reduction.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

using tile::AxisMapping;
using tile::Extents;
using tile::StageProgram;

constexpr double kWaste = 0.125;                // of an axis, by a tile that is longer than asked
constexpr std::int64_t kSteps[] = {8, 16, 32};  // of a product's reduction, iterations
constexpr std::int64_t kMaxFragments = 4;       // of a matrix instruction along its depth, in a step
constexpr std::int64_t kStages[] = {1, 2, 4};   // of such a step

// The most threads, a power of two up to `most`, by which so many parts are cut almost evenly.
std::int64_t threads_for(std::int64_t parts, std::int64_t most) {
  std::int64_t best = 1;
  for (std::int64_t t = 2; t <= most && t < 2 * parts; t *= 2)
    if (static_cast<double>(base::round_up(parts, t)) <= static_cast<double>(parts) * (1 + kWaste)) best = t;
  return best;
}

class Schedules {
 public:
  Schedules(const StageRequest& request, const GrowthLimits& limits, const LayoutRules& rules)
      : request_(request), space_(*request.space), limits_(limits), rules_(rules) {}

  std::vector<StageProgram> all() {
    const std::int64_t widest = elements_in(limits_.max_access, base::size_of(space_.expression.dtype));
    if (space_.axes.size() == space_.spatial) {
      for (std::int64_t each = 1; each <= widest; each *= 4) add(outwards(request_.threads, each), 1, 1, {});
      return std::move(out_);
    }
    for (const tile::MicroKernel& kernel : request_.matrix) add_fragments(kernel);
    if (!out_.empty()) return std::move(out_);  // threads' multiply-adds are never faster
    const std::int64_t length = request_.carried ? request_.step : space_.axes[*shared_axis()].extent;
    for (std::int64_t sharers = 1; sharers <= request_.threads && sharers < 2 * length; sharers *= 2)
      for (std::int64_t each = 1; each <= std::min(widest, length); each *= 4)
        add(outwards(request_.threads / sharers, 1), sharers, each, {});
    if (reuses()) add_products();
    return std::move(out_);
  }

 private:
  // The reduced axis that threads share and steps cut.
  std::optional<std::size_t> shared_axis() const {
    return request_.carried ? request_.carried : tile::longest_reduced_axis(space_);
  }

  bool is_kept(std::size_t input) const { return input < request_.kept.size() && request_.kept[input]; }

  bool reuses() const {
    for (const tile::Operand& o : space_.inputs)
      for (std::size_t a = 0; a < space_.spatial; ++a)
        if (!o.uses(static_cast<int>(a)) && request_.tile[a] > 1) return true;
    return false;
  }

  // Threads from the innermost axis outwards, of which each takes `each` neighbours; what is left of an axis is
  // strided.
  Mapping outwards(std::int64_t threads, std::int64_t each) const {
    Mapping mapping(space_.spatial, AxisMapping{});
    for (std::size_t a = space_.spatial; a-- > 0;) {
      const std::int64_t unit = a + 1 == space_.spatial && request_.tile[a] % each == 0 ? each : 1;
      mapping[a] = along(a, threads, unit);
      threads /= mapping[a].threads;
    }
    return mapping;
  }

  AxisMapping along(std::size_t axis, std::int64_t most, std::int64_t unit) const {
    const std::int64_t parts = base::ceil_div(request_.tile[axis], unit);
    const std::int64_t threads = threads_for(parts, most);
    return {base::ceil_div(parts, threads), threads, unit};
  }

  // Two axes with the threads split between them, the others from the innermost on with what is left.
  void add_products() {
    std::vector<std::size_t> axes;
    for (std::size_t a = space_.spatial; a-- > 0;)
      if (request_.tile[a] > 1) axes.push_back(a);
    if (axes.empty()) return;
    const std::size_t inner = axes.front();
    for (std::int64_t fast = 1; fast <= request_.threads && fast < 2 * request_.tile[inner]; fast *= 2) {
      Mapping mapping(space_.spatial, AxisMapping{});
      mapping[inner] = along(inner, fast, 1);
      if (mapping[inner].threads != fast) continue;
      std::int64_t left = request_.threads / fast;
      for (std::size_t i = 1; i < axes.size(); ++i) {
        mapping[axes[i]] = along(axes[i], left, 1);
        left /= mapping[axes[i]].threads;
      }
      if (left > 1) continue;
      if (request_.carried)
        add(mapping, 1, 1, request_.step);
      else
        for (const std::int64_t step : kSteps) add(mapping, 1, 1, step);
    }
  }

  // Warps split between rows and columns, each with whole fragments of its part of the tile.
  void add_fragments(const tile::MicroKernel& kernel) {
    const tile::MatrixUnit& u = *tile::unit_of(kernel);
    const std::int64_t warps = request_.threads / u.lanes;
    const auto along = [&](std::size_t axis, std::int64_t of, std::int64_t unit) -> AxisMapping {
      return {1, of, base::round_up(base::ceil_div(request_.tile[axis], of), unit)};
    };
    const auto wastes = [&](std::size_t axis, const AxisMapping& m) {
      return static_cast<double>(m.block_extent()) > static_cast<double>(request_.tile[axis]) * (1 + kWaste);
    };
    for (std::int64_t down = request_.whole_rows ? std::max<std::int64_t>(1, warps) : 1; down <= warps; down *= 2) {
      Mapping mapping(space_.spatial, AxisMapping{});
      for (std::size_t a = 0; a < space_.spatial; ++a) mapping[a].per_thread = request_.tile[a];
      mapping[u.rows] = along(u.rows, down, u.m);
      mapping[u.columns] = along(u.columns, warps / down, u.n);
      // Each group of warps has one fragment of rows: of more there are fewer groups, whose products hide what others
      // do with their rows. The model does not see that.
      if (request_.whole_rows && u.lanes > limits_.warp && mapping[u.rows].per_thread > u.m) continue;
      if (wastes(u.rows, mapping[u.rows]) || wastes(u.columns, mapping[u.columns])) continue;
      if (request_.carried) {
        if (*request_.carried == u.depth && request_.step % u.k == 0)
          add_matrix(mapping, kernel, u.depth, request_.step, 1);
        continue;
      }
      if (request_.loop_stages > 1) {
        add_matrix(mapping, kernel, u.depth, space_.axes[u.depth].extent, 1);
        continue;
      }
      for (std::int64_t fragments = 1; fragments <= kMaxFragments; fragments *= 2)
        for (const std::int64_t stages : kStages) add_matrix(mapping, kernel, u.depth, u.k * fragments, stages);
    }
  }

  void add_matrix(const Mapping& mapping, const tile::MicroKernel& kernel, std::size_t depth, std::int64_t step,
                  std::int64_t stages) {
    const std::int64_t extent = space_.axes[depth].extent;
    const bool any_kept = std::find(request_.kept.begin(), request_.kept.end(), true) != request_.kept.end();
    const bool all_kept = std::find(request_.kept.begin(), request_.kept.end(), false) == request_.kept.end();
    if (step > extent || step % tile::unit_of(kernel)->k != 0 || (any_kept && extent % step != 0) ||
        (all_kept && stages > 1))
      return;
    Extents block(space_.axes.size(), 1);
    block[depth] = step;
    StageProgram p = tile::make_stage_program(request_.space, mapping, block, limits_.max_access);
    p = tile::with_micro_kernel(std::move(p), kernel, limits_.max_access);
    for (std::size_t i = 0; i < space_.values; ++i) p.operands[i].cached = !is_kept(i);
    p.num_stages = stages;
    p.loop_stages = request_.loop_stages;
    apply_layout(p, {rules_.arch, rules_.pads, rules_.known, true});
    if (request_.loop_stages > 1)
      if (std::optional<StageProgram> brought = copied_by_engine(p, rules_.arch)) p = *std::move(brought);
    for (std::size_t i = 0; i < space_.values; ++i)
      p.operands[i].once = request_.loop_stages > 1 && request_.stepped && p.operands[i].cached &&
                           !space_.inputs[i].uses(static_cast<int>(*request_.stepped));
    out_.push_back(std::move(p));
  }

  // `step` of the longest reduced axis with its operands in the scratchpad, or the whole axis and operands as they are.
  void add(const Mapping& mapping, std::int64_t sharers, std::int64_t each, std::optional<std::int64_t> step) {
    Extents block(space_.axes.size(), 1);
    for (std::size_t a = space_.spatial; a < block.size(); ++a) block[a] = space_.axes[a].extent;
    const std::optional<std::size_t> longest = shared_axis();
    if (request_.carried) {
      if (request_.step % (sharers * each) != 0) return;
      block[*request_.carried] = request_.step;
    } else if (longest) {
      block[*longest] = base::round_up(step ? std::min(*step, block[*longest]) : block[*longest], sharers * each);
    }
    StageProgram p = tile::make_stage_program(request_.space, mapping, block, limits_.max_access);
    if (longest) {
      p.reduction_threads[*longest] = sharers;
      p.thread[*longest] = each;
      if (sharers == 1 && p.iterations_along(*longest) % each != 0) return;
    }
    for (std::size_t i = 0; i < p.operands.size(); ++i) {
      p.operands[i] = {.cached = step && i < space_.values && !is_kept(i)};
      p.operands[i].vector = tile::default_vector(p, i, limits_.max_access);
    }
    if (step) apply_layout(p, {rules_.arch, rules_.pads, rules_.known, true});
    if (tile::sharing_refusal(p, rules_.arch).empty()) out_.push_back(std::move(p));
  }

  const StageRequest& request_;
  const tile::TileSpace& space_;
  const GrowthLimits& limits_;
  const LayoutRules& rules_;
  std::vector<StageProgram> out_;
};

}  // namespace

std::vector<StageProgram> kernel_schedules(const StageRequest& request, const GrowthLimits& limits,
                                           const LayoutRules& rules) {
  return Schedules(request, limits, rules).all();
}

}  // namespace tilescope::construct
