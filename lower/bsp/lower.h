// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the stages of an rProgram to the supersteps of a machine of tiles that exchange: the meaning of
// tile/bsp/schedule.h spelled out.

#include <optional>
#include <span>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/bsp/supersteps.h"
#include "tile/bsp/schedule.h"

namespace tilescope::lower::bsp {

// Nothing, after errors `at` the place of the program, where it does not fit the chip.
std::optional<Program> lower(std::span<const tile::BspStage> stages, const arch::ArchSpec& chip,
                             base::Diagnostics& diags, base::Position at = {});

}  // namespace tilescope::lower::bsp
