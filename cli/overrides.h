// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --set says.

#include <string>
#include <vector>

#include "arch/load.h"
#include "base/diagnostics.h"

namespace tilescope::cli {

// Each as path=value; errors name what is none.
std::vector<arch::Override> read_overrides(const std::vector<std::string>& sets, base::Diagnostics& diags);

}  // namespace tilescope::cli
