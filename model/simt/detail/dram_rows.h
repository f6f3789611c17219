// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many rows of its banks a DRAM opens for what a program moves, and how long its commands take. Blocks that run
// together walk through tensors in runs of neighbouring bytes; a bank whose row another run has taken meanwhile opens
// its own again.
//
// Ignores: columns next to rows on a bus that no pseudo-channels share, columns of one bank group in a row, turns of
// the bus but for calibrations, commands of refreshes.

#include "arch/spec.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

DramRows dram_rows_of(const arch::ArchSpec& a);

// Rows opened for each byte that `operand` moves from or to DRAM, where all resident blocks are at one step, which
// covers `moment`, and return to a row once all others were touched: exp(-others / banks) find it open. Neighbouring
// bytes come at one time as far as they lie in one `together`: in `moment`, or in a block's part of it. Of other
// neighbours the controller serves a share together, which it finds among the requests that wait: `sorted`.
double activates_per_byte(const tile::Operand& operand, const tile::Extents& moment, const tile::Extents& together,
                          double sorted, const DramRows& rows);

// The same of results, which leave the last cache where there is one, at the earliest in the order in which they came.
double written_back_per_byte(const tile::Operand& output, const tile::Extents& moment, const tile::Extents& together,
                             double sorted, const DramRows& rows);

// Of requests for all that resident blocks move at one moment, the share that waits in a channel's queue at one time.
double sorted_share(double moment_bytes, const DramRows& rows);

// Rows opened for all that DRAM gives and takes; 0 where its file states no rows.
double activates_of(const DeviceTraffic& t);

// What the commands for all that DRAM gives and takes need at least: rows, columns, both on one bus; and the data bus
// between refreshes.
double least_command_time_us(const DeviceTraffic& t, const Machine& m);

}  // namespace tilescope::model
