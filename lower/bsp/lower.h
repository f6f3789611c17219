// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowers the stages of an rProgram to the supersteps of a machine of tiles that exchange: tile/bsp/schedule.h spelled
// out.

#include <optional>
#include <span>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/bsp/supersteps.h"
#include "tile/bsp/schedule.h"

namespace tilescope::lower::bsp {

// nullopt, with errors at the program's position `at`, where the stages do not fit the chip.
std::optional<Program> lower(std::span<const tile::BspStage> stages, const arch::ArchSpec& chip,
                             base::Diagnostics& diags, base::Position at = {});

}  // namespace tilescope::lower::bsp
