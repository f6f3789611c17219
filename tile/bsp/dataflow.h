// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the inputs of a stage reach the cores of a BSP machine.

#include <cstdint>

namespace tilescope::tile {

// kStationary: a core keeps its part in its own memory. kFetch: it reads slices from other cores or from the DRAM.
// kShift: neighbours in a ring pass slices on (T10, SOSP'24, section 4).
enum class Dataflow : std::uint8_t { kStationary, kFetch, kShift };

}  // namespace tilescope::tile
