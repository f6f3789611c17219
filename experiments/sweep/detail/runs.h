// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which order a sweep's rows are made; for the .cc files of experiments/ alone.

#include <vector>

#include "experiments/sweep/detail/tasks.h"

namespace tilescope::experiments {

// The units in runs, each for one thread: a few chips for one operator. Of as few operators at a time that the programs
// which points keep for each other are bounded; chips that share programs follow each other, so that what they share is
// at hand, and the runs of one operator do not, so that threads rarely want the same.
std::vector<std::vector<Unit>> in_runs(const std::vector<Unit>& units, const SweepTasks& tasks);

}  // namespace tilescope::experiments
