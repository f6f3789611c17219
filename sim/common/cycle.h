// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's time.

#include <cstdint>

namespace tilescope::sim {

using Cycle = std::int64_t;  // of the core's clock

}  // namespace tilescope::sim
