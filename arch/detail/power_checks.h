// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of `power` and `energy`: names that exist, and a limit above what the board draws at rest.

#include "arch/detail/complaints.h"
#include "arch/spec.h"

namespace tilescope::arch {

void check_power(const ArchSpec& a, Complaints& complaints);

}  // namespace tilescope::arch
