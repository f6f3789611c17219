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
                         testing::Values(Aim{"k80", 0.95, 0.93}, Aim{"v100", 0.96, 0.83}, Aim{"t4", 0.89, 0.82},
                                         Aim{"a100", 0.90, 0.88}, Aim{"h100_pcie", 0.84, 0.90}, Aim{"mi50", 0.78, 0.73},
                                         Aim{"mi100", 0.65, 0.90}, Aim{"mi210", 0.79, 0.99}),
                         [](const auto& named) { return named.param.chip; });

}  // namespace
}  // namespace tilescope::model
