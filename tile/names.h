// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs under other names of their tensors and axes.

#include <functional>
#include <string>

#include "expr/expression.h"
#include "tile/program.h"

namespace tilescope::tile {

// The program with `name_of(NAME)` in place of each tensor's NAME: programs that run one after another share arrays by
// name. Different tensors get different names. `name_of` gives a name the same result at
// every call.
RProgram with_tensor_names(RProgram p, const std::function<std::string(const std::string&)>& name_of);

// Gives the program of one stage the names of an expression that differs from its own in names alone.
void take_names(StageProgram& p, const expr::Expression& one_stage);
void take_names(BspStage& p, const expr::Expression& one_stage);

// Likewise an edge between stages of `from`, whose names become those of `to`.
void take_names(Edge& edge, const expr::Expression& from, const expr::Expression& to);

}  // namespace tilescope::tile
