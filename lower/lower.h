#pragma once
// From an rProgram to the kernels that do its work on a chip: the meaning of tile/program.h spelled out, thread by
// thread and address by address.

#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::lower {

// One kernel per stage, and a second one that adds up the parts of a split reduction. Nothing where the program cannot
// run on the chip: `why` then says which limit it exceeds and by how much, a sentence each.
std::optional<Module> lower(const tile::RProgram& program, const arch::ArchSpec& chip, std::vector<std::string>& why);

// Whether programs that multiply by that matrix instruction of the chip can be lowered; where none can, `why` gets the
// reason. Construction, readers of programs and sweeps ask it alike: what one verb predicts, the next one simulates.
bool lowerable(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip, std::string& why);

// Whether a stage's program fits the chip, and multiplies by what can be lowered there; `why` gets a sentence for each
// thing that is in the way.
bool lowerable(const tile::StageProgram& p, const arch::ArchSpec& chip, std::vector<std::string>& why);

// The same program, made for whatever chip, as this one takes it: with its own instruction of the name that the program
// says. Nothing, after `why`, where it cannot be lowered.
std::optional<tile::StageProgram> taken_by(tile::StageProgram p, const arch::ArchSpec& chip,
                                           std::vector<std::string>& why);

}  // namespace tilescope::lower
