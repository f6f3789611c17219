// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a stage's tiles grow from, and the tiles that do.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "construct/detail/layout.h"
#include "construct/detail/tiles.h"
#include "construct/restrictions.h"
#include "expr/expression.h"

namespace tilescope::construct {

// What register tiles grow from: single elements, a register tile of filter taps that read overlapping elements, or the
// fragments of a matrix instruction.
struct Seed {
  std::shared_ptr<const tile::TileSpace> space;
  tile::Extents unit;
  std::size_t evaluated = 0;               // tiles that the cost model sees, of those that waste little and more
  std::optional<std::size_t> instruction;  // of the chip's `compute`; none: multiply-adds of single threads
  tile::MicroKernel kernel = {};
  bool apart = false;  // its tiles are ranked among themselves first, so that they take no other tile's place
};

// The ways to collapse a stage's loops: as a matrix product where it is one, there also by the chip's matrix
// instructions, and as it is, also with register tiles of the innermost axis of taps or of all of them.
std::vector<Seed> seeds_of(const expr::Expression& e, const arch::ArchSpec& chip, const Restrictions& given);

// A block tile over a register tile, and what it asks of a chip.
struct SeedTile {
  tile::Extents registers, block;
  TileWork work;
  std::optional<std::uint32_t> laid_out = {};  // the candidate that it is, where it was asked for
};
// The first ones waste little of an axis, where enough of them do; the rest more.
struct SeedTiles {
  std::vector<SeedTile> all;
  std::size_t strict = 0;
};

// A seed's tiles under limits of threads, in the order in which they are found: those of the given block where it is
// not empty.
SeedTiles tiles_of(const Seed& seed, const GrowthLimits& limits, const std::vector<std::int64_t>& given);
// Elements of a register tile are strided over the threads, so that neighbouring threads touch neighbouring words
// (ROLLER's vthreads); without reuse the innermost axis is kept whole for wide accesses, and neighbours share a
// register tile.
tile::StageProgram program_of(const Seed& seed, const GrowthLimits& limits, const tile::Extents& registers,
                              const tile::Extents& block);

}  // namespace tilescope::construct
