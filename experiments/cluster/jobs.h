// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shards of a sweep as jobs of a cluster: an array of one task a shard, and a job that merges what they stored.
// Tasks share nothing but the file system that the stores lie on.

#include <cstddef>
#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

struct JobsRequest {
  std::string file, store;            // the sweep's, and of the whole sweep; shards get stores beside it
  std::string tool_version;           // of what computes
  std::string program;                // the tilescope that tasks run
  std::optional<std::size_t> shards;  // else as many as there are stores of, or four times the limit
  std::size_t limit = 16;             // tasks at a time
  std::string sbatch;                 // more options of sbatch, as a shell reads them
  std::string options;                // more options of `sweep`, as a shell reads them
};

// Scripts of bash, and the commands that submit them.
struct Jobs {
  std::string title, store;
  std::size_t shards = 1, limit = 1, points = 0;
  std::string array_file, array;  // where the script of a task goes, and its text
  std::string merge_file, merge;  // of the job that merges
  std::string submit_array;
  std::string submit_merge;  // with ARRAY for the number that the array is given
  std::string elsewhere;     // the same for LSF and for GNU parallel, as comments
};

// Nothing after errors in the sweep's file, or where stores are there that these jobs cannot go on with.
std::optional<Jobs> jobs_of(const JobsRequest& request, base::Diagnostics& diags);

// The scripts and commands as a text that a shell reads.
std::string to_text(const Jobs& jobs);

// The command that submits the job that merges, for an array of that number.
std::string submit_merge(const Jobs& jobs, const std::string& array);

// {"sweep","store","shards","limit","points","scripts":[{"file","text"}],"commands":[..]}.
base::Value to_document(const Jobs& jobs);

}  // namespace tilescope::experiments
