// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of a multi-fidelity sweep as its choice and its verdicts see it: totals over the operators, in microseconds.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/store/store.h"

namespace tilescope::experiments {

// A true time over the predicted one, from the least to the greatest.
struct RatioBand {
  double low = 1, high = 1;
};

struct TimeInterval {
  double low_us = 0, high_us = 0;
};

struct JudgedPoint {
  std::size_t ordinal = 0;  // of the sweep; points are in this order
  std::string name;         // its base and coordinates: what the draw knows it by, whatever the store
  std::size_t same_as = 0;  // the first point of the same chip with the same programs: one simulation is of both
  bool is_base = false;
  std::optional<double> cost, predicted_us, simulated_us;
  std::optional<RatioBand> band;  // the chip's error bands, where they hold for every operator
  Chosen chosen = Chosen::kNot;
  bool pending = false;  // chosen, or with the rows of one that is, and not all simulated yet
};

// The points of the sweep, in its order; `same_as` is an index of the result, like every index of this folder.
std::vector<JudgedPoint> judged_points(const Store& store, const StoredSweep& sweep);

}  // namespace tilescope::experiments
