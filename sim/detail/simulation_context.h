// SPDX-License-Identifier: Apache-2.0
#pragma once
// SystemC's time and context, as simulations here use them.

#include <systemc>

#include "sim/common/cycle.h"

namespace tilescope::sim {

// One unit of SystemC's time is one core cycle.
inline Cycle cycle_now() { return Cycle(static_cast<std::int64_t>(sc_core::sc_time_stamp().value())); }

// From now until then, as SystemC counts it.
inline sc_core::sc_time until(Cycle at) {
  const Cycle now = cycle_now();
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(at > now ? (at - now).count() : 0));
}

// A context of its own for each run, so that a process can hold any number of them, one after the other.
class SimulationContext {
 public:
  SimulationContext() : current_(sc_core::sc_get_curr_simcontext()), usual_(sc_core::sc_default_global_context) {
    own_ = new sc_core::sc_simcontext;
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = own_;
  }
  ~SimulationContext() {
    delete own_;
    sc_core::sc_curr_simcontext = current_;
    sc_core::sc_default_global_context = usual_;
  }
  SimulationContext(const SimulationContext&) = delete;
  SimulationContext& operator=(const SimulationContext&) = delete;

 private:
  sc_core::sc_simcontext *current_, *usual_, *own_;
};

// Runs until nothing is left to do. What one of our processes throws, a timeline that cannot be written among it,
// SystemC hands on within a report of its own; our sentence is all that says something.
void run_to_rest();

}  // namespace tilescope::sim
