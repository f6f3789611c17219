// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shards of a sweep as cluster jobs: an array with one task per shard, and a job that merges their stores. Tasks
// share only the file system that holds the stores.

#include <cstddef>
#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

struct JobsRequest {
  std::string file, store;  // the sweep's file; the store of the whole sweep, next to which shards get their own stores
  std::string tool_version;           // version of the tool that computes
  std::string program;                // path of the tilescope that tasks run
  std::optional<std::size_t> shards;  // else the number of shards of the existing stores, or without any four times
                                      // `limit`, at most one per point
  std::size_t limit = 16;             // concurrent tasks
  std::string sbatch;                 // more options of sbatch, in shell syntax
  std::string options;                // more options of `sweep`, in shell syntax
};

// Bash scripts, and the commands that submit them.
struct Jobs {
  std::string title, store;
  std::size_t shards = 1, limit = 1, points = 0;
  std::string array_file, array;  // the file for the script of a task, and its text
  std::string merge_file, merge;  // the same for the job that merges
  std::string submit_array;
  std::string submit_merge;  // with ARRAY in place of the array's job number
  std::string elsewhere;     // equivalent commands for LSF and GNU parallel, as comments
};

// Returns nullopt after errors in the sweep's file, or where existing stores do not match these jobs.
std::optional<Jobs> jobs_of(const JobsRequest& request, base::Diagnostics& diags);

// The scripts and commands as one text for a shell.
std::string to_text(const Jobs& jobs);

// The command that submits the job that merges, given the array's job number.
std::string submit_merge(const Jobs& jobs, const std::string& array);

// {"sweep","store","shards","limit","points","scripts":[{"file","text"}],"commands":[..]}.
base::Value to_document(const Jobs& jobs);

}  // namespace tilescope::experiments
