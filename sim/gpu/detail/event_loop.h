// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a Gpu in simulated time, on SystemC: a module for every core that blocks may run on and one for what lies behind
// them. Event-driven: where nothing is due, no time is spent. SystemC has one kernel per process and no threads;
// callers run several simulations at a time in several processes.

#include <cstdint>
#include <memory>

#include "base/units.h"
#include "sim/gpu/detail/gpu.h"

namespace tilescope::sim {

class EventLoop {
 public:
  // Alone, one unit of SystemC's time is a core cycle; in a platform, whose elaboration is under way, cycles of that
  // clock begin at the first unit that is not before them.
  enum class Place : std::uint8_t { kAlone, kPlatform };

  // The Gpu outlives the loop.
  explicit EventLoop(Gpu& gpu, Place place = Place::kAlone, base::Hertz clock = {});
  ~EventLoop();

  // When a kernel can begin.
  Cycle now() const;
  // Runs the kernel that the Gpu has begun until nothing is left to do; in a platform, in an SC_THREAD of it. What a
  // part of the Gpu throws comes out of it.
  void run();

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace tilescope::sim
