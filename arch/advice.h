// SPDX-License-Identifier: Apache-2.0
#pragma once
// Advice on a chip's file: what answers assume where the file says nothing, and figures that contradict each other.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

// Loads the chip as load_arch does with Use::kLook. A note for every key whose absence changes answers says what is
// assumed instead and, where it follows from the chip's figures, how much it can change; another one names each
// contradiction.
std::optional<ArchSpec> load_with_advice(const std::string& name_or_path, base::Diagnostics& diags);

}  // namespace tilescope::arch
