// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of storing a block's results, for its core. Each function has an overload for every entry of
// tile/transfer/results.h.

#include <cstdint>

#include "model/simt/warp_access.h"
#include "tile/transfer/results.h"

namespace tilescope::model {

// One access instruction of one warp, and how many of them every warp makes.
struct ResultAccess {
  AccessPattern access;
  double per_warp = 0;
  bool by_engine = false;  // by the TMA engine: not an access of a warp, and it bypasses the core's cache
};

// Stores to the output's memory; offsets are those of memory_access.
ResultAccess result_stores(const tile::DirectStore&, const tile::StageProgram& p, std::int64_t warp);
ResultAccess result_stores(const tile::RowStore&, const tile::StageProgram& p, std::int64_t warp);
ResultAccess result_stores(const tile::TmaStore&, const tile::StageProgram& p, std::int64_t warp);

// Writes to the scratchpad and reads from it; empty where results do not pass through it.
struct ResultGathering {
  ResultAccess write, read;
  bool swizzled = false;  // a thread permutes the pieces of each address that it writes to
};
ResultGathering gathering(const tile::DirectStore&, const tile::StageProgram& p, const arch::CoreSpec& core);
ResultGathering gathering(const tile::RowStore&, const tile::StageProgram& p, const arch::CoreSpec& core);
ResultGathering gathering(const tile::TmaStore&, const tile::StageProgram& p, const arch::CoreSpec& core);

// Calls `ask` with the program's own result path.
template <class Question>
auto of_results(const tile::StageProgram& p, const Question& ask) {
  return std::visit(ask, tile::result_path_of(p));
}

// The write of results that stay in the scratchpad, in rows of the output's tile.
ResultAccess kept_write(const tile::StageProgram& p, std::int64_t warp, base::Bytes max_access);

}  // namespace tilescope::model
