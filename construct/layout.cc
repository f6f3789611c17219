// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/layout.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <variant>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/tiles.h"
#include "construct/microkernel/detail/knobs.h"
#include "construct/transfer/detail/knobs.h"
#include "tile/shared_reduction.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;

// Bank passes that one block needs for one operand over one reduction step, copies and uses, what they would be without
// conflicts, and the instructions that ask for them.
struct Passes {
  double needed = 0, least = 0, instructions = 0;

  // Cycles of the scratchpad's port, and of one partition's share of the schedulers.
  double cycles(const arch::ArchSpec& a) const {
    return needed + instructions / static_cast<double>(a.core.partitions);
  }
};

// `use` is that of the operand where the rules know a memory.
Passes passes_of(const StageProgram& p, std::size_t i, const LayoutRules& rules, std::size_t use) {
  const auto [write, read] = rules.known != nullptr ? rules.known->costs().of(use, p, i)
                                                    : model::cached_cost(p, i, model::make_geometry(rules.arch));
  return {write.accesses * static_cast<double>(write.use.passes) + read.accesses * static_cast<double>(read.use.passes),
          write.accesses * static_cast<double>(write.use.groups) + read.accesses * static_cast<double>(read.use.groups),
          write.instructions + read.instructions};
}

// The plan of a cached operand with the padding, rotation and vector that cost least, the first of equal ones.
tile::OperandPlan best_rows(StageProgram p, std::size_t i, const LayoutRules& rules, std::size_t use) {
  const base::Bytes max_access = arch::widest_access_of(rules.arch);
  const RowPlacements placements =
      std::visit([&](const auto& kernel) { return row_placements(kernel, p, i, rules.arch); }, p.micro_kernel);
  const bool by_rows = std::visit([](const auto& kernel) { return reads_by_rows(kernel); }, p.micro_kernel);
  double fewest = 0, instructions = 0;
  std::int64_t widest_vector = 1;
  tile::OperandPlan best;
  for (const RowPlacement& at : placements) {
    p.operands[i].padding = at.padding;
    p.operands[i].rotate = at.rotation;
    p.operands[i].vector = tile::default_vector(p, i, max_access);
    const Passes passes = passes_of(p, i, rules, use);
    if (!best.cached || passes.cycles(rules.arch) < fewest) {
      fewest = passes.cycles(rules.arch);
      best = p.operands[i];
    }
    // Nothing is better than no conflict in accesses as wide as those of rows as they are.
    if (&at == placements.data()) widest_vector = p.operands[i].vector, instructions = passes.instructions;
    const bool as_wide = p.operands[i].vector == widest_vector && (!by_rows || passes.instructions <= instructions);
    if (!rules.pads || (passes.needed <= passes.least && as_wide)) break;
  }
  return best;
}

void choose_padding(StageProgram& p, std::size_t i, const LayoutRules& rules) {
  if (rules.known == nullptr) {
    p.operands[i] = best_rows(p, i, rules, 0);
    return;
  }
  const std::size_t use = rules.known->costs().use_of(p, i);
  tile::OperandPlan placed = rules.known->placed(use, rules.pads);
  if (!placed.cached) rules.known->placed(use, rules.pads) = placed = best_rows(p, i, rules, use);
  p.operands[i] = placed;
}

// Register tiles as far as a step has their iterations; false where a matrix instruction's fragments would be cut.
bool fit_reduction_tiles(StageProgram& q, const StageProgram& p) {
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a)
    q.thread[a] =
        std::gcd(p.thread[a], p.reduction_threads[a] > 1 ? q.block[a] / q.reduction_threads[a] : q.iterations_along(a));
  return std::visit([&](const auto& kernel) { return whole_fragments(kernel, q); }, p.micro_kernel);
}

bool stages_anything(const StageProgram& p) {
  return std::any_of(p.operands.begin(), p.operands.end() - 1, [](const tile::OperandPlan& o) { return o.cached; });
}

}  // namespace

