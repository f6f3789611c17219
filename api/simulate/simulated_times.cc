// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/simulated_times.h"

#include <cmath>
#include <limits>
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

std::vector<std::optional<double>> SimulatedTimes::of(const std::vector<const tile::RProgram*>& programs,
                                                      const std::function<void()>& done) {
  refusal_.clear();
  lost_.clear();
  std::vector<std::string> keys;
  for (const tile::RProgram* p : programs)
    keys.push_back(base::content_hash(simulator_ + base::to_json(tile::to_document(*p, chip_))));
  WorkerCalls calls;
  calls.begin = [&](std::size_t i) {
    const bool known = kept_.find(keys[i]) != nullptr;
    if (known) done();
    return !known;
  };
  calls.job = [&](std::size_t i) { return simulate_in_worker(*programs[i], chip_, SimulationMode::kSampled); };
  calls.end = [&](std::size_t i, WorkerResult answer) {
    const SimulatedProgram simulated = simulated_by(std::move(answer), chip_);
    done();
    if (simulated.died) {
      lost_ = simulated.error;
      return;
    }
    if (!simulated.simulation) refusal_ = simulated.error;
    const double none = std::numeric_limits<double>::infinity();
    kept_.add(keys[i], simulated.simulation ? simulated.simulation->simulated_us : none);
  };
  calls.stop = [] { return false; };
  work_in_workers(programs.size(), jobs_, calls);
  std::vector<std::optional<double>> out;
  for (const std::string& key : keys) {
    const double* us = kept_.find(key);
    out.push_back(us != nullptr && std::isfinite(*us) ? std::optional(*us) : std::nullopt);
  }
  return out;
}

}  // namespace tilescope::api
