// SPDX-License-Identifier: Apache-2.0
#pragma once
// What construction may choose of how cached tiles reach the scratchpad and how results leave: which entry of
// tile/transfer/, and how many steps ahead.

#include <cstdint>
#include <vector>

#include "construct/detail/layout.h"

namespace tilescope::construct {

// Steps under way that the search tries. What fits a chip is a limit of its own (tile/fit.h).
std::int64_t max_stages(const tile::StageProgram& p, const arch::ArchSpec& chip);

// Adds the program with TMA loads in place of copies by all threads, or the reverse; each laid out.
void other_transfers(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);

// Has all threads copy its tiles.
void copy_by_threads(tile::StageProgram& p);

// The program with its tiles loaded by the chip's TMA engine; nothing where the engine cannot, or the chip has none.
std::optional<tile::StageProgram> copied_by_engine(const tile::StageProgram& p, const arch::ArchSpec& chip);

// How a tile's operands come when it is evaluated for the first time: by the engine where an instruction reads them
// from the scratchpad, as copies by threads are slow before its proxy fence (core.fenced_copy_interval), else by
// threads.
void choose_first_transfer(tile::StageProgram& p, const arch::ArchSpec& chip);

// The program in steps as long as the engine's longest rows, each of which is a request however short it is; nothing
// where no engine brings its tiles, or its steps are as long.
std::optional<tile::StageProgram> with_long_rows(const tile::StageProgram& p, const LayoutRules& rules);

// Adds the program with its blocks in clusters of other sizes, along axes whose neighbours have a tile in common.
void other_clusters(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);
// Adds the program with persistent blocks, one for each core of the chip and of one or two crews, or without.
void other_tile_loops(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);
// Has its blocks in clusters no longer, or persistent, where their tiles, or their order, do not allow it.
void keep_clusters_that_fit(tile::StageProgram& p, const arch::ArchSpec& chip);

// Adds the program with its results stored the other way, directly or through the scratchpad, where construction may
// choose; laid out.
void other_stores(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);

// Has its results stored as before, in the widest vectors; rows of results padded for the fewest passes through the
// chip's banks.
void place_results(tile::StageProgram& p, const LayoutRules& rules);

// Whether the program chooses how rows of its tiles lie; else the TMA engine fixes it.
bool chooses_rows(const tile::StageProgram& p);

}  // namespace tilescope::construct
