// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which terms of a stage count. A causal mask, a window or a triangle makes many of them the identity of the reduction
// (0 of a sum, -inf of a maximum), and what is one constant needs no arithmetic.
//
// A body is the constant v outside of a half-space H = {Σ c_a x_a + c >= 0} of the stage's axes where it has the value
// v whenever H does not hold. Candidates for H are the conditions of the body (`j <= i` is i - j >= 0), their
// opposites, and what is known of the tensors that it reads. For each candidate the body is computed with what follows
// from Σ c_a x_a + c <= -1:
// - a comparison of Σ c_a x_a + b with 0 is decided where b lies on the right side of c;
// - a tensor that is v outside of H has that value, where every coordinate of the read is inside the tensor;
// - `0 && x`, `1 || x`, a selection whose condition is known, 0 * x, 0 / x, x ± inf follow from one operand;
// - all else is known where its operands are.
// Where the result is the identity of the stage's reducer, its terms outside of H may be left out. Where it is a
// constant and nothing is reduced, or H is of spatial axes alone and the reduction of any number of such constants is
// one too (0 or -inf of a sum, any of a maximum), the stage's tensor is that constant outside of H, and later stages
// are looked at in the same way: with S = select(j <= i, Q.K, -inf) the terms of max S, of the sum of exp(S - max S)
// and of the product with V are left out where j > i. Of several half-spaces each by itself suffices.
//
// Ignores: infinities and not-a-number among the values that a mask hides (0 * inf), as online reductions do
// (online_reduction.h); conditions on remainders and quotients; equality.

#include <cstdint>
#include <vector>

#include "base/fixed_vector.h"
#include "expr/expression.h"

namespace tilescope::expr {

// Where Σ coefficient * axis + offset >= 0; terms by axis, no coefficient zero.
struct HalfSpace {
  base::FixedVector<Term, kMaxAxes> terms;
  std::int64_t offset = 0;

  std::int64_t coefficient(int axis) const;
  bool operator==(const HalfSpace&) const = default;
};

// At least this share of the points of a box with those axes lies inside: exact of one or two axes, 0 of more.
double share_inside(const HalfSpace& h, const std::vector<Axis>& axes);

// Outside of it the body has one value: of a stage with a reduction, the identity of its reducer.
struct LiveTerms {
  HalfSpace inside;
  double value = 0;
};

// Whether the body compares its indices; no other stage makes a tensor constant somewhere.
bool compares_indices(const Stage& stage);

// By stage, those of expressions of one stage each that run one after the other and know tensors by their names.
std::vector<std::vector<LiveTerms>> live_terms(const std::vector<const Expression*>& stages);

// By stage of the whole, half-spaces of its axes outside of which no result depends on its terms: its own live terms,
// and those of all stages that read its tensor element by element. Stages whose tensor no other reads give results.
std::vector<std::vector<HalfSpace>> needed_terms(const Expression& whole);

// At least that share of a stage's terms lies in all of these half-spaces.
double least_share(const std::vector<HalfSpace>& inside, const Stage& stage);

}  // namespace tilescope::expr
