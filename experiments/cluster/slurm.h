// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to Slurm through its commands sbatch and squeue.

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/document.h"
#include "experiments/cluster/jobs.h"

namespace tilescope::experiments {

// A refusal by Slurm, with its own message and advice on what to do.
class ClusterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The job numbers that Slurm assigned.
struct Submitted {
  std::string array, merge;
};

// Writes the scripts, submits them, and saves their job numbers next to the store for `status`. Throws ClusterError
// where sbatch does not exist or refuses.
Submitted submit(const Jobs& jobs);

// One task in the queue, or the job that merges.
struct QueuedTask {
  std::optional<std::size_t> shard;  // nullopt for the job that merges
  std::string state, reason;         // in Slurm's terms: RUNNING, PENDING; None, Priority
};

struct Queue {
  Submitted jobs;
  std::vector<QueuedTask> tasks;  // those that have not ended
  std::string error;              // why the queue is unknown, in Slurm's words
};

// The state of a store's submitted jobs by squeue; nullopt where none were submitted or squeue does not exist.
std::optional<Queue> queue_of(const std::string& store);

// {"array","merge","tasks":[{"shard","state","reason"}],"error"}; a null shard is the job that merges.
base::Value to_document(const Queue& queue);

}  // namespace tilescope::experiments
