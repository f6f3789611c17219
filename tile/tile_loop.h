// SPDX-License-Identifier: Apache-2.0
#pragma once
// Persistent blocks (CUTLASS's sm90 kernels with a persistent tile scheduler, "cooperative" and "ping-pong"): block b
// of n computes the tiles b, b + n, b + 2n, ... in the program's order of blocks, in rounds 0, 1, 2, ... The producer
// warp goes on from tile to tile, so that the next tile's operands arrive while results are stored. With several crews,
// crew c takes the rounds c, c + crews, ...: the ring is filled in the order of rounds, so that one crew multiplies
// while another one stores.

#include <cstdint>
#include <optional>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// The most tiles that one block computes: its rounds.
std::int64_t rounds_of(const StageProgram& p);

// Why the chip cannot run the program's persistent blocks; empty where it can, or where the program has none.
std::string tile_loop_refusal(const StageProgram& p, const arch::ArchSpec& a);

// As many persistent blocks as the program has on the chip where nothing states their number: one a core, in whole
// clusters, as another one would only do what the crews do. 0 where these are no fewer than the tiles.
std::int64_t persistent_blocks_on(const StageProgram& p, const arch::ArchSpec& a);

// A program made for another chip: its persistent blocks are as many as that, or a block for each tile.
StageProgram with_blocks_of(const arch::ArchSpec& a, StageProgram p);

// The program with such blocks; nullopt where tile_loop_refusal has a reason.
std::optional<StageProgram> with_tile_loop(StageProgram p, TileLoop loop, const arch::ArchSpec& a);

}  // namespace tilescope::tile
