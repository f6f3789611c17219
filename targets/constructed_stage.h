// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search finds of one stage.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"
#include "construct/search_statistics.h"
#include "tile/program.h"

namespace tilescope::targets {

struct ConstructedStage {
  tile::Nodes programs;                                   // best first; of roller-osdi22 in the order of discovery
  std::vector<std::pair<double, int>> rounds;             // of roller-osdi22: epsilon, programs found
  std::vector<base::Microseconds> times;                  // of the programs, where the search knows them
  std::string why;                                        // why there are none
  std::optional<construct::SearchStatistics> statistics;  // of roller

  std::size_t count() const {
    return std::visit([](const auto& of) { return of.size(); }, programs);
  }
};

}  // namespace tilescope::targets
