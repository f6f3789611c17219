// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowers an rProgram to the kernels that do its work on a chip: tile/program.h spelled out, thread by thread and
// address by address.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::lower {

// One kernel for each stage, or group of fused stages (tile/group.h), and a second one that adds up the parts of a
// split reduction. nullopt, with errors that say which limit is exceeded and by how much, where the program cannot run
// on the chip. Errors of all functions have the positions `at` of the program or of its stage.
std::optional<Module> lower(const tile::RProgram& program, const arch::ArchSpec& chip, base::Diagnostics& diags,
                            const tile::ProgramPlaces& at = {});

// Why no program that multiplies by that matrix instruction of the chip can be lowered, in a sentence; empty where
// programs can. Construction, readers of programs and sweeps all call it, so that every program that is predicted can
// be simulated.
std::string lowering_refusal(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip);

// Whether a stage's program fits the chip, and multiplies by an instruction that can be lowered there. Adds an error
// for each reason against it.
bool check_lowerable(const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                     const tile::NodePlaces& at = {});

// A program made for any chip, for this one: its matrix instruction becomes this chip's of the same name. nullopt, with
// errors, where the program cannot be lowered.
std::optional<tile::StageProgram> retargeted_to(tile::StageProgram p, const arch::ArchSpec& chip,
                                                base::Diagnostics& diags, const tile::NodePlaces& at = {});

}  // namespace tilescope::lower
