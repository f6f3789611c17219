// SPDX-License-Identifier: Apache-2.0
#include "construct/transfer/detail/knobs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "construct/detail/tiles.h"
#include "model/simt/cached_costs.h"
#include "model/simt/transfer/results.h"
#include "tile/microkernel/wgmma.h"
#include "tile/staging.h"
#include "tile/tile_loop.h"
#include "tile/transfer/multicast.h"
#include "tile/transfer/tma.h"

namespace tilescope::construct {

using tile::StageProgram;

std::int64_t max_stages(const StageProgram& p, const arch::ArchSpec& chip) {
  // Far with TMA, which costs the computing warps nothing; less far with asynchronous copies, which cost issue slots.
  // Other copies hold one step ahead, in registers (docs/kernel.md), and can do no more.
  constexpr std::int64_t kOfTma = 8, kPastRegisters = 4, kOfRegisters = 2;
  if (p.by_tma()) return kOfTma;
  return chip.core.async_copy ? kPastRegisters : kOfRegisters;
}

void copy_by_threads(StageProgram& p) {
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) p.operands[i].box = 0;
}

std::optional<StageProgram> copied_by_engine(const StageProgram& p, const arch::ArchSpec& chip) {
  return tile::with_tma_loads(p, chip);
}

void choose_first_transfer(StageProgram& p, const arch::ArchSpec& chip) {
  if (!tile::in_core_matrices(p)) return;
  std::optional<StageProgram> brought = copied_by_engine(p, chip);
  if (!brought) return;
  p = std::move(*brought);
  constexpr std::int64_t kRing = 2;  // stages, at least
  if (p.steps() > 1) p.num_stages = std::max(p.num_stages, kRing);
}

std::optional<StageProgram> with_long_rows(const StageProgram& p, const LayoutRules& rules) {
  const std::optional<std::size_t> axis = tile::longest_reduced_axis(*p.space);
  if (!p.by_tma() || !axis) return std::nullopt;
  const std::int64_t row = elements_in(rules.arch.core.tma->row, p.space->inputs.front().element);
  tile::Extents step = p.block;
  while (step[*axis] < row && 2 * step[*axis] <= p.space->axes[*axis].extent) step[*axis] *= 2;
  std::vector<StageProgram> out;
  if (step == p.block || !add_remade(p, p.mapping, step, rules, out)) return std::nullopt;
  return std::move(out.front());
}

void other_transfers(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (p.by_tma()) {
    copy_by_threads(out.emplace_back(p));
    apply_layout(out.back(), rules);
  } else if (std::optional<StageProgram> brought = copied_by_engine(p, rules.arch)) {
    out.push_back(std::move(*brought));
  }
}

// Blocks of a cluster wait for each other's copies, which one more stage gives time to.
void other_clusters(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  constexpr std::array<std::int64_t, 2> kBlocks = {2, 4};
  if (!p.by_tma() || !rules.arch.core.tma->max_cluster) return;
  if (p.cluster.blocks > 1) {
    out.push_back(p);
    out.back().cluster = {};
  }
  for (std::size_t axis = 0; axis < p.space->spatial; ++axis)
    for (const std::int64_t blocks : kBlocks)
      if (const tile::BlockCluster cluster{axis, blocks}; cluster != p.cluster)
        if (std::optional<StageProgram> q = tile::with_cluster(p, cluster, rules.arch)) {
          out.push_back(*q);
          if (++q->num_stages <= max_stages(p, rules.arch)) out.push_back(std::move(*q));
        }
}

void keep_clusters_that_fit(StageProgram& p, const arch::ArchSpec& chip) {
  if (p.cluster.blocks > 1 && !tile::cluster_refusal(p, chip).empty()) p.cluster = {};
  if (!tile::tile_loop_refusal(p, chip).empty()) p.tile_loop = {};
}

namespace {

// Results have a place of their own next to the ring, which may cost it stages; false where too few are left.
bool fit_ring(StageProgram& p, const arch::ArchSpec& chip) {
  constexpr std::int64_t kRing = 2;  // stages, at least
  const std::int64_t most = arch::scratchpad_per_block(*arch::scratchpad_of(chip)).n;
  p.num_stages = std::max(p.num_stages, kRing);
  while (p.num_stages > kRing && tile::staging_of(p, chip.core).bytes.n > most) --p.num_stages;
  return tile::staging_of(p, chip.core).bytes.n <= most;
}

void add_persistent(const StageProgram& p, std::int64_t crews, const LayoutRules& rules,
                    std::vector<StageProgram>& out) {
  const tile::TileLoop loop{tile::persistent_blocks_on(p, rules.arch), crews};
  if (loop == p.tile_loop || loop.blocks == 0) return;
  std::optional<StageProgram> q = tile::with_tile_loop(p, loop, rules.arch);
  if (q && fit_ring(*q, rules.arch)) out.push_back(std::move(*q));
}

}  // namespace

