// SPDX-License-Identifier: Apache-2.0
// Stages of one kernel whose reductions are carried on from step to step: against plain loops, and mistakes planted.

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/interpreted.h"
#include "tests/support/lowered.h"
#include "tests/support/planting.h"
#include "tests/support/small_carried_group.h"

namespace tilescope::lower {
namespace {

// The greatest difference from plain loops, over the greatest value; why the interpreter refuses the kernel where it
// does. Inputs that `values` has are not drawn.
double difference(const tile::RProgram& p, const Module& m, NamedValues values = {}) {
  std::mt19937 random(1);
  add_expected_values(p, random, values);
  std::vector<expr::Values> globals = globals_of(m, values);
  interpret(m, std::vector<double>(m.scalars.size(), kScalar), globals);
  double worst = 0, greatest = 0;
  for (std::size_t g = 0; g < globals.size(); ++g) {
    if (m.globals[g].role != Role::kOutput) continue;
    const expr::Values& expected = values.at(m.globals[g].name);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(globals[g][i])) continue;
      const double apart = std::abs(expected[i] - globals[g][i]);
      worst = std::max(worst, std::isnan(apart) ? HUGE_VAL : apart);
      if (std::isfinite(expected[i])) greatest = std::max(greatest, std::abs(expected[i]));
    }
  }
  return worst / greatest;
}

TEST(Carried, AttentionIsThatOfPlainLoops) {
  for (const auto& [dtype, most] : {std::pair("f32", 1e-6), {"f64", 1e-14}, {"f16", 3e-3}}) {
    const tile::RProgram p = tests::program(tests::small_carried_group(dtype), tests::v100());
    const Module m = tests::lowered(p, tests::v100());
    ASSERT_EQ(m.kernels.size(), 1U);
    EXPECT_LT(difference(p, m), most) << dtype << '\n' << print(m);
  }
}

}  // namespace
}  // namespace tilescope::lower
