// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a Gpu in simulated time, on SystemC: a module for every core that blocks may run on and one for what lies behind
// them. Event-driven: where nothing is due, no time is spent. SystemC has one kernel per process and no threads;
// callers run several simulations at a time in several processes.

#include <memory>

#include "sim/gpu/detail/gpu.h"

namespace tilescope::sim {

class EventLoop {
 public:
  // The Gpu outlives the loop.
  explicit EventLoop(Gpu& gpu);
  ~EventLoop();

  // When a kernel can begin.
  Cycle now() const;
  // Runs the kernel that the Gpu has begun until nothing is left to do.
  void run();

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace tilescope::sim
