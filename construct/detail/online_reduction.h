// SPDX-License-Identifier: Apache-2.0
#pragma once
// Along which axes a run of stages can be carried on from step to step (tile/group_loop.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "expr/online_reduction.h"
#include "tile/program.h"

namespace tilescope::construct {

// A loop around stages of a run.
struct OnlineAxis {
  std::vector<std::optional<std::size_t>> axes;            // by stage of the run
  std::vector<std::optional<expr::Rescaling>> rescalings;  // by stage of the run; extrema count from `first`
  std::vector<bool> runs;                                  // by stage: its results are read in the loop
  std::size_t first = 0;                                   // stage of the loop
  std::int64_t extent = 1;

  bool carried(std::size_t stage, const tile::TileSpace& space) const {
    return axes[stage] && *axes[stage] >= space.spatial;
  }
};

// All that there are, the run's tensors passing along these edges, which number stages within the run.
std::vector<OnlineAxis> online_axes(const std::vector<std::shared_ptr<const tile::TileSpace>>& run,
                                    const std::vector<tile::Edge>& edges);

// The edges with what is carried along them said.
std::vector<tile::Edge> with_online_reduction(std::vector<tile::Edge> edges, const OnlineAxis& along,
                                              const std::vector<std::shared_ptr<const tile::TileSpace>>& run);

}  // namespace tilescope::construct
