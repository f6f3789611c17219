// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `sweep` and `status` say of a stored sweep to people.

#include "experiments/sweep/state.h"

namespace tilescope::cli {

// "Banks (banks.yaml, model): 54 points of 6 operators: 54 done, 2 refused".
std::string heading_of(const experiments::SweepState& state);

// The bases and the best points: their coordinates, their weighted totals, and these over their base's. `#` is
// the number of the point, as in status, export and report.
void print_best(const experiments::SweepState& state);

// What of a multi-fidelity sweep is simulated, how far from the model, and which chips that leaves apart; nothing of
// others.
void print_escalation(const experiments::SweepState& state);

// Which shards are missing, and which have not all their rows, to stderr; nothing of a store of one shard alone.
void print_missing(const experiments::StoredShards& shards);

// Why points were refused and operators failed, the most frequent reasons, and which shards are missing, to stderr.
void print_reasons(const experiments::SweepState& state);

}  // namespace tilescope::cli
