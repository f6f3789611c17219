// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip's rows say of programs beside their times.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tests {

// The bands as they are printed of the chip that they were measured on, and `--error-bands extrapolated`. That another
// chip has none says nothing of what hears the number that makes it another.
std::string bands_answer(const std::vector<tile::RProgram>& programs, arch::ArchSpec a);

// Energies, and the clocks that the board's limit leaves; of programs that the chip cannot run, none.
std::string energy_answer(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a);

// Energies of products, sums and elementwise operators by every instruction of cores that exchange, each on programs of
// the chip `own`.
std::string exchanged_energy_answer(const arch::ArchSpec& own, const arch::ArchSpec& a);

}  // namespace tilescope::tests
