// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of programs on many chips of one geometry at once. A program's costs are computed once for all chips that agree
// in the rates that determine them, and the queueing networks of all chips are solved together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/simt/counts.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// Not thread-safe.
class Batch {
 public:
  // All machines have the same Geometry.
  explicit Batch(std::vector<Machine> machines);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::vector<Machine>& machines() const { return machines_; }

  // Writes to `out` the register limit of the compiler on each machine, as model::held_registers, for a program that
  // lower/ makes.
  void held_registers(const Counts& counts, std::span<std::int64_t> out) const;
  // Writes to `us` the microseconds on each machine with the compiler limited to that machine's `registers`,
  // bit-identical to time_unless_bound without a limit. An entry is unchanged where its `registers` is negative.
  void times(const Counts& counts, std::span<const std::int64_t> registers, std::span<double> us);

 private:
  class Costs;

  std::vector<Machine> machines_;
  // For each machine the last one before it, or itself, that agrees in what determines a block's work on a core and the
  // resident blocks; likewise for the bytes that reach each level.
  std::vector<std::size_t> same_core_, same_reuse_;
  std::unique_ptr<Costs> costs_;
};

}  // namespace tilescope::model
