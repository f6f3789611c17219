// SPDX-License-Identifier: Apache-2.0
#include "construct/welder_open.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "base/check.h"
#include "construct/detail/welder_policy.h"
#include "construct/detail/welder_threads.h"

namespace tilescope::construct {
namespace {

using tile::Extents;

// Figures of the policy itself, of no chip (python/welder/policy, rasterization.py of the open code).
constexpr std::size_t kMaxVisited = 2000;
constexpr double kMaxPanel = 16;
constexpr std::int64_t kMinWaves = 4;

// Valid tiles, best first, equal ones as they were visited. The cheapest tile grows first, by one extent in each
// dimension, from the last dimension on; tiles of equal score in the order of their extents.
std::vector<WelderTile> search(const WelderPolicy& policy, const Extents& base, const std::vector<Extents>& steps) {
  const auto extents = policy.tile_extents(base);
  using Key = std::vector<std::int64_t>;
  std::vector<WelderTile> valid;
  std::map<Key, bool> visited;
  std::priority_queue<std::pair<double, Key>, std::vector<std::pair<double, Key>>, std::greater<>> queue;
  const auto visit = [&](const Extents& tile) {
    const Key key(tile.begin(), tile.end());
    if (!visited.emplace(key, true).second) return;
    WelderTile t = policy.evaluate(tile, steps);
    if (!t.valid) return;
    queue.emplace(t.score(), key);
    valid.push_back(std::move(t));
  };
  visit(base);
  while (!queue.empty() && visited.size() <= kMaxVisited) {
    const Key key = queue.top().second;
    queue.pop();
    for (std::size_t d = key.size(); d-- > 0;) {
      const auto next = std::upper_bound(extents[d].begin(), extents[d].end(), key[d]);
      if (next == extents[d].end()) continue;
      Extents tile;
      for (const std::int64_t n : key) tile.push_back(n);
      tile[d] = *next;
      visit(tile);
    }
  }
  std::stable_sort(valid.begin(), valid.end(), [](const auto& a, const auto& b) { return a.score() < b.score(); });
  return valid;
}

// Panels are for one multiplication of many waves.
std::optional<WelderPanels> panels_of(const WelderPolicy& policy, const WelderTile& t) {
  if (t.tiles.size() != 1 || !policy.matrix(0) || t.tile.size() != 2 || t.waves < kMinWaves ||
      !policy.constants().mma->panel)
    return std::nullopt;
  const double width = std::clamp(
      std::nearbyint(static_cast<double>(policy.constants().mma->panel->n) / t.traffic_bytes), 1.0, kMaxPanel);
  return WelderPanels{t.tile[0] >= t.tile[1], static_cast<std::int64_t>(width)};
}

}  // namespace

WelderResult welder_open(const expr::Expression& expression, const arch::WelderBaseline& constants, std::size_t keep) {
  const tile::TileGraph graph = tile::make_tile_graph(expression);
  const WelderPolicy policy(graph, constants);
  WelderResult out;
  out.base_tile = policy.base_tile();
  out.first_steps = policy.first_steps();
  bool matrices = false;
  for (std::size_t s = 0; s < graph.stages(); ++s) matrices = matrices || policy.matrix(s);
  const std::vector<WelderTile> tiles = search(policy, out.base_tile, out.first_steps);
  out.valid_tiles = tiles.size();
  for (const WelderTile& t : tiles) {
    if (out.configurations.size() == keep) break;
    // Where matrix instructions compute, steps stay as they are.
    const WelderTile longer = matrices ? t : policy.with_longer_steps(t);
    auto stages = share_among_threads(policy, longer);
    if (!stages) continue;
    out.configurations.push_back({longer.tile, longer.traffic_bytes, longer.smem_bytes, longer.blocks_per_core,
                                  longer.waves, longer.grid, longer.score(), std::move(*stages),
                                  panels_of(policy, longer)});
  }
  return out;
}

}  // namespace tilescope::construct
