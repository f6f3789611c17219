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
#include "tests/support/random_carried_group.h"
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
      if (expected[i] == globals[g][i] || (std::isnan(expected[i]) && std::isnan(globals[g][i]))) continue;
      const double apart = std::abs(expected[i] - globals[g][i]);
      worst = std::max(worst, std::isnan(apart) ? HUGE_VAL : apart);
      if (std::isfinite(expected[i])) greatest = std::max(greatest, std::abs(expected[i]));
    }
  }
  return worst == 0 ? 0 : worst / greatest;
}

TEST(Carried, AttentionIsThatOfPlainLoops) {
  for (const auto& [dtype, most] : {std::pair("f32", 1e-6), {"f64", 1e-14}, {"f16", 3e-3}}) {
    const tile::RProgram p = tests::program(tests::small_carried_group(dtype), tests::v100());
    const Module m = tests::lowered(p, tests::v100());
    ASSERT_EQ(m.kernels.size(), 1U);
    EXPECT_LT(difference(p, m), most) << dtype << '\n' << print(m);
  }
}

// What rounding may take the values apart, which are of every step's own maximum before they are of the last one's.
double most_difference(const tile::RProgram& p) {
  switch (p.space(0).expression.dtype) {
    case base::Dtype::kF64:
      return 1e-13;
    case base::Dtype::kF16:
      return 2e-2;
    default:
      return 1e-5;
  }
}

void compute_the_reference(const arch::ArchSpec& chip) {
  const tile::RProgram p = tests::any_carried_program(chip);
  RC_LOG() << base::to_json(tile::to_document(p, chip)) << '\n';
  base::Diagnostics diags;
  const auto m = lower(p, chip, diags);
  if (!m) {
    const std::string why = diags.sentences().front();
    RC_LOG() << why << '\n';
    RC_ASSERT(why.find("scratchpad bytes a block") == 0 ||
              why.find("do not all begin at a multiple of that") != std::string::npos);
    RC_DISCARD("too large, or accesses too wide");
  }
  RC_LOG() << print(*m);
  RC_ASSERT(m->kernels.size() == 1);
  bool factors = false, shuffles = false;
  for (const Buffer& b : m->kernels[0].buffers) factors = factors || b.name.ends_with("_factors");
  for_each_statement(m->kernels[0].body,
                     [&](const Statement& s) { shuffles = shuffles || std::holds_alternative<ReduceLanes>(s.what); });
  RC_CLASSIFY(factors, "rescaled");
  RC_CLASSIFY(shuffles, "shuffles");
  NamedValues values;
  tests::add_mask(p, values);
  RC_CLASSIFY(!values.empty(), "masked");
  RC_ASSERT(difference(p, *m, values) < most_difference(p));
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReference, ()) { compute_the_reference(tests::v100()); }

RC_GTEST_PROP(CarriedGroups, ComputeTheReferenceOnWarpsOf64, ()) {
  static const arch::ArchSpec kChip = tests::chip("mi210");
  compute_the_reference(kChip);
}

RC_GTEST_PROP(CarriedGroups, ComputeTheReferenceWithoutShuffles, ()) {
  static const arch::ArchSpec kChip = [] {
    arch::ArchSpec chip = tests::chip("v100", {{"core.async_copy", "4 B"}});
    chip.core.shuffle.reset();
    return chip;
  }();
  compute_the_reference(kChip);
}

}  // namespace
}  // namespace tilescope::lower
