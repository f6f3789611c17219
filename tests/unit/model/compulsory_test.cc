// SPDX-License-Identifier: Apache-2.0
// DRAM gives and takes no less than a program's operands have: compulsory bytes, counted from the expression alone.

#include "tests/unit/model/compulsory.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/load.h"
#include "model/simt/detail/traffic.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::any_of_range;

const std::vector<std::string>& gpus() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const arch::Device& d : arch::list_devices())
      if (tests::chip(d.name).chip_class == arch::ChipClass::kGpu) names.push_back(d.name);
    return names;
  }();
  return kNames;
}

expr::Expression any_batched(std::int64_t most) {
  static const std::vector<tests::Form> kForms = {{"C[b,m,n] +=! A[b,m,k] * B[b,n,k]", "bmnk"},
                                                  {"C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "bmnk"},
                                                  {"C[b,h,m,n] +=! A[b,h,m,k] * B[b,n,k]", "bhmnk"},
                                                  {"O[b,i] +=! I[b,i,j]", "bij"}};
  return tests::any_sized(tests::any_element(kForms), most, tests::any_dtype());
}

// A hundred draws of a property check a hundred operators each.
RC_GTEST_PROP(CompulsoryBytes, AreChargedToTheDram, ()) {
  for (int i = 0; i < 100; ++i) {
    const std::int64_t most = tests::any_element<std::int64_t>({8, 40, 300});
    const expr::Expression e = any_of_range(0, 1) == 0 ? any_batched(most) : tests::any_operator(most);
    const tile::StageProgram p = tests::any_program(e, 1024);
    const std::string& chip = tests::any_element(gpus());
    const Traffic t = traffic_of(p, tests::machine(chip), any_of_range(1, 4));
    double all = 0;
    for (std::size_t o = 0; o < p.space->operand_count(); ++o) {
      const double distinct = tests::compulsory_bytes(*p.space, o);
      all += distinct;
      RC_LOG() << chip << ' ' << e.stages.front().text << ' ' << p.space->operand(o).name << ' '
               << t.operand[o].dram_bytes << " of " << distinct << '\n';
      RC_ASSERT(t.operand[o].dram_bytes >= distinct * (1 - 1e-12));
    }
    RC_ASSERT(t.dram.bytes() >= all * (1 - 1e-12));
  }
}

// A block tile that is longer than its axis is cut to it once.
TEST(CompulsoryBytes, OfTilesLongerThanTheirAxis) {
  const expr::Expression e =
      tests::expression("C[b,m,n] +=! A[b,m,k] * B[b,n,k]", "b=5,m=16,n=64,k=100", {}, base::Dtype::kF16);
  const auto space = tile::make_space(e, tile::no_collapse(e.stages.front()));
  const tile::StageProgram p =
      tile::make_stage_program(space, {{1, 1, 1}, {1, 32, 4}, {1, 32, 4}}, {1, 1, 1, 100}, {16});
  ASSERT_GT(p.block[1], 16);
  const Traffic t = traffic_of(p, tests::machine("h100_pcie"), 1);
  EXPECT_GE(t.operand[0].dram_bytes, 5 * 16 * 100 * 2);
  EXPECT_GE(t.operand[1].dram_bytes, 5 * 64 * 100 * 2);
  EXPECT_GE(t.dram.written, 5 * 16 * 64 * 2);
}

}  // namespace
}  // namespace tilescope::model
