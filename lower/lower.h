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

// Whether programs that multiply by that matrix instruction of the chip can be lowered; `why` then says why they
// cannot.
bool lowerable(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip, std::string& why);
bool lowers(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip);

}  // namespace tilescope::lower
