// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs phases of cores that compute, meet and exchange in simulated time, on SystemC: a module for the fabric, one for
// the barrier at which cores arrive. Event-driven: where nothing is due, no time is spent.

#include <memory>
#include <vector>

#include "sim/bsp/detail/fabric.h"

namespace tilescope::sim::bsp {

class SuperstepLoop {
 public:
  // The fabric outlives the loop.
  SuperstepLoop(Fabric& fabric, Cycle sync);
  ~SuperstepLoop();

  Cycle now() const;
  // An exchange, between two barriers; how long it takes without these.
  Cycle exchange(const Exchange& e);
  // Every core computes for so long; until the last one is done.
  Cycle compute(const std::vector<Cycle>& of_cores);

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace tilescope::sim::bsp
