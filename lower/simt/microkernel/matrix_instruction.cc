// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/matrix_instruction.h"

namespace tilescope::lower {

MatrixInstruction matrix_instruction(const arch::ComputeSpec& c, std::int64_t lanes) {
  const arch::Spelling spelling = c.spelling.value_or(arch::Spelling{});
  const arch::FragmentSpec& f = *c.fragments;
  MatrixInstruction i{c.name, {c.m, c.n, c.k}, lanes, c.dtype, c.accumulate, f.a, f.b, f.c, {}, {}};
  i.cuda = spelling.cuda.value_or("");
  i.hip = spelling.hip.value_or("");
  return i;
}

}  // namespace tilescope::lower
