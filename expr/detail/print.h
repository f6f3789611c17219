// SPDX-License-Identifier: Apache-2.0
#pragma once
// Index notation from an expression, for messages and notes.

#include <string>

#include "expr/expression.h"

namespace tilescope::expr {

// `I[n,c,y*2+r-1,x/2]`
std::string to_text(const Expression& e, const Stage& stage, const Read& read);

// What the user should know about a stage: reads that are not affine.
std::vector<std::string> notes_of(const Expression& e, const Stage& stage);

}  // namespace tilescope::expr
