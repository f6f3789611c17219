// SPDX-License-Identifier: Apache-2.0
#pragma once
// The groups of a network in the order in which they run on a chip: their times, their memory, their programs.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/common/totals.h"
#include "api/network/detail/grouping.h"
#include "api/network/memory.h"
#include "api/network/times.h"
#include "api/simulate/repeating.h"
#include "arch/spec.h"
#include "graph/network.h"
#include "graph/subgraph.h"
#include "model/common/estimate.h"
#include "tile/program.h"

namespace tilescope::api {

// Bytes of an array, as a chip holds it.
double chip_bytes(const graph::NetworkTensor& t);

class Schedule {
 public:
  // Predicts every group. Network, uses and chip have to outlive it.
  Schedule(const graph::Network& network, const graph::Uses& uses, const arch::ArchSpec& chip, Grouping grouping);

  // Whether times know what a kernel finds in the device's caches.
  bool in_sequence() const { return in_sequence_; }
  const std::vector<NodeGroup>& groups() const { return grouping_.groups; }

  void simulate(const SimulationHow& how, int jobs, const Progress& progress);
  std::optional<NetworkSimulation> simulation() const;

  // A row for each group, then one for each node that no group holds.
  std::vector<NetworkGroupRow> rows() const;
  NetworkTotal total(const std::vector<NetworkGroupRow>& rows) const;
  double launch_us() const;
  // Of all groups that have a time, at the chip's clock and at the one that the board's limit leaves to them together;
  // nullopt where the chip's file lacks figures, which `lacking` then names if it has some.
  std::optional<EnergyRow> energy(std::optional<std::string>& lacking) const;
  // What comes from outside once, and all operations at their peak.
  double least_us() const;
  NetworkMemory memory() const;
  // Arrays that a group writes and later ones or the network's user read.
  std::vector<LivingTensor> written() const;
  // In the order in which the rows name them.
  std::vector<NetworkTensorRow> tensors(const std::vector<NetworkGroupRow>& rows) const;
  // Every different program once.
  std::vector<ProgramToWrite> programs() const;
  std::vector<TimedOperator> timed() const;

 private:
  struct Life {
    bool written = false;
    std::size_t first = 0, last = 0;
  };

  void set_estimates();
  // The network's array of each tensor of the group. A group that reads an array in two shapes has two tensors of it:
  // the first by name is the array, the other counts as the group's own.
  std::map<std::string, std::string> array_names(std::size_t g) const;
  // The id of a program whose first group this is: the group's number and the name of its first node, as a file name.
  std::string id_of(std::size_t g) const;
  NetworkGroupRow row(std::size_t g) const;
  void set_simulation(const RepeatedSimulation& of, NetworkGroupRow& r) const;
  // Of every array that the group reads or writes, its bytes that it touches.
  std::map<std::string, double> touched_bytes(std::size_t g) const;
  // Of every array that a group reads or writes; results of the network live to its end.
  std::map<std::string, Life> lives() const;

  const graph::Network& network_;
  const graph::Uses& uses_;
  const arch::ArchSpec& chip_;
  Grouping grouping_;
  std::vector<std::optional<model::Estimate>> estimates_;  // by group
  std::vector<tile::RProgram> programs_;                   // on the network's arrays
  std::map<std::size_t, std::size_t> place_;               // in programs_, by group
  std::map<const Ranked*, std::string> ids_;               // of programs, by what was constructed
  std::optional<RepeatingSimulations> simulations_;
  std::map<std::string, std::size_t> first_;  // the first group that reads or writes the array
  bool in_sequence_ = false;
};

// Whether the chip holds it; else an error says how much of what there is.
bool fits(const NetworkMemory& m, const arch::ArchSpec& chip, base::Diagnostics& diags, base::Position at);

}  // namespace tilescope::api
