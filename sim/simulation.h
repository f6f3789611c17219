// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulation of a module's kernels as a part of a user's SystemC platform: its SystemC modules join those under
// elaboration, and it runs in the platform's time. sim/simulate.h runs a simulation alone.

#include <memory>
#include <variant>

#include "arch/spec.h"
#include "lower/kernel.h"
#include "sim/common/report.h"
#include "sim/memory/dram_model.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

struct SimulationParts;

// A user's replacement for a part of the chip: its DRAM, or everything behind its cores.
using Foreign = std::variant<DramFactory, BehindCores>;

// Simulates the whole chip, also in mode kScaled. With BehindCores every step runs, since a user's caches cannot be
// warmed.
class Simulation {
 public:
  // Throws SimError where the chip cannot run the module, and SystemC's own exception where SystemC runs already. The
  // module, the chip and everything that the options point to must outlive the simulation.
  Simulation(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options, Foreign foreign);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // For an SC_THREAD of the platform: returns when the last kernel has ended. Throws SimError.
  SimReport run();

 private:
  std::unique_ptr<SimulationParts> parts_;
};

}  // namespace tilescope::sim
