// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of the shards of a sweep whose stores lie next to that of the whole sweep (S.0.db next to S.db).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/cluster/slurm.h"
#include "experiments/store/merge.h"

namespace tilescope::experiments {

// Progress of one shard that has begun. Bases count as points.
struct ShardProgress {
  std::size_t index = 0;
  std::string store;
  std::size_t points = 0, points_done = 0, rows = 0, rows_done = 0, rows_failed = 0;
  bool complete = false;
  std::optional<std::int64_t> process;  // process that computes it on this machine
  std::string queued;                   // state of its task in Slurm; empty where unknown
};

struct ShardsProgress {
  std::string title;
  std::size_t count = 0, points = 0;  // of the whole sweep; 0 before a shard has begun
  std::size_t complete = 0, points_done = 0, rows_done = 0;
  std::vector<ShardProgress> shards;  // in the order of their numbers
  std::vector<std::size_t> waiting;   // numbers of shards without a store
  std::optional<Queue> queue;
};

// Returns nullopt where there are no such stores and no jobs were submitted. Reports an error where stores are of
// different sweeps or different numbers of shards.
std::optional<ShardsProgress> shards_beside(const std::string& store, base::Diagnostics& diags);

// {"sweep","count","complete","points":{"all","done"},"rows_done","stores":[..],"waiting":[..],"queue":{..}}.
base::Value to_document(const ShardsProgress& progress);

// State of the array's tasks, "3 RUNNING, 5 PENDING" or "has ended"; state of the job that merges.
std::string tasks_text(const Queue& queue);
std::string merge_text(const Queue& queue);

}  // namespace tilescope::experiments
