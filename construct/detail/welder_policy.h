// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the policy of Welder's open code computes of a tile: reduction steps, traffic, shared memory, waves, score.

#include <cstdint>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "tile/graph.h"

namespace tilescope::construct {

// An output tile with what follows from it.
struct WelderTile {
  tile::Extents tile;                // of the first output
  std::vector<tile::Extents> tiles;  // per stage
  std::vector<tile::Extents> steps;  // per stage
  bool valid = false;                // the figures from `blocks_per_core` on are 0 where it is not
  double traffic_bytes = 0;
  std::int64_t smem_bytes = 0, blocks_per_core = 0, waves = 0, grid = 0;

  double score() const { return (traffic_bytes + 1) * static_cast<double>(waves); }
};

// Axes of a stage that matrix instructions compute.
struct WelderMatrix {
  std::size_t m = 0, n = 0, k = 0;  // of the stage; m stands before n
};

class WelderPolicy {
 public:
  // `graph` must live as long as this.
  WelderPolicy(const tile::TileGraph& graph, const arch::WelderBaseline& constants);

  const tile::TileGraph& graph() const { return graph_; }
  const arch::WelderBaseline& constants() const { return constants_; }
  const std::optional<WelderMatrix>& matrix(std::size_t stage) const { return matrices_[stage]; }

  // One element, and the full extent of every dimension that saves recomputation.
  tile::Extents base_tile() const;

  // Per stage: steps whose reads of inputs are about as long as a transaction while the output tile is one element.
  std::vector<tile::Extents> first_steps() const;

  // Extents that each dimension of the first output may take, ascending from the base tile's.
  std::vector<std::vector<std::int64_t>> tile_extents(const tile::Extents& base) const;

  WelderTile evaluate(const tile::Extents& tile, const std::vector<tile::Extents>& steps) const;

  // The tile with reduction steps as long as shared memory allows; occupancy stays as it was.
  WelderTile with_longer_steps(WelderTile t) const;

  // Whether the hand-written path of matrix instructions takes the stage's tile.
  bool uses_cutlass(std::size_t stage, const tile::Extents& tile, const tile::Extents& steps) const;

 private:
  std::int64_t smem_bytes(const WelderTile& t) const;
  std::int64_t staging_bytes(std::size_t stage, const tile::Extents& tile, const tile::Extents& steps) const;
  std::int64_t staged_elements(std::size_t stage, int tensor, const tile::Extents& loops, bool cutlass) const;
  std::int64_t buffer_bytes(std::size_t stage, const tile::Extents& tile) const;
  tile::Extents first_steps(std::size_t stage) const;
  void lengthen(std::size_t stage, std::int64_t limit, WelderTile& t) const;

  const tile::TileGraph& graph_;
  arch::WelderBaseline constants_;
  std::vector<std::optional<WelderMatrix>> matrices_;  // per stage
};

// Divisors, ascending.
std::vector<std::int64_t> welder_divisors(std::int64_t n);

}  // namespace tilescope::construct
