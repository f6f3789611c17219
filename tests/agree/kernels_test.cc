// SPDX-License-Identifier: Apache-2.0
// Kernels of every operator of every suite, as documents: read back they are the same kernels, and take the simulator
// as many cycles as the program.

#include <gtest/gtest.h>

#include "api/given.h"
#include "api/simulate/simulate.h"
#include "api/suites.h"
#include "lower/kernel_document.h"
#include "lower/lower.h"
#include "tests/support/build.h"
#include "tile/program_json.h"

namespace tilescope::tests {
namespace {

std::vector<api::GivenProgram> programs_of(const std::string& suite, bool small, const arch::ArchSpec& chip) {
  api::ProgramSource source;
  source.workload.suite = suite;
  source.workload.small = small;
  base::Diagnostics diags;
  auto given = api::given_programs(source, chip, 2, diags);
  require_no_errors(diags);
  return std::move(given).value();
}

std::string document_of(const tile::RProgram& p, const lower::Module& m, const arch::ArchSpec& chip) {
  const base::Value program = tile::to_document(p, chip);
  const bool carried =
      std::any_of(p.edges.begin(), p.edges.end(), [](const tile::Edge& e) { return !e.carried.empty(); });
  return base::to_json(lower::to_document(m, chip.name, *program.find("nodes")->get_if<base::List>(), carried));
}

class EverySuite : public testing::TestWithParam<std::tuple<const char*, std::string_view>> {};

TEST_P(EverySuite, IsReadBackToTheSameKernels) {
  const auto& [name, suite] = GetParam();
  const arch::ArchSpec on = chip(name);
  int read = 0;
  for (const api::GivenProgram& g : programs_of(std::string(suite), false, on)) {
    base::Diagnostics diags;
    const auto kernels = g.program ? lower::lower(*g.program, on, diags) : std::nullopt;
    if (!kernels) continue;
    const auto document =
        base::read_json(document_of(*g.program, *kernels, on), diags.add_source(g.id), diags, lower::kKernelLimits);
    const auto again = document ? lower::read_kernels(*document, on, diags) : std::nullopt;
    EXPECT_EQ(diags.formatted_errors(), std::vector<std::string>{}) << g.id;
    EXPECT_TRUE(again && again->module == *kernels) << g.id;
    EXPECT_TRUE(again && again->computes->stages() == g.program->stages()) << g.id;
    ++read;
  }
  EXPECT_GT(read, 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, EverySuite,
                         testing::Combine(testing::Values("v100", "a100", "h100_pcie", "mi210"),
                                          testing::ValuesIn(api::suite_names())));

class SmallSuite : public testing::TestWithParam<const char*> {};

TEST_P(SmallSuite, TakesAsManyCyclesByItsKernels) {
  const arch::ArchSpec on = chip(GetParam());
  const auto silent = [](std::size_t, std::size_t) {};
  for (const api::GivenProgram& g : programs_of("examples", true, on)) {
    base::Diagnostics diags;
    const auto kernels = g.program ? lower::lower(*g.program, on, diags) : std::nullopt;
    ASSERT_TRUE(kernels.has_value()) << g.id;
    api::ProgramSource by_program, by_kernels;
    by_program.program = {g.id, base::to_json(tile::to_document(*g.program, on))};
    by_kernels.kernels = {g.id, document_of(*g.program, *kernels, on)};
    std::vector<base::Map> simulated;
    for (const auto* source : {&by_program, &by_kernels}) {
      const auto rows = api::simulate(*source, on, api::SimulationMode::kFull, 1, std::nullopt, silent, diags);
      ASSERT_TRUE(rows && rows->front().simulation) << g.id;
      simulated.push_back(api::to_entries(*rows->front().simulation));
    }
    EXPECT_EQ(base::to_json(simulated[0]), base::to_json(simulated[1])) << g.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, SmallSuite, testing::Values("v100", "a100"));

}  // namespace
}  // namespace tilescope::tests
