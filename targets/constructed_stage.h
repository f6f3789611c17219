// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search finds of one stage.

#include <string>
#include <utility>
#include <vector>

#include "tile/program.h"

namespace tilescope::targets {

struct ConstructedStage {
  std::vector<tile::StageProgram> programs;    // best first; of roller-osdi22 in the order of discovery
  std::vector<std::pair<double, int>> rounds;  // of roller-osdi22: epsilon, programs found
  std::string why;                             // why there are none
};

}  // namespace tilescope::targets
