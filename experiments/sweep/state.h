// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a stored sweep is and which of its points are best: `tilescope status`, and the end of `sweep`.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "experiments/multi_fidelity/result.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

struct RankedPoint {
  StoredPoint point;
  PointTotal total;
};

struct SweepState {
  StoredSweep sweep;
  std::size_t points = 0;                                               // bases left out, like in what follows
  std::size_t done = 0;                                                 // all operators have a row
  std::size_t refused = 0;                                              // no such chip
  std::size_t failed = 0;                                               // done, and an operator has no time
  std::size_t rows = 0, rows_done = 0, rows_failed = 0;                 // bases too
  std::vector<RankedPoint> bases, best;                                 // the latter: least total first
  std::vector<std::pair<std::string, std::size_t>> refusals, failures;  // sentences and how often, most often first
  std::optional<MultiFidelityResult> multi_fidelity;                    // of a sweep that is_multi_fidelity,
  std::vector<StoredPoint> places;                                      // and then its points

  bool complete() const;
};

// With the best `keep` points.
SweepState state_of(const Store& store, const StoredSweep& sweep, std::size_t keep);

// {"sweep","file","evaluator","points":{..},"rows":{..},"bases":[..],"best":[..],"refused":[..],"failed":[..],
// "multi_fidelity":{..},"shards":{..}}, the last but one of sweeps that escalate, the last of those that have shards.
base::Value to_document(const SweepState& state);

// "memory.smem.banks 64, core.count 80": coordinates, those of the first axes or all; "the base" where nothing varies.
std::string place_of(const std::vector<StoredValue>& at, const std::vector<StoredAxis>& axes);
std::string place_of(const StoredPoint& point, const std::vector<StoredAxis>& axes);

}  // namespace tilescope::experiments
