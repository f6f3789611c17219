// SPDX-License-Identifier: Apache-2.0
#pragma once
// The points of a sweep: every combination of the axes' values that meets the constraints, each with its chip; for the
// .cc files of experiments/ alone.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/override.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/restrictions.h"
#include "experiments/store/store.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {

struct PlannedPoint {
  StoredPoint point;
  std::size_t base = 0;                 // of the spec's bases
  std::size_t request = 0;              // of the plan's chips
  std::optional<std::size_t> chip;      // the same once it is read; none of a refused point
  std::optional<std::size_t> programs;  // of the spec's; none of a base as it is, whose are constructed
  construct::Restrictions restrictions;
  // The base and which value of every axis that is swept; none of a base as it is. Points that differ by one in one
  // place are neighbours.
  std::vector<std::size_t> index;
  bool asked = false;  // it is judged; of the others only what the searches of those need has a chip
};

// What the chips of a plan are read from, each once, and what is known of each without programs.
struct ChipRequest {
  std::size_t base = 0;
  std::vector<arch::Override> overrides;
  std::string refused;
  std::optional<double> area_mm2, price_usd;
  std::string no_cost;  // why one of them is unknown that an objective or a constraint reads
};

struct SweepPlan {
  std::vector<StoredAxis> axes;
  std::vector<PlannedPoint> points;                    // as Store::points says; point b is base b as it is
  std::vector<ChipRequest> requests;                   // request b is base b
  std::vector<std::unique_ptr<arch::ArchSpec>> chips;  // one a request; null where it is refused or not read yet
};

// Whether programs are constructed for the point's chip: for a base as it is they are.
bool is_constructed(const PlannedPoint& p, const SweepSpec& spec);

// Points of constructed programs by index, without bases as they are.
using PointGrid = std::map<std::vector<std::size_t>, const PlannedPoint*>;
PointGrid constructed_points(const SweepSpec& spec, const SweepPlan& plan);
// The points of the grid that differ from that one by one value along one axis.
std::vector<const PlannedPoint*> neighbours_of(const PlannedPoint& p, const PointGrid& grid);

// Which part of a plan is wanted.
struct PlanRequest {
  std::optional<Shard> shard;    // reads no more chips than its points and their searches need
  int jobs = 1;                  // threads; the plan does not depend on their number
  std::function<bool()> stop{};  // asked all the while: ends it
};

// Reads all chips, or those of the bases alone where the sweep chooses its points. Nullopt after an error: a constraint
// that no point meets, more points than a sweep may have, no point whose chip the loader accepts, more evaluations than
// points; nullopt without an error where the caller stopped it.
std::optional<SweepPlan> plan(const SweepSpec& spec, const PlanRequest& request, base::Diagnostics& diags);

// Reads the chips of those points, by number, and those that their searches need. These points are asked then, and are
// refused or pruned where they have to be. False where it was stopped.
bool read_chips(const SweepSpec& spec, SweepPlan& plan, const std::vector<std::size_t>& points,
                const PlanRequest& request);

// How many points the plan would have, bases too, without a look at the chips. Nothing after an error.
std::optional<std::size_t> count_points(const SweepSpec& spec, base::Diagnostics& diags);

// What of a chip can change a row: its document without derived figures, stated peaks and what is said for people.
std::string identity_of(const arch::ArchSpec& a);

}  // namespace tilescope::experiments
