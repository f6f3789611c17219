// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fills an ArchSpec from a chip's document by the table of arch/describe.h. Checks each value on its own; what values
// say together is for arch/checks.h.

#include "arch/layers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

// The chip that the document describes; where an error went to `diags`, a member keeps its default.
ArchSpec read_chip(const Layers& layers, base::Diagnostics& diags);

}  // namespace tilescope::arch
