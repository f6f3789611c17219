// SPDX-License-Identifier: Apache-2.0
#pragma once
// The points of a sweep: every combination of the axes' values that meets the constraints, each with its chip; for the
// .cc files of experiments/ alone.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/restrictions.h"
#include "experiments/store/store.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {

struct PlannedPoint {
  StoredPoint point;
  std::size_t base = 0;                 // of the spec's bases
  std::optional<std::size_t> chip;      // of the plan's; none of a refused point
  std::optional<std::size_t> programs;  // of the spec's; none of a base as it is, whose are constructed
  construct::Restrictions restrictions;
  // The base and which value of every axis that is swept; none of a base as it is. Points that differ by one in one
  // place are neighbours.
  std::vector<std::size_t> index;
  bool asked = true;  // by the shard that is run; of the others only what its searches need has a chip
};

struct SweepPlan {
  std::vector<StoredAxis> axes;
  std::vector<PlannedPoint> points;                    // as Store::points says; point b is base b as it is
  std::vector<std::unique_ptr<arch::ArchSpec>> chips;  // chip b is base b
};

// Which part of a plan is wanted.
struct PlanRequest {
  std::optional<Shard> shard;    // resolves no more chips than its points and their searches need
  int jobs = 1;                  // threads; the plan does not depend on their number
  std::function<bool()> stop{};  // asked all the while: ends it
};

// Nothing after an error: a constraint that no point meets, more points than can be, no point whose chip is accepted;
// and nothing, without an error, where it was stopped.
std::optional<SweepPlan> plan(const SweepSpec& spec, const PlanRequest& request, base::Diagnostics& diags);

// How many points the plan would have, bases too, without a look at the chips. Nothing after an error.
std::optional<std::size_t> count_points(const SweepSpec& spec, base::Diagnostics& diags);

// What of a chip can change a row: its document without derived figures, stated peaks and what is said for people.
std::string identity_of(const arch::ArchSpec& a);

}  // namespace tilescope::experiments
