// SPDX-License-Identifier: Apache-2.0
#pragma once
// Traffic by enumeration: the sectors that every block touches, for comparison with the model's closed form.

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "tests/support/points.h"
#include "tile/program.h"

namespace tilescope::tests {

// Bytes of the sectors that every block touches in every step, or in all its steps together (the output: once), summed.
enum class Steps : std::uint8_t { kApart, kTogether };
inline double naive_cache_bytes(const tile::StageProgram& p, std::size_t operand, std::int64_t sector,
                                Steps steps = Steps::kApart) {
  const tile::TileSpace& space = *p.space;
  const bool output = operand == space.inputs.size();
  const auto reads = reads_of(space, operand);
  Point tiles;
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    tiles.push_back((space.axes[a].extent + p.block[a] - 1) / p.block[a]);
  std::map<Point, std::set<std::int64_t>> touched;  // by block, or by block and step
  each_index(tiles, [&](const Point& t) {
    for (std::size_t a = space.spatial; a < t.size() && output; ++a)
      if (t[a] != 0) return;
    Point key = t;
    if (steps == Steps::kTogether) key.resize(space.spatial);
    std::set<std::int64_t>& sectors = touched[key];
    each_index(to_point(p.block), [&](Point index) {
      for (std::size_t a = 0; a < index.size(); ++a)
        if ((index[a] += t[a] * p.block[a]) >= space.axes[a].extent) return;
      for (const expr::Read& read : reads) {
        const Point at = coordinates_at(read, stage_point(space, index));
        if (inside(space, read, at))
          sectors.insert(flat_element(space, read, at) * space.operand(operand).element.n / sector);
      }
    });
  });
  double bytes = 0;
  for (const auto& [key, sectors] : touched)
    bytes += static_cast<double>(static_cast<std::int64_t>(sectors.size()) * sector);
  return bytes;
}

// A program whose block tile is `block`, every input cached.
inline tile::StageProgram with_blocks(std::shared_ptr<const tile::TileSpace> space, const tile::Extents& block) {
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a) mapping.push_back({1, block[a], 1});
  tile::StageProgram p = tile::make_stage_program(std::move(space), mapping, block, {16});
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) p.operands[i].cached = true;
  return p;
}

}  // namespace tilescope::tests
