// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random products and random legal programs of them whose blocks run in clusters, or are persistent, drawn with
// rapidcheck (call inside a property).

#include <string>

#include <fmt/format.h>

#include "tests/support/random_matrix_program.h"
#include "tile/tile_loop.h"
#include "tile/transfer/multicast.h"

namespace tilescope::tests {

// Blocks of 64 rows whose tiles TMA loads, of products some of whose last blocks lead beyond the tensors.
inline tile::StageProgram any_product_in_boxes(const arch::ArchSpec& chip, base::Dtype dtype) {
  const std::string op = any_element<std::string>({"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[m,k] * B[n,k]",
                                                   "C[m,n] +=! A[k,m] * B[k,n]", "C[n,m] +=! A[k,m] * B[n,k]",
                                                   "C[b,m,n] +=! A[b,m,k] * B[b,k,n]"});
  const bool batch = op[2] == 'b';
  const std::int64_t blocks_m = any_of_range(1, 4), blocks_n = 2 * any_of_range(1, 2);
  const std::int64_t tile_n = 32 * any_of_range(1, 2), k = 64 * any_of_range(1, 4);
  // The last blocks may have a part of a tile.
  const std::int64_t m = 64 * blocks_m - 8 * any_of_range(0, 3), n = tile_n * blocks_n - 8 * any_of_range(0, 3);
  const expr::Expression e = expression(op, fmt::format("{}m={},n={},k={}", batch ? "b=2," : "", m, n, k), {}, dtype);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  const auto axis = [&](std::string_view name) {
    std::size_t a = 0;
    while (space->axes[a].name != name) ++a;
    return a;
  };
  tile::MatrixUnit along;
  along.rows = axis("m");
  along.columns = axis("n");
  along.depth = axis("k");
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a)
    mapping.push_back({1, 1, a == along.rows ? 64 : a == along.columns ? tile_n : 1});
  tile::Extents step(space->axes.size(), 1);
  step[along.depth] = any_element<std::int64_t>({32, 64});
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  if (k % (2 * step[along.depth]) == 0) p.split[along.depth] = any_element<std::int64_t>({1, 1, 2});
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.operands && c.dtype == e.dtype && c.accumulate == e.accumulate)
      p = tile::with_micro_kernel(std::move(p), tile::micro_kernel_of(c, chip, along), {16});
  if (p.matrix() == nullptr || !tile::reads_operands_of(p.micro_kernel, *space)) RC_DISCARD("no core matrices");
  p.num_stages = any_of_range(2, 3);
  p.block_order = any_element<tile::BlockOrder>({tile::BlockOrder::kRow, tile::BlockOrder::kColumn});
  auto boxes = tile::with_tma_loads(std::move(p), chip);
  if (!boxes) RC_DISCARD("no boxes");
  if (const auto grouped = boxes->grouped_axis())
    if (boxes->blocks_along(*grouped) % 2 == 0) boxes->group_m = any_element<std::int64_t>({1, 2});
  return *std::move(boxes);
}

// The program in each of the clusters that its blocks can have.
inline std::vector<tile::StageProgram> in_clusters(const tile::StageProgram& p, const arch::ArchSpec& chip) {
  std::vector<tile::StageProgram> out;
  for (const std::size_t a : {p.matrix()->rows, p.matrix()->columns})
    for (const std::int64_t blocks : {2, 3, 4})
      if (auto q = tile::with_cluster(p, {a, blocks}, chip)) out.push_back(std::move(*q));
  return out;
}

inline tile::RProgram any_cluster_program(const arch::ArchSpec& chip) {
  const auto all =
      in_clusters(any_product_in_boxes(chip, any_element<base::Dtype>({base::Dtype::kF16, base::Dtype::kBf16})), chip);
  if (all.empty()) RC_DISCARD("no clusters");
  return tile::program_of(chip.name, any_stores(any_element(all), chip));
}

// Any number of persistent blocks up to one for each tile, of one or two crews, some in clusters.
inline tile::RProgram any_persistent_program(const arch::ArchSpec& chip) {
  tile::StageProgram p = any_product_in_boxes(
      chip, any_element<base::Dtype>({base::Dtype::kF16, base::Dtype::kBf16, base::Dtype::kF8E4M3}));
  p.split.assign(p.split.size(), 1);
  if (const auto all = in_clusters(p, chip); !all.empty() && any_of_range(0, 1) == 0) p = any_element(all);
  p.num_stages = any_of_range(1, 4);
  p = any_stores(std::move(p), chip);
  const std::int64_t blocks = any_of_range(1, p.blocks() / p.cluster.blocks) * p.cluster.blocks;
  auto looped = tile::with_tile_loop(std::move(p), {blocks, any_of_range(1, 2)}, chip);
  if (!looped) RC_DISCARD("more crews than tiles of a block");
  return tile::program_of(chip.name, *std::move(looped));
}

}  // namespace tilescope::tests
