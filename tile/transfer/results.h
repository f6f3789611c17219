// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block's results reach memory: a variant with one alternative for each way, as in transfer.h. The program's plan
// for its output selects it. Either every thread stores from registers, or the results are kept in the scratchpad after
// the last step, where whole rows of them are contiguous. They take the place of the cached tiles, which every thread
// has read by then, or, in persistent blocks, a place of their own.

#include <optional>
#include <string>
#include <variant>

#include "tile/program.h"

namespace tilescope::tile {

// Every thread stores its results from its registers.
struct DirectStore {};
// Through the scratchpad: all threads store whole rows, distributed as in a cooperative copy.
struct RowStore {};

// Through the scratchpad: one thread starts TMA stores, each of a box of the tensor (PTX's cp.async.bulk.tensor). Boxes
// lie in the scratchpad as tma.h specifies, in their order, their rows swizzled where the engine can.
struct TmaStore {};

using ResultPath = std::variant<DirectStore, RowStore, TmaStore>;

inline ResultPath result_path_of(const StageProgram& p) {
  if (!p.operands.back().cached) return DirectStore{};
  if (p.operands.back().box == 0) return RowStore{};
  return TmaStore{};
}

// Bytes of one result in memory: partial sums of a split reduction keep the precision of sums.
base::Bytes result_element(const StageProgram& p);

// Bytes of the block's results in the scratchpad; 0 where they are stored directly.
base::Bytes result_tile_bytes(const StageProgram& p);

// Bytes of the rows of boxes of results that are swizzled; 0 where the engine swizzles none of that length.
base::Bytes swizzled_result_row(const StageProgram& p, const arch::TmaSpec& tma);

// Number of results of one thread that are contiguous both in its registers and in the tile of results; at most
// `max_vector` bytes.
std::int64_t results_side_by_side(const StageProgram& p, base::Bytes max_vector);

// Why the program's results cannot be stored as it specifies; empty where they can.
std::string results_refusal(const StageProgram& p, const arch::ArchSpec& a);

// Changes the program to store its results directly, or in whole rows with `padding` elements of padding in the
// scratchpad.
void store_directly(StageProgram& p, base::Bytes max_vector);
void store_rows(StageProgram& p, std::int64_t padding, base::Bytes max_vector);
// The same by TMA, in boxes whose rows have `row` bytes. Returns false and leaves the program unchanged where the chip
// or the tensor does not allow it.
bool store_by_tma(StageProgram& p, base::Bytes row, const arch::ArchSpec& a);

// The program with its results stored that way; nullopt where they cannot be.
StageProgram with_direct_stores(StageProgram p, base::Bytes max_vector);
StageProgram with_row_stores(StageProgram p, std::int64_t padding, base::Bytes max_vector);
std::optional<StageProgram> with_tma_stores(StageProgram p, base::Bytes row, const arch::ArchSpec& a);

}  // namespace tilescope::tile
