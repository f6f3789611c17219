// SPDX-License-Identifier: Apache-2.0
#include "tile/overlap.h"

#include <algorithm>
#include <numeric>

#include "base/integer.h"

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

// Share of the strided indices of one dimension that are those of another's, or lie in granules of `near` indices with
// them.
double share_of_strides(const TileDim& a, const TileDim& b, std::int64_t near) {
  if (a.whole || b.whole) return 1;
  std::int64_t stride = 0;
  for (const TileDim* d : {&a, &b})
    for (const expr::Term& t : d->terms) stride = std::gcd(stride, t.coefficient);
  // The taps of either dimension are neighbours.
  const std::int64_t first = a.low - b.low - b.spread, last = a.low + a.spread - b.low;
  if (stride == 0) return first < near && last > -near ? 1 : 0;
  if (stride <= near || base::floor_div(last, stride) * stride >= first) return 1;
  if (stride % near == 0 && a.extent % near == 0)  // rows begin with granules
    return (base::floor_div(a.low, near) - base::floor_div(b.low, near)) % (stride / near) == 0 ? 1 : 0;
  const std::int64_t behind = last - base::floor_div(last, stride) * stride, apart = std::min(behind, stride - behind);
  return std::max(0.0, 1 - static_cast<double>(apart) / static_cast<double>(near));
}

}  // namespace

double share_in(const Operand& operand, const Operand& other, const Extents& tile, std::int64_t granule_bytes) {
  if (operand.gathered || other.gathered) return 0;
  if (operand.tensor != other.tensor || operand.im2col || other.im2col || operand.dims.size() != other.dims.size())
    return 0;
  double share = 1;
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    if (operand.dims[d].first_dim != other.dims[d].first_dim) return 0;
    const bool in_row = d + 1 == operand.dims.size();
    const std::int64_t near = in_row ? std::max<std::int64_t>(1, granule_bytes / operand.element.n) : 1;
    share *= share_of_strides(operand.dims[d], other.dims[d], near);
    const Interval own = indices(operand.dims[d], tile), others = indices(other.dims[d], tile);
    if (own.begin >= own.end) return 0;
    const std::int64_t both = std::min(own.end, others.end) - std::max(own.begin, others.begin);
    share *= static_cast<double>(std::max<std::int64_t>(0, both)) / static_cast<double>(own.end - own.begin);
  }
  return share;
}

}  // namespace tilescope::tile
