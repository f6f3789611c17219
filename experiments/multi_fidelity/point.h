// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of a multi-fidelity sweep, as choices and comparisons use it: totals over the operators, in microseconds.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/objectives/stored.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// The range of the ratio of true to predicted time.
struct RatioBand {
  double low = 1, high = 1;
};

struct TimeInterval {
  double low_us = 0, high_us = 0;
};

struct JudgedPoint {
  std::size_t ordinal = 0;  // in the sweep; points are in this order
  std::string name;         // its base and coordinates; the draw uses it, so that it does not depend on the store
  std::size_t same_as = 0;  // the first point with the same chip and programs: one simulation serves both
  bool is_base = false;
  std::optional<double> cost, predicted_us, simulated_us;
  std::optional<RatioBand> band;                // from the chip's error bands, where these cover every operator
  bool feasible = true;                         // meets the constraints on results, where the sweep has some
  std::optional<bool> on_front = std::nullopt;  // of the sweep's objectives, where it has some
  // The objectives over the interval of its time, once neighbours are chosen.
  std::optional<ObjectiveRange> range = std::nullopt;
  Chosen chosen = Chosen::kNot;
  bool pending = false;  // chosen, or sharing the rows of a chosen point, and not completely simulated yet
};

// The points of the sweep, in its order. `same_as` is an index into the result, like every index of this folder.
std::vector<JudgedPoint> judged_points(const Store& store, const StoredSweep& sweep);

// Sets the ranges of the points' objectives where the sweep has some, by the intervals of their times (band.h).
void set_ranges(const Store& store, const StoredSweep& sweep, std::vector<JudgedPoint>& points);

}  // namespace tilescope::experiments
