// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip's files and overrides make of its die. Private to arch/.

#include <optional>

#include "arch/layers.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

// Settles the die of a chip whose overrides are applied. `stated` is the chip without them, absent where there are
// none. An override of what is enabled keeps the share of what is built in addition: spare cores let a die of any size
// be sold with some that failed.
void settle_die(const Layers& layers, const std::optional<ArchSpec>& stated, ArchSpec& a);

// Checks that a die holds what the chip enables.
void check_die(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags);

}  // namespace tilescope::arch
