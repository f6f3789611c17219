// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stated peaks check the file that states them; they are never used.

#include "arch/layers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

// Compares each stated peak with the figure derived from its causes (2 %). Where a layer above the one that states the
// peak changes a cause, the peak is dropped with a note instead.
void settle_peaks(const Layers& layers, ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::arch
