// SPDX-License-Identifier: Apache-2.0
#pragma once
// Traffic by enumeration: the sectors that every block touches, for comparison with the model's closed form.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

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

// Bytes of the sectors that the first block fetches in all its steps through a core's cache of so many lines that
// evicts the one least recently used: of every input in turn, step by step, the innermost reduction fastest. By
// operand.
inline std::vector<double> naive_fetched_bytes(const tile::StageProgram& p, std::int64_t lines, std::int64_t line,
                                               std::int64_t sector) {
  const tile::TileSpace& space = *p.space;
  std::vector<double> fetched(space.inputs.size(), 0);
  using Line = std::pair<std::size_t, std::int64_t>;  // operand, number
  struct Resident {
    std::list<Line>::iterator age;
    std::set<std::int64_t> sectors;
  };
  std::list<Line> by_age;  // the latest first
  std::map<Line, Resident> resident;
  const auto touch = [&](std::size_t operand, std::int64_t byte) {
    const Line key{operand, byte / line};
    auto found = resident.find(key);
    if (found != resident.end()) {
      by_age.splice(by_age.begin(), by_age, found->second.age);
    } else {
      by_age.push_front(key);
      found = resident.insert({key, {by_age.begin(), {}}}).first;
      if (static_cast<std::int64_t>(resident.size()) > lines) {
        resident.erase(by_age.back());
        by_age.pop_back();
      }
    }
    if (found->second.sectors.insert(byte / sector).second) fetched[operand] += static_cast<double>(sector);
  };
  Point steps(space.axes.size(), 1);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a)
    steps[a] = (space.axes[a].extent + p.block[a] - 1) / p.block[a];
  each_index(steps, [&](const Point& step) {
    for (std::size_t operand = 0; operand < space.inputs.size(); ++operand) {
      const auto reads = reads_of(space, operand);
      each_index(to_point(p.block), [&](Point index) {
        for (std::size_t a = 0; a < index.size(); ++a)
          if ((index[a] += step[a] * p.block[a]) >= space.axes[a].extent) return;
        for (const expr::Read& read : reads) {
          const Point at = coordinates_at(read, stage_point(space, index));
          if (inside(space, read, at)) touch(operand, flat_element(space, read, at) * space.operand(operand).element.n);
        }
      });
    }
  });
  return fetched;
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