bool add_remade(const StageProgram& p, const Mapping& mapping, const Extents& step, const LayoutRules& rules,
                std::vector<StageProgram>& out) {
  StageProgram& q = out.emplace_back();
  q = tile::make_stage_program(p.space, mapping, step, arch::widest_access_of(rules.arch));
  q.thread_order = p.thread_order;
  q.reduction_order = p.reduction_order;
  q.split = p.split;
  q.num_stages = p.num_stages;
  q.reduction_threads = p.reduction_threads;
  q.block_order = p.block_order;
  q.group_m = p.group_m;
  q.cluster = p.cluster;
  q.tile_loop = p.tile_loop;
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    q.operands[i].cached = p.operands[i].cached;
    q.operands[i].box = p.operands[i].box;
  }
  q.micro_kernel = p.micro_kernel;
  if (!fit_reduction_tiles(q, p) || !tile::sharing_refusal(q, rules.arch).empty()) {
    out.pop_back();
    return false;
  }
  apply_layout(q, rules);
  // Of steps that threads copy fewer may be under way than of those that an engine brings.
  if (stages_anything(q)) q.num_stages = std::min(q.num_stages, max_stages(q, rules.arch));
  return true;
}

namespace {

// Threads that own elements one stride apart, or so many neighbours.
void other_neighbours(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (!tile::chooses_threads(p.micro_kernel)) return;
  const std::int64_t widest = elements_in(arch::widest_access_of(rules.arch), base::size_of(p.space->expression.dtype));
  for (std::size_t a = 0; a < p.space->spatial; ++a) {
    if (!is_innermost(*p.space, a)) continue;
    const std::int64_t kept = p.mapping[a].thread_extent();
    for (std::int64_t per_thread = 1; per_thread <= std::min(widest, kept) && kept % per_thread == 0; per_thread *= 2) {
      if (per_thread == p.mapping[a].per_thread) continue;
      Mapping m = p.mapping;
      m[a].per_thread = per_thread;
      m[a].vthread = kept / per_thread;
      add_remade(p, m, p.block, rules, out);
    }
  }
}

// Half, once, twice and four times the step along the longest reduced axis, with every number of steps under way: with
// asynchronous copies several, else the next one in registers. Together they share the scratchpad, so that one
// is no choice without the other.
void other_steps(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
  if (!longest) return;
  const std::int64_t length = p.space->axes[*longest].extent, part = base::ceil_div(length, p.split[*longest]);
  const std::int64_t step = p.block[*longest];
  const auto times = [&](std::int64_t n) { return step * n <= part ? step * n : part == length ? length : step; };
  const std::int64_t stages = stages_anything(p) ? max_stages(p, rules.arch) : 1;
  std::int64_t last = 0;
  for (const std::int64_t other : {step / 2, step, times(2), times(4)}) {
    if (other <= last) continue;
    last = other;
    Extents e = p.block;
    e[*longest] = other;
    if (!add_remade(p, p.mapping, e, rules, out)) continue;
    const StageProgram remade = std::move(out.back());
    out.pop_back();
    for (std::int64_t n = 1; n <= (remade.steps() > 1 ? stages : 1); ++n)
      if (other != step || n != p.num_stages) out.emplace_back(remade).num_stages = n;
  }
}

// Rows as they are: what a placement saves in passes may cost more in scratchpad bytes.
void other_rows(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (!chooses_rows(p)) return;
  apply_layout(out.emplace_back(p), {rules.arch, false, rules.known, rules.direct_stores});
  if (out.back().operands == p.operands) out.pop_back();
}

}  // namespace

void other_staging(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  const std::size_t inputs = p.space->values;
  const auto add = [&](auto&& cached) {
    bool same = true;
    for (std::size_t i = 0; i < inputs; ++i) same = same && cached(i) == p.operands[i].cached;
    if (same) return;
    StageProgram& q = out.emplace_back(p);
    for (std::size_t i = 0; i < inputs; ++i) q.operands[i] = {.cached = cached(i)};
    if (!stages_anything(q)) q.num_stages = 1;
    apply_layout(q, rules);
  };
  if (p.space->axes.size() == p.space->spatial || !tile::chooses_threads(p.micro_kernel)) return;
  add([](std::size_t) { return true; });
  add([](std::size_t) { return false; });
  if (inputs > 1)
    for (std::size_t direct = 0; direct < inputs; ++direct) add([&](std::size_t i) { return i != direct; });
}

std::optional<StageProgram> with_deepest_pipeline(const StageProgram& p, const LayoutRules& rules) {
  if (!stages_anything(p) || p.steps() == 1) return std::nullopt;
  StageProgram q = p;
  q.num_stages = max_stages(p, rules.arch);
  if (q.num_stages == p.num_stages) return std::nullopt;
  apply_layout(q, rules);
  return q;
}

