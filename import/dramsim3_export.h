// SPDX-License-Identifier: Apache-2.0
#pragma once
// A DRAM level as a configuration of DRAMsim3.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::importers {

// The text of an .ini that DRAMsim3 reads. What it cannot say (pseudo-channels that share a controller, folded bits of
// an address, watermarks) is a note, and a level whose counts it cannot hold is an error at `at`; then nullopt.
std::optional<std::string> to_dramsim3(const arch::ArchSpec& a, base::Position at, base::Diagnostics& diags);

}  // namespace tilescope::importers
