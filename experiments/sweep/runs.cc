// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/runs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

namespace tilescope::experiments {
namespace {

constexpr std::size_t kMaxKept = 4096;  // searches whose programs wait for other points, where there are few operators
constexpr std::size_t kChipsOfARun = 16;

}  // namespace

std::vector<std::vector<Unit>> in_runs(const std::vector<Unit>& units, const SweepTasks& tasks) {
  const std::size_t operators = std::max<std::size_t>(1, kMaxKept / std::max<std::size_t>(1, tasks.all().size()));
  std::vector<std::size_t> pools, places;  // of tasks; the place is that among those that share its programs
  std::map<std::size_t, std::size_t> tasks_of_pool;
  for (const Task& t : tasks.all()) {
    pools.push_back(t.search ? tasks.searches().pool_of(*t.search) : 0);
    places.push_back(tasks_of_pool[pools.back()]++);
  }
  std::map<std::array<std::size_t, 4>, std::vector<Unit>> runs;
  for (const Unit& u : units)
    runs[{u.workload / operators, pools[u.task], places[u.task] / kChipsOfARun, u.workload}].push_back(u);
  std::vector<std::vector<Unit>> out;
  for (auto& [place, run] : runs) {
    std::stable_sort(run.begin(), run.end(), [](const Unit& a, const Unit& b) { return a.task < b.task; });
    out.push_back(std::move(run));
  }
  return out;
}

}  // namespace tilescope::experiments
