// SPDX-License-Identifier: Apache-2.0
#pragma once
// What carries an exchange: ports of an exchange whose phases are scheduled beforehand, or links of a mesh.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "arch/spec.h"
#include "base/integer.h"
#include "sim/bsp/detail/exchange.h"
#include "sim/common/cycle.h"
#include "sim/common/report.h"

namespace tilescope::sim::bsp {

// When a core's port to a network is busy: sending where `out`.
struct PortUse {
  std::int64_t core = 0, network = 0;
  bool out = false;
  Cycle from{}, until{};
  std::int64_t bytes = 0;
};
using PortWatch = std::function<void(const PortUse&)>;

// What a transfer's bytes and packet headers take on a link.
inline Cycle cycles_of_bytes(const Transfer& t, const arch::LinkSpec& link) {
  return Cycle(base::ceil_div(t.bytes + (link.header ? link.header->n * t.pieces : 0), link.width.n));
}

// What an exchange asks of what carries it, counted exactly and not scheduled.
struct Load {
  Cycle busiest{};               // that the busiest port or link is held
  Cycle way{};                   // of the farthest receiver's first byte, where nothing waits
  std::int64_t links_taken = 0;  // by all heads, which is what scheduling costs
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Nothing where its schedules are never long.
  virtual std::optional<Load> load(const Exchange& exchange) const = 0;

  // Everything rests; the exchange, which outlives its run, begins at `now`.
  virtual void begin(const Exchange& exchange, Cycle now) = 0;
  // What the DRAM does for an exchange, counted and not scheduled (rows that are open are not known); and did since the
  // last call.
  virtual LevelStatistics dram_of(const Exchange& /*exchange*/) const { return {}; }
  virtual LevelStatistics take_dram_statistics() { return {}; }
  // Refreshes of the DRAM that are due by then since time zero.
  virtual std::int64_t dram_refreshes(Cycle /*until*/) const { return 0; }
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
