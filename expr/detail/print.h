// SPDX-License-Identifier: Apache-2.0
#pragma once
// Index notation from an expression: for messages and notes, and for what a rewriting makes.

#include <string>

#include "expr/expression.h"

namespace tilescope::expr {

// `I[n,c,y*2+r-1,x/2]`
std::string to_text(const Expression& e, const Stage& stage, const Read& read);
std::string to_text(const Stage& stage, const Coordinate& c);

// `C[m,n] +=! A[m,k] * B[k,n]`, with brackets where the parser needs them to read the same body.
std::string to_text(const Expression& e, const Stage& stage);

// All stages, joined by `; `.
std::string to_text(const Expression& e);

// What the user should know about a stage: reads that are not affine.
std::vector<std::string> notes_of(const Expression& e, const Stage& stage);

}  // namespace tilescope::expr
