// SPDX-License-Identifier: Apache-2.0
#pragma once
// What construction may choose of a program, by its micro-kernel. Each question has an answer for every entry of
// tile/microkernel/.

#include <cstdint>

#include "arch/spec.h"
#include "base/fixed_vector.h"
#include "tile/microkernel/wgmma.h"
#include "tile/program.h"

namespace tilescope::construct {

// How rows of a cached tile lie, in elements: longer than they need be, or each rotated further than the one before.
struct RowPlacement {
  std::int64_t padding = 0, rotation = 0;
};
using RowPlacements = base::FixedVector<RowPlacement, 8>;

// Those of an input's rows that are worth trying on the chip, rows as they are first.
RowPlacements row_placements(const tile::Fma&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);
RowPlacements row_placements(const tile::Mma&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);
RowPlacements row_placements(const tile::Wgmma&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);
RowPlacements row_placements(const tile::Tcgen05&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);
// An epilogue caches nothing, nor does a row reduction.
RowPlacements row_placements(const tile::Epilogue&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);
RowPlacements row_placements(const tile::RowReduction&, const tile::StageProgram& p, std::size_t operand,
                             const arch::ArchSpec& chip);

// Whether the instructions that read a tile depend on how its rows lie.
constexpr bool reads_by_rows(const tile::Fma&) { return false; }
constexpr bool reads_by_rows(const tile::Mma&) { return true; }
constexpr bool reads_by_rows(const tile::Wgmma&) { return true; }
constexpr bool reads_by_rows(const tile::Tcgen05&) { return true; }
constexpr bool reads_by_rows(const tile::Epilogue&) { return false; }
constexpr bool reads_by_rows(const tile::RowReduction&) { return false; }

// Whether lanes hold the operands' fragments, which may be of rows that another stage left in the scratchpad.
constexpr bool holds_fragments(const tile::Fma&) { return false; }
constexpr bool holds_fragments(const tile::Mma&) { return true; }
constexpr bool holds_fragments(const tile::Wgmma&) { return false; }
constexpr bool holds_fragments(const tile::Tcgen05&) { return false; }
constexpr bool holds_fragments(const tile::Epilogue&) { return false; }
constexpr bool holds_fragments(const tile::RowReduction&) { return false; }

// Whether a thread tile's results have scales that the micro-kernel can add them by (tile/microkernel/wgmma.h).
constexpr bool suits_scales(const auto& /*other*/, const tile::TileSpace& /*space*/, const tile::Extents& /*thread*/) {
  return true;
}
inline bool suits_scales(const tile::Wgmma& /*kernel*/, const tile::TileSpace& space, const tile::Extents& thread) {
  return tile::scales_fit(space, thread);
}

// Whether the steps of the program are whole fragments.
constexpr bool whole_fragments(const tile::Fma&, const tile::StageProgram&) { return true; }
inline bool whole_fragments(const tile::Mma& kernel, const tile::StageProgram& p) {
  return p.thread[kernel.unit.depth] == kernel.unit.k;
}
inline bool whole_fragments(const tile::Wgmma& kernel, const tile::StageProgram& p) {
  return p.thread[kernel.unit.depth] == kernel.unit.k && tile::scales_refusal(p).empty();
}
inline bool whole_fragments(const tile::Tcgen05& kernel, const tile::StageProgram& p) {
  return p.thread[kernel.unit.depth] == kernel.unit.k;
}

constexpr bool whole_fragments(const tile::Epilogue&, const tile::StageProgram&) { return true; }
constexpr bool whole_fragments(const tile::RowReduction&, const tile::StageProgram&) { return true; }

}  // namespace tilescope::construct
