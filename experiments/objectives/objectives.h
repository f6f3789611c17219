// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objectives and constraints of a sweep as expressions over the results of a point. For the .cc files of
// experiments/ alone.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/explore/pareto.h"
#include "experiments/objectives/formula.h"
#include "experiments/objectives/quantity.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// A bound on a result: two expressions, of which the left one is at most or at least the right one.
struct Bound {
  Formula left, right;
  bool at_most = true;
};

// How far a value misses the bound, over the bound; itself over 1 where the bound is 0, and 0 where the value meets it.
double violation_of(double value, double bound, bool at_most);

// The constraint that the text writes: one comparison with <= or >=. Nullopt after an error at its place: another
// comparison, several, or an amount of another dimension than the result that it bounds.
std::optional<Bound> parse_bound(std::string_view text, base::Position at, const std::vector<std::string_view>& names,
                                 base::Diagnostics& diags);

// All names that a formula over these inputs may use.
std::vector<std::string_view> result_names(const std::vector<std::string>& inputs);

// The quantity that the formula is, and nothing else.
std::optional<Quantity> quantity_of(const Formula& formula);

// What one operator gives at a point.
struct OperatorResult {
  QuantityValues values;
  double resting_energy = 0;  // the part of the energy that grows with the time, pJ
  std::string lacks;          // which figures of the chip's file it has no energy for; empty where it lacks none
};

// The same operator in that many times the time. Its energy but for the resting part stays; that at the board's limit
// changes as that at the chip's clock does.
OperatorResult with_time_times(OperatorResult result, double ratio);

// How a point does by the objectives and constraints.
struct Judgement {
  std::vector<std::optional<double>> values;      // of the objectives; nullopt where one is not known
  std::vector<std::optional<double>> bounded;     // the left sides of the constraints
  std::vector<std::optional<double>> violations;  // of the constraints; 0 where one is met
  std::string lacks;                              // why a value is not known that never will be
  bool on_front = false;

  // The sum of the known violations; nullopt where these are none and one is not known.
  std::optional<double> violation() const;
};

class Objectives {
 public:
  // DamagedError for texts that are none: they were checked when the sweep was read.
  Objectives(const StoredObjectives& asked, const std::vector<StoredWorkload>& workloads);
  ~Objectives();

  // `operators`: one for each workload, nullopt where it is not computed yet.
  Judgement judge(const std::vector<std::optional<double>>& inputs,
                  const std::vector<std::optional<OperatorResult>>& operators) const;
  // The judgement as plans take it.
  Merit merit_of(const Judgement& judgement) const;
  // The objectives as plans take them, whatever the constraints; nullopt where one is not known.
  std::optional<std::vector<double>> to_minimise(const Judgement& judgement) const;
  // The constraint that a point violates most: "area <= 600 mm2: 612 mm2"; empty where it violates none.
  std::string worst_of(const Judgement& judgement) const;

  const std::vector<StoredObjective>& asked() const { return objectives_; }

 private:
  struct Placed;
  struct PlacedBound;
  struct Known;

  Placed placed(Formula formula) const;
  std::optional<double> value(const Placed& f, const Known& known) const;
  std::optional<double> reduced(const Reduction& r, const std::vector<std::size_t>& workloads,
                                const Known& known) const;

  std::vector<StoredObjective> objectives_;
  std::vector<std::string> inputs_;
  std::vector<StoredWorkload> workloads_;
  std::vector<Placed> formulas_;
  std::vector<PlacedBound> bounds_;
};

// An amount of an objective as people read it, and the unit; of an expression the plain number.
struct ShownObjective {
  std::string name, unit;  // unit: empty for an expression
  std::string column;      // objective.time_us
  double factor = 1;       // from the value to what is shown
};
ShownObjective shown(const StoredObjective& objective);

}  // namespace tilescope::experiments
