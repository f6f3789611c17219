// SPDX-License-Identifier: Apache-2.0
#include "tile/overlap.h"

#include <algorithm>

namespace tilescope::tile {
namespace {

// Indices of one dimension inside the tensor, the end excluded.
struct Interval {
  std::int64_t begin = 0, end = 0;
};

Interval indices(const TileDim& d, const Extents& tile) {
  if (d.whole) return {0, d.extent};
  Interval out{d.low, d.low + d.spread + 1};
  for (const expr::Term& t : d.terms) {
    const std::int64_t moved = (tile[static_cast<std::size_t>(t.axis)] - 1) * t.coefficient;
    (moved < 0 ? out.begin : out.end) += moved;
  }
  return {std::clamp<std::int64_t>(out.begin, 0, d.extent), std::clamp<std::int64_t>(out.end, 0, d.extent)};
}

}  // namespace

double share_in(const Operand& operand, const Operand& other, const Extents& tile) {
  if (operand.tensor != other.tensor || operand.im2col || other.im2col || operand.dims.size() != other.dims.size())
    return 0;
  double share = 1;
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    if (operand.dims[d].first_dim != other.dims[d].first_dim) return 0;
    const Interval own = indices(operand.dims[d], tile), others = indices(other.dims[d], tile);
    if (own.begin >= own.end) return 0;
    const std::int64_t both = std::min(own.end, others.end) - std::max(own.begin, others.begin);
    share *= static_cast<double>(std::max<std::int64_t>(0, both)) / static_cast<double>(own.end - own.begin);
  }
  return share;
}

}  // namespace tilescope::tile
