// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages without a reduction that compute each of their results where a thread holds the one of an earlier stage, the
// holder, at the same place: tiles, threads and blocks are the holder's, and what passes between the two stays in
// registers.

#include <memory>
#include <string>

#include "tile/program.h"

namespace tilescope::tile {

// Why a stage that reads `tensor` cannot be the epilogue of the one that writes it; empty where it can.
std::string epilogue_refusal(const TileSpace& space, const TileSpace& holder, const std::string& tensor);

// The space of such a stage, its loops collapsed as the holder's are.
std::shared_ptr<const TileSpace> epilogue_space(const expr::Expression& one_stage, const TileSpace& holder);

// What computes such a stage; of an epilogue the same.
MicroKernel epilogue_of(const MicroKernel& holder);

// The program of such a stage, over such a space. Its other inputs are read by every thread, and its results are stored
// directly, each by the widest accesses of at most `max_vector`. `holder` may be an epilogue itself.
StageProgram make_epilogue(std::shared_ptr<const TileSpace> space, const StageProgram& holder, base::Bytes max_vector);

// Why the program cannot run as the epilogue that it is; empty where it can.
std::string epilogue_refusal(const StageProgram& p);

// Results that one thread holds along a spatial axis, of any program.
std::int64_t results_of_thread(const StageProgram& p, std::size_t axis);
// Those of them that lie side by side; an epilogue goes through them along its output's innermost axis.
std::int64_t neighbouring_results_along(const StageProgram& p, std::size_t axis);

}  // namespace tilescope::tile
