// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulation of a module's kernels as a part of a user's SystemC platform: its modules join those under elaboration
// and its time is the platform's. sim/simulate.h runs one alone.

#include <memory>
#include <variant>

#include "arch/spec.h"
#include "lower/kernel.h"
#include "sim/common/report.h"
#include "sim/memory/dram_model.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

struct SimulationParts;

// What a user has in place of a part of the chip: of its DRAM, or of all that lies behind its cores.
using Foreign = std::variant<DramFactory, BehindCores>;

// Of the whole chip, whatever the options' mode; behind cores every step is run, for a user's caches cannot be warmed.
class Simulation {
 public:
  // Throws SimError where the chip cannot run the module, and while SystemC runs already what SystemC throws then. The
  // module, the chip and what the options name outlive the simulation.
  Simulation(const lower::Module& module, const arch::ArchSpec& chip, const SimOptions& options, Foreign foreign);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // In a platform, of an SC_THREAD of it: returns when the last kernel has ended. Throws SimError.
  SimReport run();

 private:
  std::unique_ptr<SimulationParts> parts_;
};

}  // namespace tilescope::sim
