// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cached tiles that one thread has brought box by box, while it goes on: PTX's bulk copies of tensors (TMA), for
// factors that a matrix instruction reads from the scratchpad.
//
// The two innermost dimensions of such a tile are cut along the inner one into panels of `box` elements, a box each: a
// panel's rows follow each other, and the next panel follows its last row. In memory whose words the copies swizzle
// pieces of 16 bytes change places within a row, so that eight rows' pieces lie in different banks; who copies and who
// multiplies agree about that, and no other reader touches the tile.

#include <optional>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// Coordinates of a box are the `int` of emitted text.
inline constexpr std::int64_t kMaxBoxCoordinate = (std::int64_t{1} << 31) - 1;

// The shortest row of a box that the engine brings.
inline base::Bytes shortest_row(const arch::TmaSpec& tma) { return tma.min_row.value_or(tma.granule); }

// Why an operand's elements are not those of boxes of its tensor, whatever the boxes; empty where they are.
std::string tensor_refusal(const StageProgram& p, std::size_t operand, const arch::TmaSpec& tma);

// Elements of one box of an operand that is brought so.
std::int64_t box_elements(const StageProgram& p, std::size_t operand);

// What TMA loads and stores ask of a block's scratchpad. Without any: nothing.
struct TmaStaging {
  base::Bytes alignment{1};  // of tiles
  base::Bytes mbarrier{1};   // each of them, aligned likewise
  std::int64_t mbarriers = 0;
};
TmaStaging tma_staging(const StageProgram& p, const arch::ArchSpec& a);

// Why the boxes of the program's inputs cannot be brought on the chip; empty where they can, or where there are none.
std::string tma_refusal(const StageProgram& p, const arch::ArchSpec& a);

// The program with its cached tiles brought in boxes of the longest rows that it can have, in place of copies by all
// threads; nothing where the chip or the tensors allow none.
std::optional<StageProgram> with_tma_loads(StageProgram p, const arch::ArchSpec& a);

}  // namespace tilescope::tile
