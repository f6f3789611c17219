// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogues: stages without a reduction that compute each result in the thread that holds the result of an earlier
// stage, the holder, at the same place. Tiles, threads and blocks are the holder's, and the tensor between the two
// stages stays in registers.

#include <memory>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// Why a stage that reads `tensor` cannot be the epilogue of the one that writes it; empty where it can.
std::string epilogue_refusal(const TileSpace& space, const TileSpace& holder, const std::string& tensor);

// The space of an epilogue stage, with its loops collapsed like the holder's.
std::shared_ptr<const TileSpace> epilogue_space(const expr::Expression& one_stage, const TileSpace& holder);

// The micro-kernel of an epilogue of `holder`; an epilogue's own micro-kernel is returned unchanged.
MicroKernel epilogue_of(const MicroKernel& holder);

// The program of an epilogue over its space. Every thread reads the other inputs itself and stores its results
// directly, each by the widest accesses of at most `max_vector`. `holder` may be an epilogue itself.
StageProgram make_epilogue(std::shared_ptr<const TileSpace> space, const StageProgram& holder, base::Bytes max_vector);

// Why the program cannot run as an epilogue, although it is one; empty where it can.
std::string epilogue_refusal(const StageProgram& p);

// Number of results that one thread holds along a spatial axis, for any program. Along a reduced axis, the number of
// elements that one step has; of a row reduction those of them that one lane holds.
std::int64_t results_of_thread(const StageProgram& p, std::size_t axis);
// Number of those that are contiguous; an epilogue processes them along its output's innermost axis.
std::int64_t neighbouring_results_along(const StageProgram& p, std::size_t axis);

}  // namespace tilescope::tile
