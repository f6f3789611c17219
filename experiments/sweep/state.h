// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress and best points of a stored sweep, for `tilescope status` and the end of `sweep`.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "experiments/multi_fidelity/result.h"
#include "experiments/store/store.h"
#include "experiments/sweep/front.h"

namespace tilescope::experiments {

struct RankedPoint {
  StoredPoint point;
  PointTotal total;
};

struct SweepState {
  StoredSweep sweep;
  std::size_t points = 0;                                // without bases, as in the next three members
  std::size_t done = 0;                                  // points with a row for every operator
  std::size_t refused = 0;                               // points without a valid chip
  std::size_t failed = 0;                                // points with an operator that has no time
  std::size_t rows = 0, rows_done = 0, rows_failed = 0;  // bases included
  std::vector<RankedPoint> bases, best;  // `best`: least total first, of those that meet the constraints
  Counts refusals, failures;
  std::optional<MultiFidelityResult> multi_fidelity;  // only of a sweep that is_multi_fidelity
  std::vector<StoredPoint> places;                    // its points, only of such a sweep

  std::optional<SweepFront> front;  // only of a sweep that has objectives

  bool complete() const;
};

// The state with the best `keep` points.
SweepState state_of(const Store& store, const StoredSweep& sweep, std::size_t keep);

// {"sweep","file","evaluator","points":{..},"rows":{..},"bases":[..],"best":[..],"refused":[..],"failed":[..],
// "multi_fidelity":{..},"objectives":{..},"plan":{..},"shards":{..}}; each of the last four only for sweeps that have
// it.
base::Value to_document(const SweepState& state);

// "memory.smem.banks 64, core.count 80": coordinates along the first axes, or all axes; "the base" where none differs.
std::string place_of(const std::vector<StoredValue>& at, const std::vector<StoredAxis>& axes);
std::string place_of(const StoredPoint& point, const std::vector<StoredAxis>& axes);

}  // namespace tilescope::experiments
