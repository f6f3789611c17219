// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of `sweep` and `status` for people.

#include "experiments/sweep/state.h"

namespace tilescope::cli {

// "Banks (banks.yaml, model): 54 points of 6 operators: 54 done, 2 refused".
std::string heading_of(const experiments::SweepState& state);

// Prints the bases and the best points: their coordinates, their weighted totals, and the ratios of these to their
// base's. `#` is the number of the point, as in status, export and report.
void print_best(const experiments::SweepState& state);

// Prints which points of a multi-fidelity sweep are simulated, how far these times are from the model's, and which
// chips differ by more than that. Prints nothing for other sweeps.
void print_escalation(const experiments::SweepState& state);

// Prints the front over the objectives with the best point by each of them, or the nearest miss where no point meets
// the constraints. Prints nothing for sweeps without objectives.
void print_front(const experiments::SweepState& state);

// Prints to stderr which shards are missing and which lack rows; nothing for a store that is a single shard.
void print_missing(const experiments::StoredShards& shards);

// Prints to stderr the most frequent reasons for which points were refused, had no value of an objective and
// operators failed, and the missing shards.
void print_reasons(const experiments::SweepState& state);

}  // namespace tilescope::cli
