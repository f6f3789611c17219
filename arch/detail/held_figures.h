// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps what the figures of a chip's energies hold for while files and overrides change the chip. Private to arch/.

#include "arch/layers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// After `over` was laid over the chip `before`: where it changes a level or the die's process, and not the figures,
// writes what they held for beside them (`holds_for`, `node`); where it states figures anew, leaves its own word alone.
// It states all figures of `power` or `energy` anew where it states their source, and inherits no residual then.
void keep_held_figures(const base::Value& before, const base::Value& over, base::Value& chip);

// Removes from a chip what it holds anyhow, so that a change that changes nothing leaves the same chip.
void settle_held_figures(ArchSpec& a);

}  // namespace tilescope::arch
