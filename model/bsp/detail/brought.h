// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a stage's exchanges, of all cores and steps together, copies within a core included.

#include <cstddef>

#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// Bytes that fill the buffers of an input over all steps: in all; of these what comes from its home, the rest from
// other cores of rings, or from neighbours.
struct Brought {
  double all = 0, from_home = 0;
};
Brought brought(const tile::BspStage& s, std::size_t input, bool prearranged);
// Bytes of partial sums that cores get to add them up.
double reduced_bytes(const tile::BspStage& s);
// Bytes that the parts of all cores have of an operand.
double part_bytes(const tile::BspStage& s, const tile::Operand& o);

}  // namespace tilescope::model::bsp
