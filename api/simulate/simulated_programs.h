// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs through the simulator, each in a process of its own; for api/ and experiments/ only.

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
  bool died = false;                        // the worker's process died; another attempt may succeed
  double cpu_seconds = 0;                   // of the worker process
  std::size_t peak_bytes = 0;               // resident memory of the worker
  std::optional<double> timeline_until_us;  // time at which the timeline was full, if it was
};

// Runs in a worker: simulates kernels, and returns an answer for simulated_by.
std::string simulate_in_worker(const targets::Lowered& lowered, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& timeline);
// Runs in a worker: lowers the program, simulates it, and returns an answer for simulated_by. Throws std::runtime_error
// if the program cannot be lowered.
std::string simulate_in_worker(const tile::RProgram& program, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& timeline = std::nullopt);
// Runs in a worker: simulates programs one after another in the same memory, where tensors of one name are one array.
// Returns an answer for simulated_sequence. Throws std::runtime_error if one cannot be lowered.
std::string simulate_sequence_in_worker(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a,
                                        const SimulationHow& how);
// Reads that answer: one simulation for each program, or one with the error.
std::vector<SimulatedProgram> simulated_sequence(WorkerResult answer, const arch::ArchSpec& a);
// Runs in a worker: simulates programs one after another, each alone, and returns an answer for fastest_by. Throws what
// the last one threw if none has a time.
std::string simulate_fastest_in_worker(const std::vector<const tile::RProgram*>& programs, const arch::ArchSpec& a,
                                       const SimulationHow& how);
// Reads that answer: the place of the fastest program, and its simulation.
std::pair<std::size_t, SimulatedProgram> fastest_by(WorkerResult answer, const arch::ArchSpec& a);
// Reads a worker's answer about a simulation on this chip.
SimulatedProgram simulated_by(WorkerResult answer, const arch::ArchSpec& a);
// If the worker died and the chip has a DRAM library (arch::DramLevel::model), names the library in the error, because
// it may have ended the process.
void name_library(WorkerResult& answer, const arch::ArchSpec& a);

// Simulates the programs, `jobs` at a time; the results are in the order of `programs`. A timeline is of the first
// program.
std::vector<SimulatedProgram> simulate_programs(const std::vector<const tile::RProgram*>& programs,
                                                const arch::ArchSpec& a, const SimulationHow& how, int jobs,
                                                const Progress& progress,
                                                const std::optional<TimelineRequest>& timeline = std::nullopt);

}  // namespace tilescope::api
