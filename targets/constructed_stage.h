// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs that a search finds for one stage.

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
  tile::Nodes programs;                                   // best first; roller-osdi22: in the order of discovery
  std::vector<std::pair<double, int>> rounds;             // roller-osdi22 only: epsilon, programs found
  std::vector<base::Microseconds> times;                  // of the programs, where the search knows them
  std::string why;                                        // why there are no programs
  std::optional<construct::SearchStatistics> statistics;  // roller only

  std::size_t count() const {
    return std::visit([](const auto& of) { return of.size(); }, programs);
  }
};

}  // namespace tilescope::targets
