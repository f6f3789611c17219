// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stage that is carried on around its group's loop (tile/group_loop.h): its accumulators before the first step, what
// a step adds to them, and what is left to do behind the last one.

#include <optional>

#include "expr/online_reduction.h"
#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {

// What of the group such a stage hangs on, or others hang on it.
struct CarriedPlace {
  bool runs = false;  // its results leave in every step
  // Of a running maximum or minimum M that sums are rescaled by: the coefficient c, and where the tile of exp(c*(new -
  // old)) is, laid out as that of its results.
  std::optional<double> coefficient;
  base::Bytes factors_at;
  // Of a sum that is rescaled: by what, and the tile of factors, or the registers in which lanes have those of their
  // rows.
  const expr::Rescaling* rescaling = nullptr;
  const KeptTile* factors = nullptr;
  int held_factors = -1;
};

class Carrying {
 public:
  // The stage's tiles and results have their registers.
  Carrying(const BlockParts& parts, const CarriedPlace& place);

  // Its own tile of factors, where it has one; of a row reduction their registers.
  KeptTile factors() const;
  int held_factors() const { return place_.coefficient && by_rows() ? factor_ : -1; }
  Body before();
  // With the tiles of one step at a time, or with those that a ring around the loop has in a stage. Where it runs,
  // others read its results behind the next barrier.
  Body in_step(const Affine& step);
  Body in_step_of_ring(const Affine& step, const Affine& ring_stage);
  Body behind();

 private:
  // target = body of `operands` at each of a thread's results.
  Body on_all(int target, std::vector<expr::Node> body, const std::vector<int>& operands);
  // Whether it is a row reduction, whose lanes have all that others need of their rows.
  bool by_rows() const;
  // The products of a step, and what leaves with it.
  Body compute(const Affine& step, const Affine& ring_stage);
  Body rescale();
  Body rescale_by_rows();
  Body leave_factors();

  const BlockParts b_;
  const CarriedPlace place_;
  Stage& s_;
  // Registers: the results of the step before, the factor of each result; of a rescaled sum the factor of one.
  int before_ = -1, factor_ = -1;
  KeptTile factors_;
};

}  // namespace tilescope::lower
