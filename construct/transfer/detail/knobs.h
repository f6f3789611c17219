// SPDX-License-Identifier: Apache-2.0
#pragma once
// What construction may choose of how cached tiles reach the scratchpad and how results leave: which entry of
// tile/transfer/, and how many steps ahead.

#include <cstdint>
#include <vector>

#include "construct/detail/layout.h"

namespace tilescope::construct {

// Steps under way that the search tries. What a chip has room for is a limit of its own (tile/fit.h); this is how far
// it looks.
std::int64_t max_stages(const tile::StageProgram& p, const arch::ArchSpec& chip);

// Tiles that one thread asks for, or that all threads copy; each laid out.
std::vector<tile::StageProgram> other_transfers(const tile::StageProgram& p, const LayoutRules& rules);

// The program as all threads copy its tiles.
tile::StageProgram copied_by_threads(tile::StageProgram p);

// The program as the chip's engine brings its tiles; nothing where it has none that can.
std::optional<tile::StageProgram> brought_by_engine(const tile::StageProgram& p, const arch::ArchSpec& chip);

// The results of a block as they leave the other way, directly or through the scratchpad, where that is free to choose;
// laid out.
std::vector<tile::StageProgram> other_stores(const tile::StageProgram& p, const LayoutRules& rules);

// The program with its results leaving as they do, in the widest vectors; rows of results as long as needs the fewest
// passes through the chip's banks.
tile::StageProgram with_results_placed(tile::StageProgram p, const LayoutRules& rules);

// Whether the program chooses how rows of its tiles lie; else the engine that brings them says it.
bool chooses_rows(const tile::StageProgram& p);

}  // namespace tilescope::construct
