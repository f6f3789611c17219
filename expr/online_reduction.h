// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions that are carried on: a loop over the steps of an axis around several stages, in which some compute a
// step's part of their results and others add that part to what they have (the online softmax of Milakov and Gimelshein
// 2018; FlashAttention, Dao et al., NeurIPS 2022). A stage that reads a maximum before it is whole reads the running
// one, and what was summed up with an earlier one is multiplied by what the new one makes of it.
//
// Ignores: infinities and not-a-number, but that a running maximum begins at the lowest finite value of its dtype: a
// step, or a whole reduction, of nothing but -inf then adds zeros, where the plain loop has -inf - -inf.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// A stage in the loop, in an expression of its own; stages know each other's tensors by name.
struct LoopStage {
  const Expression* expression = nullptr;
  int axis = 0;  // of the stage, by whose steps the loop goes: a reduced one is carried on, of a spatial one a step has
                 // a part

  const Stage& stage() const { return expression->stages.front(); }
  bool carried() const { return stage().axes[static_cast<std::size_t>(axis)].reduction; }
};

// What a stage's partial sums are multiplied by in every step, before its part is added: exp(coefficient * (new - old))
// of a running maximum or minimum.
struct Rescaling {
  std::size_t extremum = 0;    // of the loop's stages
  std::vector<Coordinate> at;  // the element, over the spatial axes of the stage that is rescaled
  double coefficient = 0;

  bool operator==(const Rescaling&) const = default;
};

// By stage of the loop its rescaling, or nothing where partial results stay as they are.
// Condition: what is carried on is a maximum or minimum of what no running value is part of, or a sum or mean of floats
// whose body is a product or quotient with at most one running value M in it, as a factor exp(c*M + ...) with c below
// zero of a maximum and above zero of a minimum; stages before them keep that form, and all of one M have one c.
std::optional<std::vector<std::optional<Rescaling>>> carried_on(const std::vector<LoopStage>& loop,
                                                                std::string& refusal);

// Where a running maximum or minimum of that dtype begins: the finite value that is furthest from what it looks for.
double furthest_finite(Reducer r, base::Dtype dtype);

}  // namespace tilescope::expr
