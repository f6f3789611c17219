#pragma once
// Fills an ArchSpec from a chip's document by the table of arch/describe.h. Checks each value on its own; what values
// say together is for arch/checks.h.

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// The chip that the document describes; where an error went to `diags`, a member keeps its default.
ArchSpec read_chip(const base::Value& document, base::Diagnostics& diags);

}  // namespace tilescope::arch
