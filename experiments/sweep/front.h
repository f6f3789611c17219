// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objectives of a stored sweep: its front, the best point by each objective, and the nearest miss where no point
// meets the constraints.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "experiments/objectives/objectives.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// Messages and how often each occurs, most frequent first; as a list of {"why","count"}.
using Counts = std::vector<std::pair<std::string, std::size_t>>;
Counts most_often_first(const std::map<std::string, std::size_t>& counts);
base::List to_list(const Counts& counts);

// A point with the values of the objectives, in the units in which they are shown; nullopt where one is not known.
struct ObjectivesAtPoint {
  StoredPoint point;
  std::vector<std::optional<double>> values;
  std::optional<double> violation;  // 0 where it is feasible; nullopt where that is not known
};

struct SweepFront {
  std::vector<ShownObjective> objectives;
  std::vector<bool> most;  // by objective: whether the most is best
  bool has_constraints = false;
  std::size_t feasible = 0, infeasible = 0, unknown = 0;  // points, without bases
  std::size_t pruned = 0;                                 // of the infeasible ones, those without programs
  std::size_t size = 0;                                   // points on the front
  std::vector<ObjectivesAtPoint> points;                  // of the front, the best by the first objective first
  std::vector<ObjectivesAtPoint> best;                    // by each objective; empty without a feasible point
  std::optional<ObjectivesAtPoint> nearest;               // of least violation, where none is feasible
  std::string nearest_misses;                             // the constraint that it violates most, and its value
  // Why points have no value, and how many: "v100: no energy: ...", most frequent first.
  Counts lacking;
  std::vector<Judgement> judgements;  // of all points of the sweep, bases too
};

// At most `keep` points of the front. Nullopt for a sweep without objectives.
std::optional<SweepFront> sweep_front(const Store& store, const StoredSweep& sweep, std::size_t keep);

// {"objectives":[..],"points":{..},"front":[..],"best":[..],"nearest":{..},"lacking":[..]}; docs/json.md.
base::Value to_document(const SweepFront& front, const StoredSweep& sweep);

}  // namespace tilescope::experiments
