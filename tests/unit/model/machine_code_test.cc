// SPDX-License-Identifier: Apache-2.0
// Registers, spills and instructions that the model assumes against what vendors' compilers made of programs.

#include "tests/support/machine_code.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/simt/detail/address_work.h"
#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/results.h"
#include "tests/support/document.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using Aim = tests::RegisterAim;

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

// Instructions on integers and predicates of a thread of the whole program.
double instructions_beside(const tile::StageProgram& p, const Machine& m) {
  double step = instructions_of_loops(p);
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].cached) {
      step += instructions_beside_reads(p, i, m);
      continue;
    }
    const CopyWork copy =
        std::visit([&](const auto& entry) { return copy_work(entry, p, i, m.warp); }, transfer_of(p, i, m));
    step += instructions_beside_copies(p, i, copy.requests, static_cast<double>(alone(p, m.engines).all_steps(p)), m);
  }
  const ResultAccess stores = of_results(p, [&](const auto& entry) { return result_stores(entry, p, m.warp); });
  return step * static_cast<double>(alone(p, m.engines).all_steps(p)) +
         instructions_beside_stores(p, stores.per_warp, m);
}

class MachineCode : public testing::TestWithParam<std::pair<std::string, double>> {};

TEST_P(MachineCode, IsWhatTheModelCounts) {
  const auto& [chip, least] = GetParam();
  const Machine& m = tests::machine(chip);
  int kernels = 0, within = 0;
  double log_ratio = 0;
  for (const tests::CompiledKernel& k : tests::compiled_kernels(chip)) {
    if (!k.name().starts_with("compute_") || !tests::all_trips_known(k.row)) continue;
    const tile::RProgram program = tests::program(k.program.dump(), *m.arch);
    const double counted = instructions_beside(program.simt().front(), m), real = tests::counts_of(k.row).beside;
    ++kernels;
    within += tests::within(counted, real, 0.25);
    log_ratio += std::log(counted / real);
    if (std::getenv("TILESCOPE_SHOW_KERNELS") != nullptr)
      fmt::print("{} {}: counted {:.0f}, compiled {:.0f}\n", chip, k.row.at("id").get<std::string>(), counted, real);
  }
  fmt::print(
      "{}: of {} kernels the model counts integer and predicate instructions within a quarter on {}, {:+.0f} % "
      "in the mean\n",
      chip, kernels, within, 100 * (std::exp(log_ratio / kernels) - 1));
  EXPECT_GE(kernels, 80);
  EXPECT_GE(within, least * kernels);
  EXPECT_LT(std::abs(log_ratio / kernels), std::log(1.7)) << "in the mean";
}

INSTANTIATE_TEST_SUITE_P(Chips, MachineCode,
                         testing::Values(std::pair("k80", 0.43), std::pair("v100", 0.46), std::pair("t4", 0.3),
                                         std::pair("a100", 0.48), std::pair("h100_pcie", 0.5), std::pair("mi50", 0.38),
                                         std::pair("mi100", 0.29), std::pair("mi210", 0.3)),
                         [](const auto& named) { return named.param.first; });

}  // namespace
}  // namespace tilescope::model
