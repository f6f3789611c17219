// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs' times on many chips of one geometry at a time: what a program costs is found once for all chips that agree
// in the rates that decide it, and the queueing networks of all chips are solved together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/simt/counts.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// Not for several threads.
class Batch {
 public:
  // Machines of one Geometry.
  explicit Batch(std::vector<Machine> machines);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::vector<Machine>& machines() const { return machines_; }

  // Of a program that lower/ makes, what each machine's compiler is held to: as model::held_registers.
  void held_registers(const Counts& counts, std::span<std::int64_t> out) const;
  // Microseconds on each machine, its compiler held to so many registers, as time_unless_bound has them where nothing
  // is bound, to the last bit; left as they are where `registers` is negative.
  void times(const Counts& counts, std::span<const std::int64_t> registers, std::span<double> us);

 private:
  class Costs;

  std::vector<Machine> machines_;
  // Of each machine the last one before it, or itself, that agrees in what decides: what a core does with a block and
  // how many it has; what reaches which level.
  std::vector<std::size_t> same_core_, same_reuse_;
  std::unique_ptr<Costs> costs_;
};

}  // namespace tilescope::model
