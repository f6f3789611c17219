// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/crossbar.h"

#include <algorithm>

namespace tilescope::sim {

Crossbar::Crossbar(std::int64_t cores, std::optional<Rate> port, std::optional<ClusterSpec> cluster)
    : port_(port), cluster_(cluster) {
  const auto ports = [](std::int64_t count, const Rate& rate) {
    return std::vector<Port>(static_cast<std::size_t>(count), Port{ReservationTable(rate), ReservationTable(rate)});
  };
  if (port) own_ = ports(cores, *port);
  if (cluster) shared_ = ports(base::ceil_div(cores, cluster->cores), cluster->rate);
}

Cycle Crossbar::send(int core, Cycle from, std::int64_t written_bytes) {
  if (!port_) return from;
  const std::int64_t beat = std::max<std::int64_t>(1, port_->units / port_->cycles);
  const std::int64_t units = written_bytes > 0 ? written_bytes : beat;
  Cycle sent = own_[static_cast<std::size_t>(core)].out.book(from, units) - 1_cycles;
  if (cluster_) sent = shared(core).out.book(sent, units) - 1_cycles;
  return sent;
}

Cycle Crossbar::receive(int core, Cycle from, std::int64_t bytes) {
  if (cluster_) from = shared(core).in.book(from, bytes);
  if (port_) from = own_[static_cast<std::size_t>(core)].in.book(from, bytes);
  return from;
}

Cycle Crossbar::idle_cycles(std::int64_t bytes) const {
  return (port_ ? cycles_of(*port_, bytes) : 0_cycles) + (cluster_ ? cycles_of(cluster_->rate, bytes) : 0_cycles);
}

}  // namespace tilescope::sim
