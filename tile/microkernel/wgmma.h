// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of cached tiles for an instruction that reads its operands from the scratchpad (Wgmma): core matrices of
// eight rows and 16 bytes, one row after the other, as PTX's wgmma reads them without swizzling (PTX ISA, "Canonical
// layouts"). Core matrices side by side along the cached rows follow each other at a distance that the rows' padding
// determines; then come those of the next eight rows.

#include <cstdint>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

inline constexpr std::int64_t kCoreRows = 8, kCoreRowBytes = 16;

// Sizes and distances in elements of the operand.
struct CoreMatrices {
  std::int64_t columns = 1;  // of a core matrix, or of a row of a TMA box
  std::int64_t beside = 0;   // distance to the next core matrix along the cached rows
  std::int64_t below = 0;    // distance to the core matrix of the next eight rows
};

// The core matrices of a cached operand whose tile has them.
CoreMatrices core_matrices(const StageProgram& p, std::size_t operand);

// The offset of an element from its place in the two innermost dimensions of a cached tile.
inline std::int64_t core_offset(const CoreMatrices& c, std::int64_t row, std::int64_t column) {
  return row / kCoreRows * c.below + column / c.columns * c.beside + row % kCoreRows * c.columns + column % c.columns;
}

// The padding of a cached row that separates core matrices side by side by a gap of 16 bytes, so that threads that copy
// pieces of one row write to different banks.
std::int64_t core_padding(const StageProgram& p, std::size_t operand);

// Whether the two innermost dimensions of each operand are rows or columns, and depth, as the instruction reads core
// matrices. Depth must be innermost for elements that it does not transpose.
bool reads_core_matrices(const TileSpace& space, const MatrixUnit& unit);

// Whether a micro-kernel can read cached tiles of the stage's operands.
inline bool reads_operands_of(const Fma& /*kernel*/, const TileSpace& /*space*/) { return true; }
// Ignores: sums of an Mma could be promoted by scales as those of a Wgmma are.
inline bool reads_operands_of(const Mma& /*kernel*/, const TileSpace& space) { return space.scale_depth == 0; }
inline bool reads_operands_of(const Wgmma& k, const TileSpace& space) { return reads_core_matrices(space, k.unit); }
// Ignores: sums in tensor memory could be promoted by scales as those of a Wgmma are.
inline bool reads_operands_of(const Tcgen05& k, const TileSpace& space) {
  return space.scale_depth == 0 && reads_core_matrices(space, k.unit);
}
inline bool reads_operands_of(const MicroKernel& kernel, const TileSpace& space) {
  return std::visit([&](const auto& k) { return reads_operands_of(k, space); }, kernel);
}

// Whether the program's instruction reads its operands from the scratchpad, where they lie in core matrices.
bool in_core_matrices(const StageProgram& p);

// Why the program's cached tiles are not core matrices that its instruction reads; empty where they are.
std::string core_matrices_refusal(const StageProgram& p);

// Products with scales (TileSpace::scale_depth): a step multiplies what shares its scales, into sums of its own, and
// then adds these, scaled, to the program's (DeepSeek-V3 report, section 3.3.2: promotion). Why a program's tiles do
// not suit its scales; empty where they do, or where it has none.
std::string scales_refusal(const StageProgram& p);
// Whether all columns of a thread tile have the same scales, and so have all rows, where several rows share one.
bool scales_fit(const TileSpace& space, const Extents& thread);
// Iterations along the depth that steps have a multiple of.
inline std::int64_t depth_of_steps(const TileSpace& space, const MatrixUnit& unit) {
  return space.scale_depth > 0 ? space.scale_depth : unit.k;
}

// Number of fragments side by side along the columns that one instruction multiplies: the most that divide the
// fragments of a group evenly, or those of a block for which one thread issues it.
std::int64_t fragments_together(const StageProgram& p);

}  // namespace tilescope::tile
