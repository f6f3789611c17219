// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice of the points of a sweep that the simulator judges. It depends only on the contents of the store and a
// seed, so that a resumed sweep makes the same choice. Points with the same chip and programs count once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/multi_fidelity/band.h"
#include "experiments/multi_fidelity/point.h"

namespace tilescope::experiments {

// The front of the sweep's objectives; without objectives that in predicted time and cost: no other point is at most as
// slow and as costly, and better in one. Points that are equal in both are all on it. Without costs these are the
// fastest points. Base chips are excluded.
std::vector<std::size_t> front_of(const std::vector<JudgedPoint>& points);

// The points from which a validation sample is drawn: all points within the constraints with a predicted time, except
// base chips and those on the front or equal to one there.
std::vector<std::size_t> population_of(const std::vector<JudgedPoint>& points, const std::vector<std::size_t>& front);

// At most `n` points of the population, where each set of that size is equally likely: those with the least hash of
// seed and name, so that a sweep that grows changes few of them. All points where there are no more than `n`.
std::vector<std::size_t> validation_sample_of(const std::vector<JudgedPoint>& points,
                                              const std::vector<std::size_t>& front, std::size_t n, std::int64_t seed);

// The points that the intervals do not exclude from the front: no point that costs at most as much is faster beyond the
// band. Of points with ranges of objectives: none is at least as good in every objective and better in one, whatever
// the times within the intervals. Points chosen already are left out. At most `most`, first those whose intervals reach
// furthest below those of the front: of objectives, whose least lead over another point is greatest, a lead being the
// objective in which it may be furthest ahead, over the range of that objective.
std::vector<std::size_t> neighbours_of(const std::vector<JudgedPoint>& points,
                                       const std::vector<std::optional<TimeInterval>>& intervals,
                                       std::optional<std::size_t> most);

// The points that the current stage (StoredMultiFidelity::chosen) adds: in the first one the bases, the front and the
// validation sample, in the second one the neighbours. `points` are as the previous stage left them.
std::vector<std::pair<std::size_t, Chosen>> chosen_at(const StoredMultiFidelity& multi_fidelity,
                                                      const std::vector<JudgedPoint>& points);

}  // namespace tilescope::experiments
