// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stored sweep that is_multi_fidelity, as far as it is: what is simulated, how far that is from the model, and which
// differences between chips lie beyond the band.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "experiments/multi_fidelity/band.h"
#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

// Two simulated chips. Ratios are of the second one's time over the first one's.
struct Difference {
  std::size_t first = 0, second = 0;  // the first one's simulated time is not the greater
  double predicted_ratio = 1, simulated_ratio = 1;
  bool beyond = false;  // the band: the first one is faster. Else neither is said to be.
};

struct MultiFidelityResult {
  StoredMultiFidelity asked;
  std::vector<JudgedPoint> points;
  ValidationRatio validation;
  std::vector<std::optional<TimeInterval>> intervals;  // of every point
  std::vector<std::size_t> simulated;                  // points, each chip once, the least simulated time first
  // Of each base and each point of the front with every other simulated chip.
  std::vector<Difference> differences;
  // Points without a simulation, and those of them that a chip which costs no more is faster than.
  std::size_t predicted_alone = 0, beaten = 0;
  std::string no_claims;  // why no difference can lie beyond the band; empty where some could
};

// Nothing of a sweep that does not escalate.
std::optional<MultiFidelityResult> multi_fidelity_result(const Store& store, const StoredSweep& sweep);
MultiFidelityResult multi_fidelity_result(const StoredMultiFidelity& asked, std::vector<JudgedPoint> points);

// How many points are chosen for that reason; those of one chip with the same programs count once.
std::size_t count_of(const MultiFidelityResult& e, Chosen reason);

// {"mode","front","validation_sample","neighbours","seed","cost","chosen":{..},"ratio":{..},"simulated":[..],"differences":[..],
// "not_simulated":{..},"no_claims"}; docs/json.md.
base::Value to_document(const MultiFidelityResult& e);

}  // namespace tilescope::experiments
