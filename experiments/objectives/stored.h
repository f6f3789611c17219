// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objectives of a stored sweep at its points, from its rows alone.

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

// One for each point of the sweep, which has objectives, in its order.
std::vector<Judgement> judgements_of(const Store& store, const StoredSweep& sweep);

}  // namespace tilescope::experiments
