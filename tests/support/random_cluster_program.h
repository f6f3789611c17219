// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random products and random legal programs of them whose blocks run in clusters, drawn with rapidcheck (call inside a
// property).

#include <string>

#include <fmt/format.h>

#include "tests/support/random_matrix_program.h"
#include "tile/transfer/multicast.h"

namespace tilescope::tests {

// Blocks of 64 to 128 rows, of products some of whose last blocks lead beyond the tensors.
inline tile::RProgram any_cluster_program(const arch::ArchSpec& chip) {
  const std::string op = any_element<std::string>({"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[m,k] * B[n,k]",
                                                   "C[m,n] +=! A[k,m] * B[k,n]", "C[n,m] +=! A[k,m] * B[n,k]",
                                                   "C[b,m,n] +=! A[b,m,k] * B[b,k,n]"});
  const bool batch = op[2] == 'b';
  const std::int64_t blocks_m = any_of_range(1, 4), blocks_n = 2 * any_of_range(1, 2);
  const std::int64_t tile_n = 32 * any_of_range(1, 2), k = 64 * any_of_range(1, 4);
  // The last blocks may have a part of a tile.
  const std::int64_t m = 64 * blocks_m - 8 * any_of_range(0, 3), n = tile_n * blocks_n - 8 * any_of_range(0, 3);
  const expr::Expression e = expression(op, fmt::format("{}m={},n={},k={}", batch ? "b=2," : "", m, n, k), {},
                                        any_element<base::Dtype>({base::Dtype::kF16, base::Dtype::kBf16}));
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
  std::vector<tile::StageProgram> in_clusters;
  for (const std::size_t a : {along.rows, along.columns})
    for (const std::int64_t blocks : {2, 3, 4})
      if (auto q = tile::with_cluster(*boxes, {a, blocks}, chip)) in_clusters.push_back(std::move(*q));
  if (in_clusters.empty()) RC_DISCARD("no clusters");
  return tile::program_of(chip.name, any_stores(any_element(in_clusters), chip));
}

}  // namespace tilescope::tests
