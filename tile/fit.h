// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program fits a chip: exact limits only, never estimates. Registers that a program does not state are left
// to the compiler; the model charges what spills.

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/program.h"

namespace tilescope::tile {

using arch::kRegisterBytes;

// Whether a stage's program exceeds no limit of a chip; an error for each that it does, "which limit: needs N, the chip
// has M", at the key that asks for so much.
bool check_fit(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags, const NodePlaces& at = {});

// The same test without the sentences.
bool fits(const StageProgram& p, const arch::ArchSpec& a);

// Whether the registers that the program states are enough for its sums; true where it states none.
bool holds_sums(const StageProgram& p);

// The same, and whether the chip has so many for each thread of a block: what `fits` asks anew once a program states
// its registers.
bool holds_registers(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
