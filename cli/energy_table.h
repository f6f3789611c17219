// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of power and energy of programs, by the model or the simulator.

#include <optional>
#include <string>

#include "api/common/counts.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "cli/table.h"

namespace tilescope::cli {

// Adds an error at --energy if the chip's file has neither `power` nor `energy`.
void check_energy(const arch::ArchSpec& a, base::Diagnostics& diags);

class EnergyTable {
 public:
  // `programs`, `times`: titles of the columns of a row's first two values.
  EnergyTable(const std::string& programs, const std::string& times);

  // A program, its time, its energy, and which keys the chip's file lacks where it has none.
  void add(const std::string& id, double us, const std::optional<api::EnergyRow>& energy,
           const std::optional<std::string>& no_energy);
  // Below an empty line.
  void print() const;

 private:
  Table table_;
};

}  // namespace tilescope::cli
