// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the chips of a sweep cost, by part: the energy of their work, the area of their dies, their price. For the .cc
// files of experiments/ alone.

#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "experiments/report/detail/rows.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// One cost: a column over points by part, in the order in which parts were first seen.
struct CostParts {
  std::string name, unit;
  std::vector<std::pair<std::string, Times>> parts;

  // Of every point, the sum of its parts; nullopt where it has none.
  Times sums() const;
};

// Those of energy (J), area (mm2) and price (USD) that some point has. Area and price are those of the base's file,
// read anew, with the point's changes; a point without figures, or whose base is no longer there, has none.
std::vector<CostParts> costs_of(const StoredSweep& sweep, const SweepRows& rows);

// [{"name","unit","parts":[{"name","values"}]}], docs/json.md, REPORT.
base::List parts_of(const std::vector<CostParts>& costs);

}  // namespace tilescope::experiments
