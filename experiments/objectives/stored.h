// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objectives of a stored sweep at its points, from its rows alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/objectives/objectives.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// The energy of the row in the time that counts, the simulated one or the predicted one; null where it has none.
const api::EnergyRow* energy_of(const StoredRow& row);

// The results of a row; values are nullopt where the row has none.
OperatorResult result_of(const StoredRow& row);

// The range of true over predicted time of a point; nullopt where it is not known.
using TimeRatios = std::optional<std::pair<double, double>>;

// The objectives of a point, each to be least, where its times are off.
struct ObjectiveRange {
  std::vector<double> low, high;
};

// One for each point of the sweep, which has objectives, in its order: where all times of the point are that many times
// the predicted ones, energies with them as far as they rest (energy/energy.h). Nullopt without ratios or results.
std::vector<std::optional<ObjectiveRange>> objective_ranges(const Store& store, const StoredSweep& sweep,
                                                            const std::vector<TimeRatios>& ratios);

// One for each point of the sweep, which has objectives, in its order.
std::vector<Judgement> judgements_of(const Store& store, const StoredSweep& sweep);

}  // namespace tilescope::experiments
