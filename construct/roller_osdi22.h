// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two search policies of ROLLER's published artifact (OSDI'22), reproduced rule by rule: one for operators with
// data reuse (matmul, convolution), one for the others (elementwise, pooling, reduction, depthwise convolution). They
// are our baseline. Every constant of a chip comes from its `baselines`; the numbers in this code are the policies'
// own.
//
// Ignores: tensor cores, storage padding, and operators that were collapsed by hand.

#include <vector>

#include "arch/spec.h"
#include "base/units.h"
#include "expr/expression.h"
#include "tile/program.h"

namespace tilescope::construct {

// One round of the search: the share of an axis that tiles may waste, and how many programs this round alone found.
// Rounds without a program leave no entry.
struct Round {
  double eps = 0;
  int found = 0;

  bool operator==(const Round&) const = default;
};

struct Osdi22Result {
  bool io_dependent = false;  // which of the two policies searched
  std::vector<tile::StageProgram>
      programs;  // in the order of discovery, at most `keep`, distinct before they are shrunk
  std::vector<Round> rounds;
};

// Searches for `keep` programs of a single-stage expression. A program's block tile holds the published block tile and
// reduction step, its thread tile the published register tile, whose elements are vthreads (per_thread is 1). The
// result may have no programs: no tile of a tiny operator fills a warp. `max_vector` bounds one access of one thread.
Osdi22Result roller_osdi22(const expr::Expression& one_stage, const arch::RollerBaseline& constants, int keep,
                           base::Bytes max_vector);

}  // namespace tilescope::construct
