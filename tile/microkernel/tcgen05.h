// SPDX-License-Identifier: Apache-2.0
#pragma once
// An instruction that one thread issues for its block and that adds up in the core's tensor memory (Tcgen05). Cached
// tiles lie as Wgmma reads them. One instruction multiplies whole rows of the block's tile, as many columns of it as it
// takes, whichever threads read them later: a block's sums stand in columns of tensor memory, fragment of rows after
// fragment of rows. Ignores: sums of two blocks' cores together (cta_group::2), and of 64 rows.

#include <cstdint>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// The most 32-bit columns of its lane that one load brings into a thread's registers (PTX ISA, tcgen05.ld: .x128).
inline constexpr std::int64_t kMaxColumnsOfLoad = 128;

// Columns of 32 bits that a block's sums take in every lane of tensor memory.
std::int64_t sum_columns(const StageProgram& p);
// Those of one instruction: the most that divide the block's evenly.
std::int64_t columns_together(const StageProgram& p);
// Instructions of a step of the block.
std::int64_t instructions_of_step(const StageProgram& p);
// Neighbouring columns of one lane that a thread reads at a time: all that it has of a row, or the most that divide
// them.
std::int64_t columns_read_together(const StageProgram& p);

// Columns that a block of any program needs; more than any core has where its sums are in tensor memory and
// tensor_sums_refusal says why it does not run.
std::int64_t tensor_columns_of(const StageProgram& p);

// Why the program's tiles are not an instruction's; empty where they are.
std::string tensor_sums_refusal(const StageProgram& p);

}  // namespace tilescope::tile
