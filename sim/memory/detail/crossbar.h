// SPDX-License-Identifier: Apache-2.0
#pragma once
// The way between cores and the slices: a port of each core, each way, and behind it one that neighbouring cores share,
// where the chip has such. What a core sends passes its own port first, what it gets comes through the shared one.
//
// Ignores: the way behind the ports, where nothing waits; buffers at them.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

// A port that so many neighbouring cores share; the last one may have fewer.
struct ClusterSpec {
  std::int64_t cores = 1;
  Rate rate;  // bytes, each way
};

class Crossbar {
 public:
  // Nothing waits for a port that the chip lacks.
  Crossbar(std::int64_t cores, std::optional<Rate> port, std::optional<ClusterSpec> cluster);

  // When the first beat of a request is on its way, which the others follow: a read is one beat of the core's port.
  Cycle send(int core, Cycle from, std::int64_t written_bytes);
  // When all of a reply has come through the ports.
  Cycle receive(int core, Cycle from, std::int64_t bytes);
  // What these ports take of an idle reply.
  Cycle idle_cycles(std::int64_t bytes) const;

  bool has_ports() const { return port_.has_value(); }
  const ReservationTable& out(std::size_t core) const { return own_[core].out; }
  const ReservationTable& in(std::size_t core) const { return own_[core].in; }

 private:
  struct Port {
    ReservationTable out, in;
  };
  Port& shared(int core) { return shared_[static_cast<std::size_t>(core / cluster_->cores)]; }

  std::optional<Rate> port_;
  std::optional<ClusterSpec> cluster_;
  std::vector<Port> own_, shared_;  // by core; by cluster
};

}  // namespace tilescope::sim
