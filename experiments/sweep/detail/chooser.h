// SPDX-License-Identifier: Apache-2.0
#pragma once
// The points that a sweep chooses while it runs: those of its plan, and those that the simulator evaluates too. Every
// choice is made from what the store holds, so that a sweep that is run again makes the same ones. For the .cc files of
// experiments/ alone.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/explore/plan.h"
#include "experiments/multi_fidelity/point.h"
#include "experiments/store/store.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {

// A sweep's points as plans see them. The axes are the base, those of the file but followers, and the source of
// programs; design d is the point behind the bases of that number.
DesignSpace space_of(const SweepSpec& spec, const SweepPlan& plan);

class PointChooser {
 public:
  // The store at that path holds the sweep.
  PointChooser(const SweepSpec& spec, const SweepPlan& plan, std::string path);

  // The next points of the sweep's plan, by number and each once in all; none at its end. All rows of those that the
  // previous call returned are committed.
  std::vector<std::size_t> next();

  // The points that a stage of a multi-fidelity sweep adds, by their places in `points`, with the reason. All rows of
  // the stage before are committed.
  struct Simulated {
    std::vector<JudgedPoint> points;
    std::vector<std::pair<std::size_t, Chosen>> chosen;
  };
  Simulated simulated(const StoredMultiFidelity& stage) const;

 private:
  std::vector<Merit> merits() const;
  std::pair<Store, StoredSweep> stored() const;

  const SweepSpec& spec_;
  const std::string path_;
  DesignSpace space_;
  std::unique_ptr<Plan> plan_;         // none of a grid
  std::vector<std::size_t> previous_;  // what next() returned
};

}  // namespace tilescope::experiments
