// SPDX-License-Identifier: Apache-2.0
#include "tile/detail/scales.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tilescope::tile {
namespace {

using expr::Coordinate;
using expr::Node;
using expr::NodeKind;
using expr::Read;
using expr::Stage;

// Whether a read scales a product: every coordinate is a number or one loop, a reduced one divided, so that
// neighbouring iterations share the element.
bool is_scale(const Stage& stage, const Read& read) {
  return std::all_of(read.at.begin(), read.at.end(), [&](const Coordinate& c) {
    if (c.terms.empty()) return c.affine();
    if (c.terms.size() > 1 || c.terms[0].coefficient != 1 || c.offset != 0 || c.modulus != 0 || c.gathered())
      return false;
    return c.divisor > 1 || !stage.axes[static_cast<std::size_t>(c.terms[0].axis)].reduction;
  });
}

// Whether a stage is a sum over one loop of nothing but a product in which each read occurs once.
bool is_sum_of_products(const Stage& stage) {
  std::vector<int> uses(stage.reads.size(), 0);
  for (const Node& n : stage.body) {
    if (n.kind == NodeKind::kRead)
      ++uses[static_cast<std::size_t>(n.index)];
    else if (n.kind != NodeKind::kMultiply)
      return false;
  }
  return stage.reducer == expr::Reducer::kSum && stage.axes.size() == stage.spatial_count() + 1 &&
         std::all_of(uses.begin(), uses.end(), [](int n) { return n == 1; });
}

// Iterations of the reduced loop that share a scale; 0 where the operand is none, 1 where all share it.
std::int64_t depth_of_scale(const Stage& stage, const Operand& o) {
  const Read& read = stage.reads[static_cast<std::size_t>(o.reads.front())];
  if (o.im2col || o.reads.size() > 1 || !is_scale(stage, read)) return 0;
  std::int64_t depth = 1;
  for (const TileDim& d : o.dims) {
    const Coordinate& c = read.at[d.first_dim];
    if (c.divisor == 1) continue;
    if (d.terms.size() != 1) return 0;
    if (!stage.axes[static_cast<std::size_t>(c.terms[0].axis)].reduction) continue;
    if (depth > 1) return 0;
    depth = c.divisor;
  }
  return depth;
}

}  // namespace

void find_scales(TileSpace& s) {
  const Stage& stage = s.stage();
  if (!is_sum_of_products(stage)) return;
  std::int64_t depth = 0;
  for (const Operand& o : s.inputs)
    if (const std::int64_t own = depth_of_scale(stage, o); own > 1) depth = std::gcd(depth, own);
  const auto scales = std::stable_partition(s.inputs.begin(), s.inputs.end(),
                                            [&](const Operand& o) { return depth_of_scale(stage, o) == 0; });
  if (depth < 2 || scales - s.inputs.begin() != 2) {
    std::sort(s.inputs.begin(), s.inputs.end(),
              [](const Operand& a, const Operand& b) { return a.reads.front() < b.reads.front(); });
    return;
  }
  s.scale_depth = depth;
  s.values = 2;
  for (auto o = scales; o != s.inputs.end(); ++o)
    for (TileDim& d : o->dims)
      d.shared_by = stage.reads[static_cast<std::size_t>(o->reads.front())].at[d.first_dim].divisor;
}

}  // namespace tilescope::tile
