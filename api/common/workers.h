// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work in processes of its own: SystemC's kernel is one per process, and a job that crashes loses its own row alone.
// For the .cc files of experiments/.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/common/progress.h"

namespace tilescope::api {

struct WorkerResult {
  std::string text;            // what the job returned
  std::string error;           // why it returned nothing: an exception's text, or how its process ended
  bool died = false;           // its process ended without an answer: another time it may have one
  double cpu_seconds = 0;      // of the worker
  std::size_t peak_bytes = 0;  // resident memory of the worker
};

// What is done about the jobs of a pool of workers; all but `job` in this process.
struct WorkerCalls {
  std::function<bool(std::size_t)> begin;              // before a job's fork; false where it needs no worker
  std::function<std::string(std::size_t)> job;         // in its worker
  std::function<void(std::size_t, WorkerResult)> end;  // in the order in which workers end
  std::function<bool()> stop;                          // asked now and then: starts no further job
};

// As run_in_workers, a job at a time on its way. Once it is to stop, workers that do not end within a second are ended,
// and their jobs never were.
void work_in_workers(std::size_t n, int jobs, const WorkerCalls& calls);

// Calls job(0) ... job(n-1), each in a child process forked from this one, at most `jobs` of them at a time, and
// returns what they returned, in order. The result does not depend on `jobs`. A child has only the thread that forked
// it: call this where no other thread holds a lock (OpenMP's idle threads, which outlive its regions, hold none), and
// use no OpenMP in a job, where it would wait for threads that the child lacks. A worker ends with the thread that
// called.
std::vector<WorkerResult> run_in_workers(std::size_t n, int jobs, const std::function<std::string(std::size_t)>& job,
                                         const Progress& progress);

}  // namespace tilescope::api