// Each of two crews has half of the registers: the tile of all consumer warps is cut along its rows, where one crew's
// threads are as many.
void other_tile_loops(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (!p.by_tma() || p.matrix() == nullptr) return;
  if (p.is_persistent()) {
    out.push_back(p);
    out.back().tile_loop = {};
  }
  for (const std::int64_t crews : {1, 2}) add_persistent(p, crews, rules, out);
  const std::size_t rows = p.matrix()->rows;
  if (p.tile_loop.crews > 1 || p.mapping[rows].threads % 2 != 0) return;
  auto mapping = p.mapping;
  mapping[rows].threads /= 2;
  tile::Extents step = p.block;
  step[rows] /= 2;
  std::vector<StageProgram> halved;
  StageProgram q = p;
  q.tile_loop = {};
  if (add_remade(q, mapping, step, rules, halved)) add_persistent(halved.front(), 2, rules, out);
}

namespace {

// Elements by which rows of results are worth being longer: none, a bank, the widest access.
std::array<std::int64_t, 3> result_paddings(const StageProgram& p, const arch::ArchSpec& chip) {
  const base::Bytes element = tile::result_element(p);
  return {0, elements_in(arch::scratchpad_of(chip)->bank_width, element),
          elements_in(arch::widest_access_of(chip), element)};
}

double passes_of_results(const StageProgram& p, const arch::ArchSpec& chip) {
  const arch::ScratchpadLevel& banks = *arch::scratchpad_of(chip);
  const model::ResultGathering of =
      model::of_results(p, [&](const auto& entry) { return model::gathering(entry, p, chip.core); });
  double passes = 0;
  for (const model::ResultAccess* a : {&of.write, &of.read})
    if (a->per_warp > 0)
      passes += a->per_warp * static_cast<double>(model::bank_use(a->access, banks.banks, banks.bank_width.n).passes);
  return passes;
}

// Whole rows, of which those without padding come first, and of others those that take the fewest passes.
void store_best_rows(StageProgram& p, const LayoutRules& rules) {
  const base::Bytes widest = arch::widest_access_of(rules.arch);
  tile::store_rows(p, 0, widest);
  if (!rules.pads) return;
  tile::OperandPlan best = p.operands.back();
  double fewest = passes_of_results(p, rules.arch);
  for (const std::int64_t padding : result_paddings(p, rules.arch)) {
    tile::store_rows(p, padding, widest);
    if (const double passes = passes_of_results(p, rules.arch); passes < fewest) {
      fewest = passes;
      best = p.operands.back();
    }
  }
  p.operands.back() = best;
}

}  // namespace

void place_results(StageProgram& p, const LayoutRules& rules) {
  const tile::OperandPlan now = p.operands.back();
  if (!now.cached)
    tile::store_directly(p, arch::widest_access_of(rules.arch));
  else if (now.box == 0 || !tile::store_by_tma(p, p.space->output.element * now.box, rules.arch))
    store_best_rows(p, rules);
}

void other_stores(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (rules.direct_stores || arch::scratchpad_of(rules.arch) == nullptr) return;
  const tile::OperandPlan& now = p.operands.back();
  // In TMA boxes of every row that the engine can store: long ones are fewer, short ones fit more tiles.
  if (const auto& tma = rules.arch.core.tma)
    for (base::Bytes row = tma->row; row.n >= tma->granule.n; row.n /= 2)
      if (row.n / p.space->output.element.n != now.box && !tile::store_by_tma(out.emplace_back(p), row, rules.arch))
        out.pop_back();
  if (now.cached) tile::store_directly(out.emplace_back(p), arch::widest_access_of(rules.arch));
  if (!now.cached || now.box != 0) store_best_rows(out.emplace_back(p), rules);
}

bool chooses_rows(const StageProgram& p) { return !p.by_tma(); }

}  // namespace tilescope::construct
