// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random products of two factors with scales that many iterations share, and random legal programs of them by a chip's
// matrix instruction on the scratchpad, drawn with rapidcheck (call inside a property).

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "tests/support/random_matrix_program.h"

namespace tilescope::tests {

// `depth` iterations along k share a scale, and `columns` along n.
inline expr::Expression any_scaled_product(base::Dtype dtype, std::int64_t depth, std::int64_t columns) {
  const std::string k = fmt::format("k/{}", depth), n = fmt::format("n/{}", columns);
  const std::string rows = any_element<std::string>({fmt::format("S[m,{}]", k), fmt::format("S[{},m]", k),
                                                     fmt::format("S[{}]", k), fmt::format("S[m,{}] * U[m]", k)});
  const std::string sides =
      any_element<std::string>({"", fmt::format(" * T[{},{}]", n, k), fmt::format(" * T[n,{}]", k),
                                fmt::format(" * T[{}]", n), fmt::format(" * T[{},n]", k)});
  const std::string op = any_element<std::string>({fmt::format("C[m,n] +=! A[m,k] * {} * B[n,k]{}", rows, sides),
                                                   fmt::format("C[m,n] +=! A[m,k] * B[n,k] * {}{}", rows, sides)});
  // The last step along k may be cut, by a whole access of 16 bytes.
  const std::int64_t whole = 16 / base::size_of(dtype).n;
  const std::int64_t length = depth * any_of_range(1, 4) + whole * any_of_range(0, depth / whole - 1);
  const std::string sizes = fmt::format("m={},n={},k={}", any_of_range(1, 150), whole * any_of_range(1, 20), length);
  std::vector<expr::GivenDtype> given;
  for (const char* scale : {"S", "T", "U"})
    if (op.find(fmt::format("{}[", scale)) != std::string::npos) given.push_back({scale, base::Dtype::kF32, {}});
  return expression(op, sizes, {}, dtype, given);
}

inline tile::RProgram any_scaled_program(const arch::ArchSpec& chip) {
  std::vector<const arch::ComputeSpec*> instructions;
  for (const arch::ComputeSpec& c : chip.compute)
    if (tile::matrix_refusal(c).empty() && c.operands && c.accumulate == base::Dtype::kF32) instructions.push_back(&c);
  const arch::ComputeSpec& instruction = *any_element(instructions);
  const std::int64_t depth = instruction.k * any_element<std::int64_t>({1, 2, 4});
  const std::int64_t columns = instruction.n * any_element<std::int64_t>({1, 2, 4});
  const expr::Expression e = any_scaled_product(instruction.dtype, depth, columns);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  if (space->scale_depth != depth) RC_FAIL("scales that are not found");
  tile::MatrixUnit along;
  along.columns = 1;
  along.depth = 2;
  const tile::MicroKernel kernel = tile::micro_kernel_of(instruction, chip, along);
  const bool by_blocks = tile::scales_fit(*space, tile::Extents(3, columns * 2));
  const std::int64_t side = by_blocks ? instruction.n * any_of_range(1, 6) : columns;
  if (!tile::scales_fit(*space, {instruction.m, side, depth})) RC_FAIL("columns that do not share their scale");
  tile::StageProgram p = tile::make_stage_program(
      space, {{1, any_element<std::int64_t>({1, 2}), instruction.m}, {1, any_element<std::int64_t>({1, 2}), side}},
      {1, 1, depth}, {16});
  const std::int64_t parts = base::ceil_div(space->axes[2].extent, depth);
  if (parts % 2 == 0 && space->axes[2].extent % depth == 0 && any_of_range(0, 1) == 0) p.split[2] = 2;
  p = tile::with_micro_kernel(std::move(p), kernel, {16});
  p.unroll = any_of_range(0, 64);
  p.num_stages = any_of_range(1, 4);
  if (any_of_range(0, 1) == 0)
    if (std::optional<tile::StageProgram> boxes = tile::with_tma_loads(p, chip)) p = std::move(*boxes);
  return tile::program_of(chip.name, any_stores(std::move(p), chip));
}

}  // namespace tilescope::tests
