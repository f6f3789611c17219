// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of a sweep as a report shows them: columns over chips x operators, totals over operators, and how sources of
// times stand to each other. For the .cc files of experiments/ alone.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/report/detail/columns.h"
#include "experiments/report/detail/work.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

using Times = std::vector<std::optional<double>>;  // microseconds

struct SweepRows {
  SweepRows(const Store& store, const StoredSweep& sweep);

  std::vector<StoredPoint> points;
  std::vector<std::optional<std::size_t>> base_of;  // of every point, the one of its base chip as it is
  std::vector<StoredWorkload> workloads;

  // An entry a point and workload, the workloads of a point together.
  Times predicted, simulated, measured, low_ratio, high_ratio, waves;
  std::vector<std::string> bottleneck, occupancy, program, error;
  WorkColumns work;
  std::size_t done = 0, failed = 0;
  // Of every point, the joules of all operators, weighted, by part; empty where one of them has no energy.
  std::vector<std::map<std::string, double>> energy;

  // Of every point, the sum of weight times time over all operators, or over those `of` a set by workload; nothing
  // where one of them has no time.
  Times totals(const Times& times, const std::vector<bool>& of = {}) const;
  // Over the same operator at the base, and totals over the base's.
  Times over_base(const Times& times) const;
  Times totals_over_base(const Times& totals) const;

 private:
  void add(const StoredRow* row);
};

// {"names","shares"}: of the weighted predicted time of a point, the shares of the operators that each term bounds.
base::Value bound_shares(const SweepRows& rows);

// One map a pair of sources that have times of the same rows; docs/json.md, REPORT.
base::List accuracy_of(const SweepRows& rows);

}  // namespace tilescope::experiments
