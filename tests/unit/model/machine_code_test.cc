// SPDX-License-Identifier: Apache-2.0
// Registers and spills that the model assumes against those that vendors' compilers took.

#include "tests/support/machine_code.h"

#include <gtest/gtest.h>

#include "tests/support/document.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

// Least shares of a chip's kernels on which registers are within a granule, and on which spills are foreseen or ruled
// out; the aim is nine of ten and 95 of a hundred (docs/accuracy.md).
struct Aim {
  std::string chip;
  double registers = 0, spills = 0;
};

class MachineCodeRegisters : public testing::TestWithParam<Aim> {};

TEST_P(MachineCodeRegisters, AreWhatTheModelAssumes) {
  const Machine& m = tests::machine(GetParam().chip);
  tests::RegisterTally tally("model", GetParam().chip, m.register_granule);
  for (const tests::CompiledKernel& k : tests::compiled_kernels(GetParam().chip)) {
    if (!k.name().starts_with("compute_")) continue;  // of what combines shares of a reduction it assumes nothing
    const tile::RProgram program = tests::program(k.program.dump(), *m.arch);
    const Occupancy o = occupancy_of(program.simt().front(), m);
    tally.add(k, o.registers_per_thread, o.spilled_per_thread > 0);
  }
  tally.print();
  EXPECT_GE(tally.kernels(), 100);
  EXPECT_GE(tally.within(), GetParam().registers);
  EXPECT_GE(tally.right_on_spills(), GetParam().spills);
}

INSTANTIATE_TEST_SUITE_P(Chips, MachineCodeRegisters,
                         testing::Values(Aim{"k80", 0.68, 0.84}, Aim{"v100", 0.94, 0.72}, Aim{"t4", 0.87, 0.68},
                                         Aim{"a100", 0.81, 0.84}, Aim{"h100_pcie", 0.62, 0.88}, Aim{"mi50", 0.39, 0.47},
                                         Aim{"mi100", 0.36, 0.72}, Aim{"mi210", 0.24, 0.70}),
                         [](const auto& named) { return named.param.chip; });

}  // namespace
}  // namespace tilescope::model
