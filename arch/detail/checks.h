// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip's values must say together: granules that nest, sizes that divide, names that exist, products that fit.

#include "arch/layers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

// Checks of single levels and units; a value that could not be read is left out, so that every mistake is reported
// once.
void check_levels(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags);

// Checks of the cores, the instructions and the names; `complete` says that every value was read, so that what is
// missing is really missing.
void check_chip(const Layers& layers, const ArchSpec& a, bool complete, base::Diagnostics& diags);

// Checks of a core's pipes: that each executes something and that nothing a program issues lacks one. Called once every
// value was read.
void check_pipes(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags);

// Checks of the levels together: their order, a role for each, none that is lacking. Called once every value was read.
void check_hierarchy(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags);

// Checks of what chips of class bsp have beside or instead of a gpu's, and that no other chip has it: readers of other
// classes would pass it over.
void check_bsp(const Layers& layers, const ArchSpec& a, bool complete, base::Diagnostics& diags);

// Adds the notes of load_with_advice.
void advise(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::arch
