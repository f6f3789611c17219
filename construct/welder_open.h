// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile policy of Welder's open code (OSDI'23; nox-410/Welder, branch main), reproduced rule by rule: output tiles
// of a fused group, ranked by bytes of a block times waves. Every constant of a chip comes from its `baselines`; the
// numbers in this code are the policy's own.
//
// Ignores: the rejection of block orders that differ from the output's, and which stages to fuse: the open code
// measures that; here all stages of the expression are one group.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "expr/expression.h"
#include "tile/space.h"

namespace tilescope::construct {

// How warps share a stage that matrix instructions compute.
struct WelderWarps {
  tile::Extents warp;                // tile of a warp, one extent for each axis of the output
  std::int64_t m = 0, n = 0, k = 0;  // of the fragment
  bool cutlass = false;              // by hand-written instructions, not by the compiler's interface
};

// The policy's choices for one stage. Extents have one number per axis of the output or of the reduction.
struct WelderStage {
  tile::Extents block;
  tile::Extents steps;
  tile::Extents threads, reduction_threads;           // empty where matrix instructions compute
  std::vector<std::pair<int, std::int64_t>> vectors;  // tensor, elements of one access that copies it to shared memory
  tile::Extents packed;                               // neighbouring elements of a thread; empty where 1 everywhere
  std::optional<WelderWarps> warps;
};

// The order of blocks in panels, for a single matrix product on matrix instructions.
struct WelderPanels {
  bool by_row = false;
  std::int64_t width = 0;

  bool operator==(const WelderPanels&) const = default;
};

struct WelderConfiguration {
  tile::Extents tile;        // of the first output
  double traffic_bytes = 0;  // of one block
  std::int64_t smem_bytes = 0, blocks_per_core = 0, waves = 0, grid = 0;
  double score = 0;  // (traffic_bytes + 1) * waves; the least is best
  std::vector<WelderStage> stages;
  std::optional<WelderPanels> panels;
};

struct WelderResult {
  tile::Extents base_tile;
  std::vector<tile::Extents> first_steps;           // per stage: reduction steps of the search
  std::size_t valid_tiles = 0;                      // that were visited
  std::vector<WelderConfiguration> configurations;  // best first, at most `keep`
};

// Searches for `keep` configurations of all stages as one group. There are none where no tile fits the capacities, or
// outputs differ in rank.
WelderResult welder_open(const expr::Expression& expression, const arch::WelderBaseline& constants, std::size_t keep);

}  // namespace tilescope::construct
