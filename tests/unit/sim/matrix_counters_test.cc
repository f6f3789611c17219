// SPDX-License-Identifier: Apache-2.0
// Counters of programs by matrix instructions that no chip has, of warps of 8 to 64 lanes, against counting by hand.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/lower.h"
#include "lower/print.h"
#include "sim/simulate.h"
#include "tests/support/random_instruction.h"
#include "tests/support/random_matrix_program.h"
#include "tests/unit/backends_cuda/naive_counters.h"

namespace tilescope::sim {
namespace {

// Cycles in which the partitions' units multiply, at least.
double multiplying(const tile::StageProgram& p, const arch::ArchSpec& chip) {
  double multiply_adds = static_cast<double>(p.blocks()) * static_cast<double>(p.steps()) * p.iterations_per_step();
  for (std::size_t a = 0; a < p.space->spatial; ++a) multiply_adds *= static_cast<double>(p.block[a]);
  return multiply_adds / static_cast<double>(chip.compute.back().per_core * chip.core.count);
}

RC_GTEST_PROP(MatrixCounters, OfAnyInstructionAreThoseCountedByHand, ()) {
  const arch::ArchSpec chip = tests::any_matrix_chip(tests::chip("a100"));
  RC_LOG() << "warp " << chip.core.warp << ", " << tests::words_of(chip.compute.back()) << '\n';
  const tile::RProgram p = tests::any_matrix_program(chip);
  base::Diagnostics diags;
  const auto m = lower::lower(p, chip, diags);
  if (!m) RC_DISCARD("too large");
  RC_LOG() << print(*m);
  const SimReport report = simulate(*m, chip, {.mode = Mode::kFull});
  const std::vector<lower::KernelCounters> counted = tests::naive_counters(*m, chip);
  RC_ASSERT(report.kernels.size() == counted.size());
  for (std::size_t k = 0; k < counted.size(); ++k) RC_ASSERT(report.kernels[k].counters == counted[k]);
  RC_ASSERT(static_cast<double>(report.running()) >= multiplying(p.simt().front(), chip));
}

}  // namespace
}  // namespace tilescope::sim
