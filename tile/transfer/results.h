// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block's results reach memory. One alternative an entry, as in transfer.h. A program states it with its output:
// every thread stores from registers; or the results are kept in the scratchpad after the last step, where whole rows
// of the block's results lie side by side, in the place of the cached tiles, which every thread has read by then.

#include <optional>
#include <string>
#include <variant>

#include "tile/program.h"

namespace tilescope::tile {

// Every thread stores from its registers what it holds.
struct DirectStore {};
// Through the scratchpad: all threads store whole rows, as a cooperative copy has them.
struct RowStore {};

// Through the scratchpad: one thread starts TMA stores, a box of the tensor each (PTX's cp.async.bulk.tensor). Boxes
// lie there as tma.h says, in their order.
struct TmaStore {};

using ResultPath = std::variant<DirectStore, RowStore, TmaStore>;

inline ResultPath result_path_of(const StageProgram& p) {
  if (!p.operands.back().cached) return DirectStore{};
  if (p.operands.back().box == 0) return RowStore{};
  return TmaStore{};
}

// Bytes of one result in memory: partial sums of a split reduction keep the precision of sums.
base::Bytes result_element(const StageProgram& p);

// Bytes of the block's results in the scratchpad; 0 where they leave directly.
base::Bytes result_tile_bytes(const StageProgram& p);

// Results of one thread that lie side by side both in its registers and in the tile of results, at most `max_vector`.
std::int64_t results_side_by_side(const StageProgram& p, base::Bytes max_vector);

// Why the program's results cannot leave as it says; empty where they can.
std::string results_refusal(const StageProgram& p, const arch::ArchSpec& a);

// Has the program's results stored directly, or in whole rows that are `padding` elements longer than they need be in
// the scratchpad.
void store_directly(StageProgram& p, base::Bytes max_vector);
void store_rows(StageProgram& p, std::int64_t padding, base::Bytes max_vector);
// The same by TMA, in boxes whose rows have `row` bytes; false, and the program as it was, where the chip or the tensor
// allow none.
bool store_by_tma(StageProgram& p, base::Bytes row, const arch::ArchSpec& a);

// The program with its results stored so; nothing where they cannot be.
StageProgram with_direct_stores(StageProgram p, base::Bytes max_vector);
StageProgram with_row_stores(StageProgram p, std::int64_t padding, base::Bytes max_vector);
std::optional<StageProgram> with_tma_stores(StageProgram p, base::Bytes row, const arch::ArchSpec& a);

}  // namespace tilescope::tile
