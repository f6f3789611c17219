// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machines of tiles that exchange.

#include "targets/target.h"

namespace tilescope::targets::bsp {

extern const Target kRow;

}  // namespace tilescope::targets::bsp
