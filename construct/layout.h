#pragma once
// How one tile lies in the chip: reduction step, which threads own neighbouring elements, what is staged, how far
// staged rows are padded. The choices that ROLLER leaves to fixed rules, made for the banks and granules of the chip at
// hand.

#include <vector>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::construct {

// The program itself and its other layouts, each with the padding that costs fewest bank passes; not all of them fit.
std::vector<tile::StageProgram> layouts_of(const tile::StageProgram& p, const arch::ArchSpec& a, bool pads = true);

// Sets the padding of every staged operand to the one of none, one vector or rule 3 (tile/align.h) that needs fewest
// passes over copy and use, the smallest where they are equal.
void pad_for_banks(tile::StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::construct
