// SPDX-License-Identifier: Apache-2.0
// No program takes less than its stage's roofline.

#include "model/simt/roofline.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/integer.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/random_chip.h"
#include "tests/support/random_matrix_program.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

// That its blocks compute, those beyond the stage's ranges among them.
double iterations_of(const tile::StageProgram& p) {
  double all = 1;
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) {
    const std::int64_t n = p.space->axes[a].extent;
    all *= static_cast<double>(a < p.space->spatial ? base::ceil_div(n, p.block[a]) * p.block[a] : n);
  }
  return all;
}

RC_GTEST_PROP(Bounds, NoProgramIsBelowItsRoofline, ()) {
  const arch::ArchSpec chip =
      tests::any_neighbour(tests::any_element<std::string>({"v100", "a100", "h200", "mi50", "tilescope_one"}));
  const Machine m = make_machine(chip);
  const expr::Expression e = tests::any_operator(200);
  for (int n = 0; n < 20; ++n) {
    const tile::StageProgram p = tests::any_program(e, 1024);
    const auto time = estimate_stage(p, m);
    if (!time) continue;
    const double least = Roofline(*p.space, p.micro_kernel, m).least_us(iterations_of(p));
    RC_ASSERT(least <= time->total_us * (1 + 1e-9));
    RC_ASSERT(least > m.launch_us);
  }
}

// Neither does one that multiplies by matrix instructions.
RC_GTEST_PROP(Bounds, NoMatrixProgramIsBelowItsRoofline, ()) {
  const auto [name, factors] =
      tests::any_element<std::pair<std::string, tests::Factors>>({{"v100", tests::Factors::kInRegisters},
                                                                  {"a100", tests::Factors::kInRegisters},
                                                                  {"h200", tests::Factors::kCached},
                                                                  {"h200", tests::Factors::kByTma}});
  const Machine& m = tests::machine(name);
  const tile::StageProgram p = tests::any_matrix_program(*m.arch, factors).simt().front();
  const auto time = estimate_stage(p, m);
  if (!time) return;
  RC_ASSERT(Roofline(*p.space, p.micro_kernel, m).least_us(iterations_of(p)) <= time->total_us * (1 + 1e-9));
}

// Of a chip whose reads and writes together are far faster than each alone more bytes may take less time: its roofline
// is that of all bytes at the best ratio, and no more.
TEST(Bounds, HoldWhereCopiesAreFast) {
  const arch::ArchSpec chip =
      tests::chip("v100", {{"calibration.dram.copy.ratio", "2"}, {"calibration.dram.write.ratio", "0.4"}});
  const Machine m = make_machine(chip);
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=8192,n=8192,k=4");
  const auto space = tile::make_space(e, tile::contiguous_collapse(e));
  const double bytes = 4 * (2 * 8192.0 * 4 + 8192.0 * 8192), at_best_us = bytes / (2 * m.dram_bytes_per_us);
  constexpr double kNoIterations = 0;
  EXPECT_NEAR(Roofline(*space, tile::Fma{}, m).least_us(kNoIterations) - m.launch_us, at_best_us, 1e-9 * at_best_us);
}

double least_beside_launch(const char* text, const char* sizes, double iterations) {
  const Machine& m = tests::machine("v100");
  const expr::Expression e = tests::expression(text, sizes);
  return Roofline(*tile::make_space(e, tile::contiguous_collapse(e)), tile::Fma{}, m).least_us(iterations) -
         m.launch_us;
}

// A large product takes what 64 multiply-adds a cycle and core take, a copy what its bytes do.
TEST(Roofline, IsArithmeticOrBytes) {
  const arch::ArchSpec v100 = tests::chip("v100");
  const double macs = 4096.0 * 4096 * 4096;
  const double macs_us = macs / (64.0 * static_cast<double>(v100.core.count) * static_cast<double>(v100.clock.n)) * 1e6;
  const double product = least_beside_launch("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096", macs);
  EXPECT_GE(product, macs_us);
  EXPECT_LE(product, 1.2 * macs_us) << "a calibrated ratio of the peak";
  const double elements = 1 << 26, bytes_us = 2 * 4 * elements / 900e9 * 1e6;
  const double copy = least_beside_launch("O[i] = I[i]", "i=67108864", elements);
  EXPECT_GE(copy, 0.95 * bytes_us);
  EXPECT_LE(copy, 1.3 * bytes_us) << "a calibrated ratio of the peak";
}

}  // namespace
}  // namespace tilescope::model
