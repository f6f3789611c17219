// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates programs that run one after another where many of them repeat: the layers of a network. For api/ and
// experiments/ only.

#include <cstddef>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/simulate/simulate.h"
#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::api {

// What stands for the simulation of one of the programs.
struct RepeatedSimulation {
  const Simulation* simulation = nullptr;  // of the first program that is met as this one is; null after an error
  const std::string* error = nullptr;      // null where there is a simulation
};

class RepeatingSimulations {
 public:
  // Simulates the programs, each with what those before it leave in the device's caches. Tensors of one name are one
  // array. The simulation of a program is also that of later ones that equal it and come after equal ones, back to
  // where their arrays fill the largest cache: older lines are evicted. Chips without such caches simulate each
  // different program once. Programs that follow one another are simulated in one worker process, `jobs` of them at a
  // time; those of a run that failed are simulated again, alone and after empty caches.
  RepeatingSimulations(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a, const SimulationHow& how,
                       int jobs, const Progress& progress);

  RepeatedSimulation of(std::size_t program) const;
  std::size_t simulated() const { return simulated_; }
  double cpu_seconds() const { return cpu_seconds_; }
  std::size_t peak_bytes() const { return peak_bytes_; }  // resident memory of the largest worker

 private:
  struct Result {
    Simulation simulation;
    std::string error;
  };
  std::vector<Result> results_;      // of every program that was simulated
  std::vector<std::size_t> result_;  // by program
  std::size_t simulated_ = 0;
  double cpu_seconds_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace tilescope::api
