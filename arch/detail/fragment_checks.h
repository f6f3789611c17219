// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checks of an instruction that several threads execute together. Private to arch/.

#include "arch/detail/complaints.h"
#include "arch/spec.h"

namespace tilescope::arch {

// That its maps hold every element of its matrices once but for copies, that its loads bring parts of their rows, that
// the chip has what it reads. Values that could not be read are left out.
void check_fragments(const ArchSpec& a, const ComputeSpec& c, Complaints& complaints);

// What programs call an instruction holds for the instruction of the file that says it: where one that extends the file
// changes its shape, dtypes, threads or maps, the spelling is dropped with a note.
void settle_spelling(const Layers& layers, ComputeSpec& c, base::Diagnostics& diags);

}  // namespace tilescope::arch
