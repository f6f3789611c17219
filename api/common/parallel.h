// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on several threads with OpenMP, for api/ and experiments/ only.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>

namespace tilescope::api {

// Calls a worker with 0, 1, ... n-1, each number once, on at most `jobs` threads; every thread makes its own worker.
// Rethrows the first exception in the calling thread; OpenMP alone would end the program.
template <class MakeWorker>
void parallel_for(std::size_t n, int jobs, MakeWorker make_worker) {
  const auto threads = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(jobs, 1)), n));
  if (threads == 0) return;
  std::exception_ptr failed;
  const auto guarded = [&failed](auto&& work) {
    try {
      work();
    } catch (...) {
#pragma omp critical(tilescope_failed)
      if (!failed) failed = std::current_exception();
    }
  };
#pragma omp parallel num_threads(threads)
  {
    std::optional<decltype(make_worker())> worker;
    guarded([&] { worker.emplace(make_worker()); });
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < n; ++i)
      if (worker) guarded([&] { (*worker)(i); });
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace tilescope::api
