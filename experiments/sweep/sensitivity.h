// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope sensitivity`: which axes of a sweep an objective depends on. Every combination of the axes' values is
// equally likely; every chip has its own best programs, as in the sweep.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/explore/sensitivity.h"
#include "experiments/objectives/objectives.h"
#include "experiments/sweep/sweep.h"

namespace tilescope::experiments {

struct SensitivityRequest {
  SweepRequest sweep;        // its shard is none
  std::string objective;     // the name of one of the file's, or an expression
  std::size_t samples = 64;  // rows of each kind in Saltelli's design
  std::int64_t seed = 1;
};

// One axis with more than one value.
struct AxisSensitivity {
  std::string axis;  // its path, or tied paths
  std::size_t values = 0;
  // ln(objective at the higher value / at the lower one) / ln(higher / lower), around the point closest to the base;
  // nullopt for a choice, and where a value is not known or not above 0.
  std::optional<double> elasticity;
  std::string from, to;  // these values; empty without an elasticity
  SobolIndex index;
  // The objective, as it is shown, at both ends of the axis, or at all values of a choice, the other axes as at the
  // centre; those that are known.
  struct End {
    std::string value;
    double objective = 0;
  };
  std::vector<End> ends;
};

// Two axes that act together.
struct AxisPair {
  std::string first, second;
  double index = 0;  // the share of the variance that both have a part in
  Interval interval;
  // The one of them with most of its effect at some values of the other: "memory.l2.capacity <= 6 MiB".
  std::string axis, where;
  double effect = 0, rows = 0;  // shares of its effect, and of the design, at these values
};

struct Sensitivity {
  ShownObjective objective;
  std::size_t points = 0;           // that were judged, each once
  std::size_t rows = 0, lost = 0;   // of the design; those with a point that has no value are left out
  double mean = 0, deviation = 0;   // of the objective over the design, as it is shown
  std::string centre;               // the point around which elasticities are taken
  std::optional<double> at_centre;  // the objective there, as it is shown
  std::vector<AxisSensitivity> axes;
  std::vector<AxisPair> pairs;  // whose intervals are above 0, the strongest first
  SweepRun run;
};

// Nullopt after errors: those of the sweep's file, an objective that it cannot have, no axis of several values, or
// constraints that leave out points of the design. Without rows that are known `axes` is empty.
std::optional<Sensitivity> sensitivity(const SensitivityRequest& request, const std::function<bool()>& stop,
                                       const std::function<void(const SweepProgress&)>& progress,
                                       base::Diagnostics& diags);

// {"objective","unit","points","rows","rows_lost","mean","deviation","centre",
// "centre_objective","axes":[..],"pairs":[..]}; docs/json.md.
base::Value to_document(const Sensitivity& sensitivity);

}  // namespace tilescope::experiments
