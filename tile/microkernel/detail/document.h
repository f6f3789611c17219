// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a node's document says what multiplies (docs/json.md, PROGRAM).

#include <optional>

#include "base/document.h"
#include "tile/node_fields.h"
#include "tile/program.h"

namespace tilescope::tile {

// Reads `mma`. Tiles are compared with the instruction's fragments only where they are known.
void read_micro_kernel(const NodeFields& node, bool tiles_known, StageProgram& p);

// The value of `mma`; nothing where threads multiply.
std::optional<base::Value> micro_kernel_document(const StageProgram& p);

}  // namespace tilescope::tile
