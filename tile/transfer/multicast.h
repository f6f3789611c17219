// SPDX-License-Identifier: Apache-2.0
#pragma once
// Clusters of blocks whose TMA loads are multicast (PTX's cp.async.bulk.tensor with .multicast::cluster). Blocks that
// are neighbours along the cluster's axis read the same tiles of every operand that has no part in the axis. Each of
// them loads one part of such a tile, whole rows of every box, and writes it to the scratchpads of all.

#include <cstdint>
#include <optional>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// Number of blocks that load an input's tile together, and to each of which the tile is written: those of the cluster,
// or one where they read different tiles.
std::int64_t sharing_blocks(const StageProgram& p, std::size_t input);

// Why the chip cannot run the program's clusters; empty where it can, or where the program has none.
std::string cluster_refusal(const StageProgram& p, const arch::ArchSpec& a);

// The program with these clusters; nullopt where cluster_refusal has a reason.
std::optional<StageProgram> with_cluster(StageProgram p, BlockCluster cluster, const arch::ArchSpec& a);

}  // namespace tilescope::tile
