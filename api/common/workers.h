// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs jobs in child processes: SystemC allows one kernel per process, and a job that crashes loses only its own
// result. For the .cc files of api/ and experiments/.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/common/progress.h"

namespace tilescope::api {

struct WorkerResult {
  std::string text;            // what the job returned
  std::string error;           // why it returned nothing: an exception's text, or how its process ended
  bool died = false;           // its process ended without an answer; another attempt may succeed
  double cpu_seconds = 0;      // of the worker
  std::size_t peak_bytes = 0;  // resident memory of the worker
};

// Callbacks of a pool of workers. `job` runs in the worker's process, all others in this one.
struct WorkerCalls {
  std::function<bool(std::size_t)> begin;              // before a job is forked; false if it needs no worker
  std::function<std::string(std::size_t)> job;         // runs in the worker; returns its answer
  std::function<void(std::size_t, WorkerResult)> end;  // with each result, in the order in which workers end
  std::function<bool()> stop;                          // polled; once it returns true, no further job starts
};

// Like run_in_workers, but passes each result to `calls.end` as its worker ends. Workers that do not end within a
// second after `calls.stop` returns true are terminated, and their results are not reported.
void work_in_workers(std::size_t n, int jobs, const WorkerCalls& calls);

// Calls job(0) ... job(n-1), each in a child process forked from this one, at most `jobs` of them at a time, and
// returns their results in order. The results do not depend on `jobs`. A child has only the thread that forked it. Call
// this while no other thread holds a lock (OpenMP's idle threads, which outlive its regions, hold none), and use no
// OpenMP in a job, because it would wait for threads that the child lacks. Workers end when the calling thread ends.
std::vector<WorkerResult> run_in_workers(std::size_t n, int jobs, const std::function<std::string(std::size_t)>& job,
                                         const Progress& progress);

}  // namespace tilescope::api
