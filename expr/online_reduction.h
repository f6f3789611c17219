// SPDX-License-Identifier: Apache-2.0
#pragma once
// Online reductions: one loop over the steps of an axis runs around several stages. In each step some stages compute
// that step's part of their results, and others add that part to an accumulator (the online softmax of Milakov and
// Gimelshein 2018; FlashAttention, Dao et al., NeurIPS 2022). A stage that reads a maximum before it is complete reads
// the running maximum. When the running maximum changes, sums accumulated with the earlier one are rescaled.
//
// Infinities and not-a-number are ignored, with one exception: a running maximum begins at the lowest finite value of
// its dtype. A step, or a whole reduction, of nothing but -inf then adds zeros, where the plain loop has -inf - -inf.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// A stage in the loop, as an expression of its own. Stages refer to each other's tensors by name.
struct LoopStage {
  const Expression* expression = nullptr;
  int axis = 0;  // axis of the stage along which the loop steps: a reduced axis is carried across steps, of a spatial
                 // axis each step computes a part

  const Stage& stage() const { return expression->stages.front(); }
  bool carried() const { return stage().axes[static_cast<std::size_t>(axis)].reduction; }
};

// The factor by which a stage's partial sums are multiplied in every step, before the step's part is added:
// exp(coefficient * (new - old)) of a running maximum or minimum.
struct Rescaling {
  std::size_t extremum = 0;    // index of the loop stage that computes the running maximum or minimum
  std::vector<Coordinate> at;  // its element, over the spatial axes of the rescaled stage
  double coefficient = 0;

  bool operator==(const Rescaling&) const = default;
};

// Returns the rescaling of each stage of the loop; nullopt for a stage whose partial results stay unchanged. Returns
// nullopt as a whole, with a sentence in `refusal`, where the condition fails.
// Condition: each carried reduction is a maximum or minimum whose body depends on no running value, or a sum or mean of
// floats whose body is a product or quotient with at most one running value M in it, as a factor exp(c*M + ...), where
// c is below zero for a maximum and above zero for a minimum. Stages in between keep that form, and all factors of one
// M have the same c.
std::optional<std::vector<std::optional<Rescaling>>> carried_on(const std::vector<LoopStage>& loop,
                                                                std::string& refusal);

// The initial value of a running maximum (the lowest finite value of the dtype) or minimum (the greatest one).
double furthest_finite(Reducer r, base::Dtype dtype);

}  // namespace tilescope::expr
