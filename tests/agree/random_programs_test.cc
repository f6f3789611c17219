// SPDX-License-Identifier: Apache-2.0
// Random programs of random operators: interpreter, emitted text on the CPU and simulator against plain loops and
// against each other. RC_PARAMS="max_success=2000" draws more (experiments/studies/random_programs/run).

#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/verify/verify_programs.h"
#include "base/document.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "tests/support/random_cluster_program.h"
#include "tests/support/random_masks.h"
#include "tests/support/random_matrix_program.h"
#include "tests/support/random_program.h"
#include "tests/support/random_scaled_program.h"
#include "tests/support/silent.h"
#include "tile/program_json.h"

namespace tilescope::tests {
namespace {

// Chips that lower alike programs differently: without and with asynchronous copies.
struct GeneratedPrograms {
  arch::ArchSpec chip;
  std::vector<api::GivenProgram> programs;
};

// Draws legal programs of operators that the chip can run; rapidcheck prints the seed.
void generate(GeneratedPrograms& out, const std::function<tile::RProgram()>& any) {
  const bool all = rc::check("programs are drawn", [&] {
    tile::RProgram p = any();
    base::Diagnostics diags;
    if (!lower::lower(p, out.chip, diags)) RC_DISCARD("stages more than a block has");
    api::GivenProgram given;
    given.id = std::to_string(out.programs.size());
    given.program = std::move(p);
    out.programs.push_back(std::move(given));
  });
  ASSERT_TRUE(all);
  ASSERT_EQ(out.programs.size(), static_cast<std::size_t>(rc::detail::configuration().testParams.maxSuccess));
}

void expect_all_agree(const GeneratedPrograms& generated) {
  base::Diagnostics diags;
  const auto rows = api::verify_programs(generated.programs, generated.chip, 2, kSilent, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const api::VerifiedRow& r = (*rows)[i];
    if (r.errors.empty() && r.values_ok && r.counters_ok) continue;
    ADD_FAILURE() << (r.errors.empty() ? (r.values_ok ? "counters differ" : "values differ") : r.errors.front()) << '\n'
                  << base::to_json(tile::to_document(*generated.programs[i].program, generated.chip)) << '\n'
                  << lower::print(*lower::lower(*generated.programs[i].program, generated.chip, diags));
  }
}

TEST(RandomPrograms, AllReadersAgree) {
  GeneratedPrograms generated{chip("v100"), {}};
  generate(generated, [&] { return any_rprogram(generated.chip, 9, 96); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnAsynchronousCopiesAndOtherBanks) {
  GeneratedPrograms generated{
      chip("v100", {{"core.async_copy", "4 B"}, {"memory.smem.banks", "16"}, {"memory.l2.sector", "64 B"}}), {}};
  generate(generated, [&] { return any_rprogram(generated.chip, 9, 96); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnMatrixInstructions) {
  for (const char* name : {"a100", "rtx2080ti", "v100", "mi210", "tilescope_two"}) {
    GeneratedPrograms generated{chip(name), {}};
    generate(generated, [&] { return any_matrix_program(generated.chip); });
    expect_all_agree(generated);
  }
}

TEST(RandomPrograms, AllReadersAgreeOnFactorsInTheScratchpad) {
  GeneratedPrograms generated{chip("h100_pcie"), {}};
  generate(generated, [&] { return any_matrix_program(generated.chip, Factors::kCached); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnFactorsInBoxes) {
  GeneratedPrograms generated{chip("h100_pcie"), {}};
  generate(generated, [&] { return any_matrix_program(generated.chip, Factors::kByTma); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnSumsInTensorMemory) {
  for (const arch::ArchSpec& a : {chip("b200"), chip_of_64_lanes()}) {
    GeneratedPrograms generated{a, {}};
    generate(generated, [&] { return any_matrix_program(generated.chip, Factors::kByTma); });
    expect_all_agree(generated);
  }
}

TEST(RandomPrograms, AllReadersAgreeOnClusters) {
  GeneratedPrograms generated{chip("h100_pcie"), {}};
  generate(generated, [&] { return any_cluster_program(generated.chip); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnPersistentBlocks) {
  GeneratedPrograms generated{chip("h100_pcie"), {}};
  generate(generated, [&] { return any_persistent_program(generated.chip); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnScales) {
  GeneratedPrograms generated{chip("h100_pcie"), {}};
  generate(generated, [&] { return any_scaled_program(generated.chip); });
  expect_all_agree(generated);
}

TEST(RandomPrograms, AllReadersAgreeOnMasks) {
  for (const char* name : {"v100", "a100", "mi210"}) {
    GeneratedPrograms generated{chip(name), {}};
    generate(generated, [&] { return any_masked_rprogram(generated.chip, 13, 96); });
    expect_all_agree(generated);
  }
}

}  // namespace
}  // namespace tilescope::tests
