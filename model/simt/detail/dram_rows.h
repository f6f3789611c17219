// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many rows of its banks a DRAM opens for what a program moves. Blocks that run together walk through tensors in
// runs of neighbouring bytes; a bank whose row another run has taken meanwhile opens its own again.

#include "arch/spec.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

DramRows dram_rows_of(const arch::ArchSpec& a);

// Rows opened for each byte that `operand` moves from or to DRAM, where all resident blocks are at one step, which
// covers `moment`, and return to a row once all others were touched: exp(-others / banks) find it open.
double activates_per_byte(const tile::Operand& operand, const tile::Extents& moment, const DramRows& rows);

}  // namespace tilescope::model
