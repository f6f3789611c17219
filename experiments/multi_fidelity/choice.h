// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which points of a sweep the simulator judges: functions of what the store holds and of a seed, so that a sweep that
// was killed chooses again what it had chosen. Points of the same chip and programs count once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/multi_fidelity/band.h"
#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

// The points that no other one beats in predicted time and cost: none is at most as slow and as costly, and less in
// one. All that are equal in both are there. Without costs the fastest ones. Bases as they are stand outside.
std::vector<std::size_t> front_of(const std::vector<JudgedPoint>& points);

// What a validation sample is drawn of: every point with a predicted time that is not on the front, nor the same as one
// there.
std::vector<std::size_t> population_of(const std::vector<JudgedPoint>& points, const std::vector<std::size_t>& front);

// At most `n` points of the population, each set of so many as likely as any other: those of least hash of seed and
// name, so that a sweep that grows draws few others. All of them where there are no more.
std::vector<std::size_t> validation_sample_of(const std::vector<JudgedPoint>& points,
                                              const std::vector<std::size_t>& front, std::size_t n, std::int64_t seed);

// The points that may be on the front for all that the intervals say: no point that costs at most as much is faster
// beyond the band. Those that are chosen already are left out. At most `most`, those first that reach furthest below
// the intervals of the front.
std::vector<std::size_t> neighbours_of(const std::vector<JudgedPoint>& points,
                                       const std::vector<std::optional<TimeInterval>>& intervals,
                                       std::optional<std::size_t> most);

// What the stage adds that the multi-fidelity setting is at (StoredMultiFidelity::chosen): first the bases, the front
// and the validation sample, then the neighbours. `points` are as the stage before left them.
std::vector<std::pair<std::size_t, Chosen>> chosen_at(const StoredMultiFidelity& multi_fidelity,
                                                      const std::vector<JudgedPoint>& points);

}  // namespace tilescope::experiments
