// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/matrix_kernels.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "construct/microkernel/detail/knobs.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::construct {
namespace {

using tile::TileSpace;

// The axes along which a matrix instruction's fragments lie: of every kind the one of most iterations.
std::optional<tile::MatrixUnit> matrix_axes(const TileSpace& space) {
  std::optional<tile::MatrixUnit> best;
  const auto iterations = [&](const tile::MatrixUnit& u) {
    return space.axes[u.rows].extent * space.axes[u.columns].extent * space.axes[u.depth].extent;
  };
  for (std::size_t m = 0; m < space.spatial; ++m)
    for (std::size_t n = 0; n < space.spatial; ++n)
      for (std::size_t k = space.spatial; k < space.axes.size(); ++k) {
        tile::MatrixUnit u;
        u.rows = m;
        u.columns = n;
        u.depth = k;
        if (tile::is_matrix_product(space, m, n, k) && (!best || iterations(u) > iterations(*best))) best = u;
      }
  return best;
}

}  // namespace

std::vector<tile::MicroKernel> matrix_kernels(const TileSpace& space, const arch::ArchSpec& a,
                                              const Restrictions& given) {
  std::vector<tile::MicroKernel> out;
  const std::optional<tile::MatrixUnit> axes = matrix_axes(space);
  if (!axes) return out;
  for (const arch::ComputeSpec& c : a.compute) {
    if (c.m == 1 || c.n == 1 || !tile::dtypes_refusal(c, space).empty()) continue;
    if (!given.instruction.empty() && c.name != given.instruction) continue;
    if (!tile::matrix_refusal(c).empty() || space.axes[axes->depth].extent < c.k || space.scale_depth % c.k != 0)
      continue;
    if (given.lowering_refusal != nullptr && !given.lowering_refusal(c, a).empty()) continue;
    tile::MicroKernel kernel = tile::micro_kernel_of(c, a, *axes);
    if (tile::reads_operands_of(kernel, space)) out.push_back(std::move(kernel));
  }
  return out;
}

MatrixKernels kernels_of(const MatrixKernels& all, bool of_fragments) {
  MatrixKernels out(all.size());
  for (std::size_t s = 0; s < all.size(); ++s)
    std::copy_if(all[s].begin(), all[s].end(), std::back_inserter(out[s]), [&](const tile::MicroKernel& kernel) {
      return std::visit([](const auto& k) { return holds_fragments(k); }, kernel) == of_fragments;
    });
  return out;
}

}  // namespace tilescope::construct
