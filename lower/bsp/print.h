// SPDX-License-Identifier: Apache-2.0
#pragma once
// Supersteps as readable text: what `compile --print kernel` shows of a machine of tiles that exchange.

#include <string>

#include "lower/bsp/supersteps.h"

namespace tilescope::lower::bsp {

std::string print(const Program& p);

}  // namespace tilescope::lower::bsp
