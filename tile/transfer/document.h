// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a node's document specifies where tensors are cached and how they are copied (docs/json.md, PROGRAM).

#include <string>
#include <vector>

#include "base/document.h"
#include "tile/node_fields.h"
#include "tile/program.h"

namespace tilescope::tile {

// Values of `copy` in format 1.
inline constexpr base::RenamedKey kRenamedCopies[] = {{"", "chunked", "blocked"}, {"", "interleaved", "striped"}};

// Reads `cached`, `padding`, `rotate`, `copy`, `box`, `vector`. Only with `tiles_known`, vectors are checked against
// the widest ones, and transfers and results against their own rules.
void read_transfers(const NodeFields& node, bool tiles_known, StageProgram& p);

// The values of these keys.
struct TransferDocument {
  base::Map cached, padding, rotate, copy, box, vector;
};
TransferDocument transfer_document(const StageProgram& p, const std::string& scratchpad);

// Transfers in the words of the document, for tables: "A+8" pads the rows of A.
std::vector<std::string> transfer_words(const StageProgram& p);

}  // namespace tilescope::tile
