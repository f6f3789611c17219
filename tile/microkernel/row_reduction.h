// SPDX-License-Identifier: Apache-2.0
#pragma once
// Row reductions: stages that reduce, where they are, the results that lanes hold of an earlier stage, along the
// columns of a matrix instruction. A lane reduces what it holds of a row; then the lanes of the row combine what they
// have by shuffles, and all of them have the row's result (the softmax of FlashAttention-2, Dao 2023, section 3.3: a
// warp has whole rows of scores in registers). With epilogues that read such rows, and with products that take what
// lanes hold as their first operand, a chain of stages passes no tensor through the scratchpad.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tile/program.h"

namespace tilescope::tile {

// By axis of `of`, the axis of the stage of `space` that stands alone in that dimension of its reads of the tensor.
// nullopt where a read has another coordinate, or two reads differ.
std::optional<std::vector<std::size_t>> axes_of_reads(const TileSpace& space, const std::string& tensor);

// Why a stage cannot reduce the rows of what `tensor` has, the last axis of which runs along rows, whatever program
// computes that; empty where it can.
std::string row_reduction_refusal(const TileSpace& space, const std::string& tensor);

// The same for the results of `holder`, whose program is known: lanes hold them, and warps do not share rows.
std::string row_reduction_refusal(const TileSpace& space, const StageProgram& holder);

// The program of a row reduction of what the lanes of `holder` hold; `holder` may be an epilogue. There is no refusal.
StageProgram make_row_reduction(std::shared_ptr<const TileSpace> space, const StageProgram& holder);

// Why the lanes that compute `reader` do not have the rows of `rows`: rows of results, of a stage with the micro-kernel
// of a row reduction or of a matrix instruction. `at`: by spatial axis of `rows`, that axis of `reader`, or nothing of
// an axis that `reader` does not have. Empty where each lane has the results of its own rows.
std::string rows_refusal(const StageProgram& reader, const StageProgram& rows,
                         const std::vector<std::optional<std::size_t>>& at);

// Why the first operand of the reader's matrix instruction cannot be the registers in which lanes hold the results of
// `holder`; empty where these are its fragments, whole and in order.
std::string held_fragments_refusal(const StageProgram& reader, const StageProgram& holder);

}  // namespace tilescope::tile
