// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cached tiles that TMA loads: one thread starts the bulk copies of tensors (PTX's cp.async.bulk.tensor) and continues.
// These tiles are operands that a matrix instruction reads from the scratchpad.
//
// The two innermost dimensions of such a tile are cut along the inner one into panels of `box` elements, each a TMA
// box: a panel's rows follow each other, and the next panel follows its last row. Where rows are swizzled, pieces of 16
// bytes change places within a row, so that the pieces of eight rows lie in different banks. Copy and matrix
// instruction use the same swizzle, and nothing else reads the tile.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// Coordinates of a box are of type `int` in emitted text.
inline constexpr std::int64_t kMaxBoxCoordinate = (std::int64_t{1} << 31) - 1;

// Where a byte lies that would be at `byte` of an array if its rows of `row` bytes were not swizzled; 0: they are not.
// Pieces of 16 bytes change places as the number of the line of 128 bytes says (PTX ISA, "Swizzling Modes").
std::int64_t swizzled(std::int64_t byte, std::int64_t row);

// The shortest row of a box that the TMA engine copies.
inline base::Bytes shortest_row(const arch::TmaSpec& tma) { return tma.min_row.value_or(tma.granule); }

// Why TMA boxes of any size cannot hold an operand's elements; empty where they can.
std::string tensor_refusal(const StageProgram& p, std::size_t operand, const arch::TmaSpec& tma);

// Number of elements in one box of an operand that TMA copies.
std::int64_t box_elements(const StageProgram& p, std::size_t operand);

// Scratchpad requirements of TMA in a block. `mbarriers` is 0 where TMA does not load the tiles.
struct TmaStaging {
  base::Bytes alignment{1};  // of tiles
  base::Bytes mbarrier{1};   // bytes of each, aligned likewise
  std::int64_t mbarriers = 0;
};
TmaStaging tma_staging(const StageProgram& p, const arch::CoreSpec& core);

// Why the chip cannot load the boxes of the program's inputs; empty where it can, or where the program has none.
std::string tma_refusal(const StageProgram& p, const arch::ArchSpec& a);

// The program with its cached tiles loaded by TMA instead of by all threads, in boxes of the longest possible rows;
// nullopt where the chip or the tensors do not allow it.
std::optional<StageProgram> with_tma_loads(StageProgram p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
