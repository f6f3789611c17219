// SPDX-License-Identifier: Apache-2.0
#pragma once
// What carries an exchange: ports of an exchange whose phases are scheduled beforehand, or links of a mesh.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "arch/spec.h"
#include "sim/bsp/detail/exchange.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"

namespace tilescope::sim::bsp {

// When a core's port to a network is busy: sending where `out`.
struct PortUse {
  std::int64_t core = 0, network = 0;
  bool out = false;
  Cycle from = 0, until = 0;
  std::int64_t bytes = 0;
};
using PortWatch = std::function<void(const PortUse&)>;

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Everything rests; the exchange, which outlives its run, begins at `now`.
  virtual void begin(const Exchange& exchange, Cycle now) = 0;
  // What the DRAM did since the last call.
  virtual LevelStatistics take_dram_statistics() { return {}; }
  // When something is due next; nothing when all of it is under way or done.
  virtual std::optional<Cycle> next() const = 0;
  // Does what is due at `now`.
  virtual void advance(Cycle now) = 0;
  // When the last byte arrives of what has begun.
  virtual Cycle end() const = 0;
};

// A chip's link between its cores.
std::unique_ptr<Fabric> make_ports(const arch::ArchSpec& a, PortWatch watch);
std::unique_ptr<Fabric> make_mesh(const arch::ArchSpec& a, PortWatch watch);

}  // namespace tilescope::sim::bsp
