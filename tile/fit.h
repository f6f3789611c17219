// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program fits a chip, by exact limits only, never by estimates. Where a program states no registers, the
// compiler chooses them; the model charges for spills.

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/program.h"

namespace tilescope::tile {

using arch::kRegisterBytes;

// Whether a stage's program stays within all limits of a chip. Reports an error for each exceeded limit, "which limit:
// needs N, the chip has M", at the key responsible.
bool check_fit(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags, const NodePlaces& at = {});

// The same test without messages.
bool fits(const StageProgram& p, const arch::ArchSpec& a);

// Whether the registers that the program states are enough for its sums; true where it states none.
bool holds_sums(const StageProgram& p);

// The same, and whether the chip has that many registers for each thread of a block: the checks of `fits` that depend
// on a program's registers.
bool holds_registers(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
