// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs run through the simulator, each in a process of its own; for api/ and experiments/ alone.

#include <optional>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/common/simulation.h"
#include "api/common/workers.h"
#include "api/simulate/simulate.h"
#include "api/simulate/timeline.h"
#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::targets {
struct Lowered;
}

namespace tilescope::api {

// A simulation, or why there is none.
struct SimulatedProgram {
  std::optional<Simulation> simulation;
  std::string error;
  bool died = false;                        // the worker's process: another time there may be one
  double cpu_seconds = 0;                   // of the worker process
  std::size_t peak_bytes = 0;               // of its resident memory
  std::optional<double> timeline_until_us;  // where the timeline is full
};

// What a worker does: simulates kernels. Its answer, which simulated_by reads.
std::string simulate_in_worker(const targets::Lowered& lowered, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& timeline);
// What a worker does: lowers the program itself, and simulates it. Its answer, which simulated_by reads.
std::string simulate_in_worker(const tile::RProgram& program, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& timeline = std::nullopt);
// Of a simulation on this chip.
SimulatedProgram simulated_by(WorkerResult answer, const arch::ArchSpec& a);
// Says of a worker that ended which library of the chip's it had loaded: what is loaded may end its process.
void name_library(WorkerResult& answer, const arch::ArchSpec& a);

// In order, `jobs` at a time; a timeline is of the first program.
std::vector<SimulatedProgram> simulate_programs(const std::vector<const tile::RProgram*>& programs,
                                                const arch::ArchSpec& a, const SimulationHow& how, int jobs,
                                                const Progress& progress,
                                                const std::optional<TimelineRequest>& timeline = std::nullopt);

}  // namespace tilescope::api
