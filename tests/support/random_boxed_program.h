#pragma once
// Random products and random legal programs of them whose staged factors are brought in boxes, drawn with rapidcheck
// (call inside a property).

#include "tests/support/random_program.h"
#include "tile/boxes.h"
#include "tile/core_matrices.h"

namespace tilescope::tests {

// Rows of tensors are multiples of 16 B, as boxes ask for; else any size, so that boxes go beyond the ends.
inline tile::RProgram any_boxed_program(const arch::ArchSpec& chip) {
  static const std::vector<const char*> kForms = {"C[m,n] +=! A[m,k] * B[k,n]",       "C[m,n] +=! A[m,k] * B[n,k]",
                                                  "C[m,n] +=! A[k,m] * B[k,n]",       "C[m,n] +=! A[k,m] * B[n,k]",
                                                  "C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "C[b,m,n] +=! A[b,m,k] * B[n,k]"};
  std::vector<const arch::ComputeSpec*> instructions;
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.factors) instructions.push_back(&c);
  const arch::ComputeSpec& instruction = *any_element(instructions);
  const char* form = any_element(kForms);
  const std::int64_t unit = 16 / base::size_of(instruction.dtype).n;
  const auto size = [&](std::int64_t most) { return unit * any_of_range(1, most / unit); };
  const std::int64_t depth = instruction.k + size(160);
  std::string sizes = fmt::format("m={},n={},k={}", size(160), size(96), depth);
  if (form[2] == 'b') sizes += fmt::format(",b={}", any_of_range(1, 3));
  const expr::Expression e = expression(form, sizes, {}, instruction.dtype);
  const auto space = tile::make_space(e, tile::no_fusion(e.stages.front()));
  tile::MatrixUnit u = tile::unit_of(instruction, chip);
  u.rows = space->spatial - 2;
  u.columns = space->spatial - 1;
  u.depth = space->spatial;
  if (!tile::reads_core_matrices(*space, u)) RC_DISCARD("rows that the instruction does not read");

  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a + 2 < space->spatial; ++a) mapping.push_back({1, 1, any_of_range(1, 2)});
  mapping.push_back({any_of_range(1, 2), any_of_range(1, 2), u.m});
  mapping.push_back({any_of_range(1, 2), any_of_range(1, 2), u.n * any_element<std::int64_t>({1, 2, 4, 8, 3})});
  tile::Extents step(space->axes.size(), 1);
  step[u.depth] = u.k * any_of_range(1, std::min<std::int64_t>(8, depth / u.k));
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  if (depth % (2 * p.block[u.depth]) == 0 && any_of_range(0, 1) == 0) p.split[u.depth] = 2;
  if (any_of_range(0, 1) == 0) std::reverse(p.thread_order.begin(), p.thread_order.end());
  p = tile::with_matrix_unit(std::move(p), u, {16});
  p.unroll = any_of_range(0, 64);
  p.pipeline = any_of_range(1, 5);
  p.raster = any_element<tile::Raster>({tile::Raster::kRow, tile::Raster::kColumn});
  std::optional<tile::StageProgram> boxed = tile::with_boxes(std::move(p), chip);
  if (!boxed) RC_DISCARD("no boxes");
  return {chip.name, {std::move(*boxed)}, {}};
}

}  // namespace tilescope::tests
