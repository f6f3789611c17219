// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/simulated_times.h"

#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "api/common/workers.h"
#include "api/simulate/code_version.h"
#include "api/simulate/simulate.h"
#include "api/simulate/simulated_programs.h"
#include "arch/load.h"
#include "base/document.h"
#include "base/hash.h"
#include "tile/program_json.h"

namespace tilescope::api {

SimulatedTimes::SimulatedTimes(const arch::ArchSpec& a, const std::string& file, int jobs)
    : chip_(a), jobs_(jobs), simulator_(simulator_version() + base::to_json(arch::to_document(a))), kept_(file) {}

std::vector<SimulatedTime> SimulatedTimes::of(const std::vector<const tile::RProgram*>& programs,
                                              const std::function<void()>& done) {
  std::vector<std::string> keys;
  for (const tile::RProgram* p : programs)
    keys.push_back(base::content_hash(simulator_ + base::to_json(tile::to_document(*p, chip_))));
  std::map<std::string, std::string> lost;
  std::set<std::string> begun;
  WorkerCalls calls;
  calls.begin = [&](std::size_t i) {
    const bool begins = kept_.find(keys[i]) == nullptr && begun.insert(keys[i]).second;
    if (!begins) done();
    return begins;
  };
  calls.job = [&](std::size_t i) { return simulate_in_worker(*programs[i], chip_, SimulationMode::kSampled); };
  calls.end = [&](std::size_t i, WorkerResult answer) {
    SimulatedProgram simulated = simulated_by(std::move(answer), chip_);
    done();
    if (simulated.died) {
      lost[keys[i]] = std::move(simulated.error);
    } else if (simulated.simulation) {
      kept_.add(keys[i], simulated.simulation->simulated_us);
    } else {
      refusals_[keys[i]] = std::move(simulated.error);
      kept_.add(keys[i], std::numeric_limits<double>::infinity());
    }
  };
  calls.stop = [] { return false; };
  work_in_workers(programs.size(), jobs_, calls);
  std::vector<SimulatedTime> out;
  for (const std::string& key : keys) {
    SimulatedTime& time = out.emplace_back();
    if (const double* us = kept_.find(key); us == nullptr)
      time.why = lost[key], time.lost = true;
    else if (std::isfinite(*us))
      time.us = *us;
    else
      time.why = refusals_.contains(key) ? refusals_[key] : "an earlier run says that the simulator refuses it";
  }
  return out;
}

}  // namespace tilescope::api
