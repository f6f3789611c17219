// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of an operand that a stage touches at least once, from its expression: what any memory has to move.

#include <algorithm>
#include <set>
#include <vector>

#include "tests/support/points.h"
#include "tile/space.h"

namespace tilescope::tests {

// Distinct values inside the tensor that one coordinate takes over its loops.
inline std::int64_t distinct_values(const tile::TileSpace& space, const expr::Coordinate& c, std::int64_t extent) {
  Point sizes;
  std::vector<std::size_t> loops;
  for (const expr::Term& t : c.terms) {
    const auto loop = static_cast<std::size_t>(t.axis);
    if (std::find(loops.begin(), loops.end(), loop) != loops.end()) continue;
    loops.push_back(loop);
    sizes.push_back(space.stage().axes[loop].size);
  }
  std::set<std::int64_t> values;
  Point point(space.stage().axes.size(), 0);
  each_index(sizes, [&](const Point& index) {
    for (std::size_t i = 0; i < loops.size(); ++i) point[loops[i]] = index[i];
    const std::int64_t v = expr::value_at(c, point);
    if (v >= 0 && v < extent) values.insert(v);
  });
  return static_cast<std::int64_t>(values.size());
}

// A lower bound, exact where no loop stands in two coordinates of a read and the operand is read once.
inline double compulsory_bytes(const tile::TileSpace& space, std::size_t operand) {
  double most = 0;
  for (const expr::Read& read : reads_of(space, operand)) {
    const auto& shape = space.expression.tensors[static_cast<std::size_t>(read.tensor)].shape;
    std::set<int> seen;
    bool apart = true;
    double product = 1, longest = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::set<int> own;
      for (const expr::Term& t : read.at[d].terms) own.insert(t.axis);
      for (const int axis : own) apart = seen.insert(axis).second && apart;
      const auto values = static_cast<double>(distinct_values(space, read.at[d], shape[d]));
      product *= values;
      longest = std::max(longest, values);
    }
    most = std::max(most, apart ? product : std::min(product, longest));
  }
  return most * static_cast<double>(space.operand(operand).element.n);
}

}  // namespace tilescope::tests