void other_block_orders(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (!has_block_orders(p)) return;
  for (const tile::BlockOrder block_order : {tile::BlockOrder::kRow, tile::BlockOrder::kColumn}) {
    StageProgram q = p;
    q.block_order = block_order;
    q.group_m = 1;
    keep_clusters_that_fit(q, rules.arch);
    if (block_order != p.block_order) out.push_back(q);
    if (!groups_fit(q, rules.arch.core.count)) continue;
    q.group_m = square_group(rules.arch.core.count);
    keep_clusters_that_fit(q, rules.arch);
    out.push_back(std::move(q));
  }
}

// Parts of the reduction, until blocks are a few times as many as cores.
void other_splits(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  constexpr std::int64_t kMaxBlocksPerCore = 8;
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(*p.space);
  if (!longest) return;
  const std::int64_t blocks = p.blocks() / p.split[*longest];
  for (std::int64_t parts = 1; parts <= kMaxParts; parts *= 2) {
    if (parts > 1 && blocks * parts > kMaxBlocksPerCore * rules.arch.core.count) return;
    if (parts == p.split[*longest]) continue;
    if (std::optional<StageProgram> q = split_into(p, parts, rules)) out.push_back(std::move(*q));
  }
}

void apply_layout(StageProgram& p, const LayoutRules& rules) {
  const bool by_engine = !chooses_rows(p);
  copy_by_threads(p);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
    if (!p.operands[i].cached) p.operands[i].vector = tile::default_vector(p, i, arch::widest_access_of(rules.arch));
  place_results(p, rules);
  if (by_engine)
    if (std::optional<StageProgram> brought = copied_by_engine(p, rules.arch)) {
      p = std::move(*brought);
      return keep_clusters_that_fit(p, rules.arch);
    }
  p.cluster = {};
  p.tile_loop = {};
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
    if (p.operands[i].cached) choose_padding(p, i, rules);
}

std::span<const LayoutKnob, kLayoutKnobs> layout_knobs() {
  // Steps before staging: what is cached one step at a time may lose to direct reads, with the next step under way not.
  static constexpr std::array<LayoutKnob, kLayoutKnobs> kKnobs = {
      other_neighbours, other_transfers,    other_steps,    other_staging,    other_splits,
      other_stores,     other_block_orders, other_clusters, other_tile_loops, other_rows};
  return kKnobs;
}

std::vector<StageProgram> layouts_of(const StageProgram& p, const LayoutRules& rules) {
  // Staging before steps: what stages nothing has no steps under way to choose from, and would come up once for each.
  // Clusters and persistent blocks are left to the search, which has fewer programs to try them with.
  constexpr std::array<LayoutKnob, kLayoutKnobs - 2> kOrder = {other_neighbours,   other_transfers, other_staging,
                                                               other_steps,        other_splits,    other_stores,
                                                               other_block_orders, other_rows};
  std::vector<StageProgram> out = {p}, others;
  apply_layout(out.front(), rules);
  for (const LayoutKnob knob : kOrder) {
    others.clear();
    for (const StageProgram& q : out) knob(q, rules, others);
    out.insert(out.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  }
  return out;
}

bool has_block_orders(const StageProgram& p) {
  int long_axes = 0;
  for (std::size_t a = 0; a < p.space->spatial; ++a) long_axes += p.block[a] < p.space->axes[a].extent ? 1 : 0;
  return long_axes >= 2;
}

std::int64_t square_group(std::int64_t cores) {
  std::int64_t group_m = 1;
  while (group_m * group_m < cores) group_m *= 2;
  return group_m;
}

bool groups_fit(const StageProgram& p, std::int64_t cores) {
  const std::optional<std::size_t> grouped = p.grouped_axis();
  const std::int64_t group_m = square_group(cores);
  return grouped && group_m > 1 && p.blocks() >= 2 * cores && p.blocks_along(*grouped) % group_m == 0;
}

std::optional<StageProgram> split_into(const StageProgram& p, std::int64_t parts, const LayoutRules& rules) {
  const std::size_t longest = tile::longest_reduced_axis(*p.space).value();
  if (parts < 1 || parts > kMaxParts ||
      parts * p.block[longest] > std::max(p.block[longest], p.space->axes[longest].extent))
    return std::nullopt;
  StageProgram q = p;
  q.split[longest] = parts;
  if (!fit_reduction_tiles(q, p)) return std::nullopt;
  apply_layout(q, rules);
  return q;
}

}  // namespace tilescope::construct
