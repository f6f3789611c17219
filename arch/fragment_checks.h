#pragma once
// The checks of an instruction that several threads execute together. Private to arch/.

#include "arch/complaints.h"
#include "arch/spec.h"

namespace tilescope::arch {

// That its maps hold every element of its matrices once but for copies, that its loads bring parts of their rows, that
// the chip has what it reads. Values that could not be read are left out.
void check_fragments(const ArchSpec& a, const ComputeSpec& c, Complaints& complaints);

}  // namespace tilescope::arch
