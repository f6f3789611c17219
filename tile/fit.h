// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program fits a chip, by exact limits only, never by estimates. Where a program states no registers, the
// compiler chooses them; the model charges for spills.

#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/program.h"

namespace tilescope::tile {

using arch::kRegisterBytes;

// Whether a stage's program stays within all limits of a chip. Reports an error for each exceeded limit, "which limit:
// needs N, the chip has M", at the key responsible.
bool check_fit(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags, const NodePlaces& at = {});

// Its part about registers, which no program that ran can exceed either.
bool check_registers(const StageProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags,
                     const NodePlaces& at = {});

// The first test without messages.
bool fits(const StageProgram& p, const arch::ArchSpec& a);

// Why a stage that gathers cannot be programmed so, in a sentence; empty where it can, and for other stages.
std::string gathering_refusal(const StageProgram& p);

// Whether the registers that the program states are enough for its sums; true where it states none.
bool holds_sums(const StageProgram& p);

// check_registers without messages.
bool holds_registers(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
