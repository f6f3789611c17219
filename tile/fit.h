#pragma once
// Whether a program fits a chip: only exact limits, never estimates (registers that a program does not state are the
// compiler's business; the model charges for what spills).

#include <string>
#include <vector>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

using arch::kRegisterBytes;

// The limits of a chip that a stage's program exceeds, each as "which limit: needs N, the chip has M".
std::vector<std::string> exceeded_limits(const StageProgram& p, const arch::ArchSpec& a);

// No limit is exceeded; the same test without the sentences.
bool fits(const StageProgram& p, const arch::ArchSpec& a);

// Whether the registers that the program states are enough for its sums; true where it states none.
bool holds_sums(const StageProgram& p);

// The same, and whether the chip has so many for each thread of a block: what `fits` asks anew once a program states
// its registers.
bool holds_registers(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
