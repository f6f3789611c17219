// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slurm, by its commands sbatch and squeue.

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/document.h"
#include "experiments/cluster/jobs.h"

namespace tilescope::experiments {

// What Slurm refused, in its own words, and what to do.
class ClusterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The numbers that Slurm gave the jobs.
struct Submitted {
  std::string array, merge;
};

// Writes the scripts, submits them, and keeps their numbers beside the store for `status`. Throws ClusterError where
// there is no sbatch, or it refuses.
Submitted submit(const Jobs& jobs);

// One task in the queue, or the job that merges.
struct QueuedTask {
  std::optional<std::size_t> shard;  // none of the job that merges
  std::string state, reason;         // as Slurm calls them: RUNNING, PENDING; None, Priority
};

struct Queue {
  Submitted jobs;
  std::vector<QueuedTask> tasks;  // those that have not ended
  std::string error;              // why it is not known, in Slurm's words
};

// What squeue says of the jobs that were submitted for a store; nothing where none were, or there is no squeue.
std::optional<Queue> queue_of(const std::string& store);

// {"array","merge","tasks":[{"shard","state","reason"}],"error"}; a shard of null is the job that merges.
base::Value to_document(const Queue& queue);

}  // namespace tilescope::experiments
