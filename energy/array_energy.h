// SPDX-License-Identifier: Apache-2.0
#pragma once
// Energies of bytes of SRAM by CACTI's grid (energy/technology/energy.yaml), in picojoules at its 22 nm. They say how
// the energy of a byte changes with the array: a chip's own figures say how large it is.
//
//   cache        a read of 256 bits of an array of its capacity
//   scratchpad   a read of a bank of capacity / banks, of its width, and the wires of a crossbar whose side grows with
//                the banks and the root of the width
//
// Between rows, and beyond them by the last two, both ends of a straight line in logarithms.
//
// Ignores: writes, which cost as much or more; the latency of an array, which CACTI trades for energy.

#include <cstdint>

#include "base/units.h"

namespace tilescope::energy {

// pJ of a byte of a cache.
double cache_byte_pj(base::Bytes capacity);

// pJ of a byte of a scratchpad.
double scratchpad_byte_pj(base::Bytes capacity, std::int64_t banks, base::Bytes bank_width);

}  // namespace tilescope::energy
