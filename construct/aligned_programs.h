// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs that an exhaustive search tries: every aligned tile of a stage, laid out as construction does.

#include <cstddef>
#include <vector>

#include "tile/program.h"

namespace tilescope::construct {

class SearchSpace;

struct AlignedPrograms {
  std::vector<tile::StageProgram> programs;  // none where `count` exceeds the limit
  std::size_t count = 0;
  bool every_layout = false;  // of construct/detail/layout.h; else one layout for each reduction step
};

// Every block tile over every register tile that fills warps (rule 1), ends on memory transactions (rule 2) and wastes
// at most a tenth of an axis, or the least share that any tile wastes (rule 4), in the ways to collapse loops that
// construction uses. Each is in every layout where that makes at most `most` programs, else in one layout for each
// reduction step.
AlignedPrograms aligned_programs(const SearchSpace& space, std::size_t most);

}  // namespace tilescope::construct
