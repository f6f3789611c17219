// SPDX-License-Identifier: Apache-2.0
#pragma once
// From an rProgram to the kernels that do its work on a chip: the meaning of tile/program.h spelled out, thread by
// thread and address by address.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::lower {

// One kernel per stage, and a second one that adds up the parts of a split reduction. Nothing where the program cannot
// run on the chip, after errors that say which limit it exceeds and by how much. Errors of all functions stand `at` the
// places of the program, or of its stage.
std::optional<Module> lower(const tile::RProgram& program, const arch::ArchSpec& chip, base::Diagnostics& diags,
                            const tile::ProgramPlaces& at = {});

// Why no program that multiplies by that matrix instruction of the chip can be lowered, in a sentence; empty where they
// can. Construction, readers of programs and sweeps all call it, so that what one command predicts the next one
// simulates.
std::string lowering_refusal(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip);

// Whether a stage's program fits the chip, and multiplies by an instruction that can be lowered there; an error for
// each reason against it.
bool check_lowerable(const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                     const tile::NodePlaces& at = {});

// A program made for any chip, as this one takes it: with this chip's own instruction of the name that the program
// says. Nothing, after errors, where it cannot be lowered.
std::optional<tile::StageProgram> retargeted_to(tile::StageProgram p, const arch::ArchSpec& chip,
                                                base::Diagnostics& diags, const tile::NodePlaces& at = {});

}  // namespace tilescope::lower
