// SPDX-License-Identifier: Apache-2.0
#pragma once
// The current result of a stored sweep that is_multi_fidelity: which points are simulated, how far their times are from
// the model's, and which differences between chips exceed the band.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "experiments/multi_fidelity/band.h"
#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

// Two simulated chips. Ratios are the second one's time over the first one's.
struct Difference {
  std::size_t first = 0, second = 0;  // indices of points; the first one's simulated time is not the greater
  double predicted_ratio = 1, simulated_ratio = 1;
  bool beyond = false;  // the difference exceeds the band, so that the first one is faster; else no claim is made
};

struct MultiFidelityResult {
  StoredMultiFidelity asked;
  std::vector<JudgedPoint> points;
  ValidationRatio validation;
  std::vector<std::optional<TimeInterval>> intervals;  // for every point
  std::vector<std::size_t> simulated;  // indices of points, each chip once, the least simulated time first
  // Each base and each point of the front against every other simulated chip.
  std::vector<Difference> differences;
  // Number of points without a simulation, and of those for which a simulated chip that costs no more is faster.
  std::size_t predicted_alone = 0, beaten = 0;
  std::string no_claims;  // why no difference can exceed the band; empty where some could
};

// Returns nullopt for a sweep that is not multi-fidelity.
std::optional<MultiFidelityResult> multi_fidelity_result(const Store& store, const StoredSweep& sweep);
MultiFidelityResult multi_fidelity_result(const StoredMultiFidelity& asked, std::vector<JudgedPoint> points);

// Number of points chosen for that reason; points with the same chip and programs count once.
std::size_t count_of(const MultiFidelityResult& e, Chosen reason);

// {"mode","front","validation_sample","neighbours","seed","cost","chosen":{..},"ratio":{..},"simulated":[..],
// "differences":[..],"not_simulated":{..},"no_claims"}; docs/json.md.
base::Value to_document(const MultiFidelityResult& e);

}  // namespace tilescope::experiments
