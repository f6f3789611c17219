// SPDX-License-Identifier: Apache-2.0
// Stages of one kernel, drawn at random: interpreter and emitted text on the CPU give the same bits, simulator and text
// count the same accesses, and the values are those of plain loops. RC_PARAMS="max_success=2000" draws more.

#include <algorithm>
#include <deque>
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/verify/compare_values.h"
#include "backends/cuda/host_run.h"
#include "base/document.h"
#include "lower/expected_values.h"
#include "lower/interpret.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "sim/simulate.h"
#include "tests/support/random_carried_group.h"
#include "tests/support/random_group.h"
#include "tests/support/random_masks.h"
#include "tests/support/random_row_group.h"
#include "tile/program_json.h"

namespace tilescope::tests {
namespace {

struct Drawn {
  tile::RProgram program;
  lower::Module module;
  int compiled = -1;
};

using Generator = std::function<tile::RProgram(const arch::ArchSpec&)>;

// Draws programs that the chip runs; rapidcheck prints the seed.
void draw(const Generator& any, const arch::ArchSpec& chip, cuda::HostCompiler& host, std::deque<Drawn>& out) {
  const bool all = rc::check("groups are drawn", [&] {
    tile::RProgram p = any(chip);
    base::Diagnostics diags;
    auto m = lower::lower(p, chip, diags);
    if (!m) RC_DISCARD("more than a block has, or accesses too wide");
    out.push_back({std::move(p), std::move(*m), -1});
    out.back().compiled = host.add(out.back().module);
  });
  ASSERT_TRUE(all);
}

// What readers of one program disagree about; empty where they do not.
std::string disagreement(const Drawn& d, const arch::ArchSpec& chip, cuda::HostCompiler& host) {
  std::mt19937 random(1);
  lower::NamedValues values;
  add_mask(d.program, values);
  lower::add_expected_values(d.program, random, values);
  const std::vector<expr::Values> inputs = lower::globals_of(d.module, values);
  std::vector<expr::Values> interpreted = inputs;
  try {
    lower::interpret(d.module, {}, interpreted);
  } catch (const lower::KernelError& e) {
    return e.what();
  }
  const api::ValueErrors allowed = api::allowed_errors(d.program);
  // Exponentials and their sums round between operations in the text, and behind the last one in the interpreter.
  const bool exact = std::all_of(d.program.edges.begin(), d.program.edges.end(),
                                 [](const tile::Edge& e) { return e.carried.empty(); });
  for (std::size_t g = 0; g < interpreted.size(); ++g) {
    const lower::Global& global = d.module.globals[g];
    if (global.role != lower::Role::kOutput) continue;
    if (!api::errors_of(global.dtype, interpreted[g], values.at(global.name)).within(allowed))
      return global.name + " differs from plain loops";
  }
  for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting}) {
    const cuda::HostResult r = host.run(d.compiled, {build, 1, {}, inputs});
    if (!r.ok()) return r.error;
    for (std::size_t g = 0; g < interpreted.size(); ++g) {
      const lower::Global& global = d.module.globals[g];
      if (global.role != lower::Role::kOutput || r.globals[g] == interpreted[g]) continue;
      if (exact || !api::errors_of(global.dtype, r.globals[g], interpreted[g]).within(allowed))
        return global.name + " of the text differs from the interpreter's";
    }
    if (build != cuda::HostBuild::kCounting) continue;
    std::vector<lower::KernelCounters> simulated;
    for (sim::KernelReport& k : sim::simulate(d.module, chip, {.mode = sim::Mode::kFull}).kernels)
      simulated.push_back(std::move(k.counters));
    if (simulated != r.counters) return "counters differ";
  }
  return {};
}

void expect_all_agree(const arch::ArchSpec& chip, const Generator& any = any_group_program) {
  cuda::HostCompiler host(chip);
  if (const auto why = host.why_unsupported()) GTEST_SKIP() << *why;
  std::deque<Drawn> drawn;
  draw(any, chip, host, drawn);
  for (const Drawn& d : drawn)
    if (const std::string why = disagreement(d, chip, host); !why.empty())
      ADD_FAILURE() << why << '\n'
                    << base::to_json(tile::to_document(d.program, chip)) << '\n'
                    << lower::print(d.module);
}

TEST(RandomGroups, AllReadersAgree) { expect_all_agree(v100()); }

TEST(RandomGroups, AllReadersAgreeOnWarpsOf64) { expect_all_agree(chip("mi210")); }

TEST(RandomGroups, AllReadersAgreeWithoutShuffles) {
  arch::ArchSpec alone = chip("v100", {{"core.async_copy", "4 B"}, {"memory.smem.banks", "16"}});
  alone.core.shuffle.reset();
  expect_all_agree(alone);
}

tile::RProgram any_carried(const arch::ArchSpec& chip) { return any_carried_program(chip); }

TEST(RandomCarriedGroups, AllReadersAgree) { expect_all_agree(v100(), any_carried); }

TEST(RandomCarriedGroups, AllReadersAgreeOnWarpsOf64) { expect_all_agree(chip("mi210"), any_carried); }

TEST(RandomCarriedGroups, AllReadersAgreeWithoutShuffles) {
  arch::ArchSpec alone = chip("v100", {{"core.async_copy", "4 B"}, {"memory.smem.banks", "16"}});
  alone.core.shuffle.reset();
  expect_all_agree(alone, any_carried);
}

TEST(RandomMaskedGroups, AllReadersAgree) { expect_all_agree(v100(), any_masked_carried_program); }

TEST(RandomMaskedGroups, AllReadersAgreeOnWarpsOf64) { expect_all_agree(chip("mi210"), any_masked_carried_program); }

Generator of_rows(const std::string& instruction) {
  return [instruction](const arch::ArchSpec& chip) { return any_row_program(chip, instruction); };
}

TEST(RandomRowGroups, AllReadersAgree) { expect_all_agree(chip("a100"), of_rows("mma.f16")); }

TEST(RandomRowGroups, AllReadersAgreeInBf16) { expect_all_agree(chip("h200"), of_rows("mma.bf16")); }

// Lanes of a warp group hold the first operand of the second product.
TEST(RandomRowGroups, AllReadersAgreeByWgmma) { expect_all_agree(chip("h200"), of_rows("wgmma.f16")); }

// Without copies that land by themselves.
TEST(RandomRowGroups, AllReadersAgreeOnTuring) { expect_all_agree(chip("t4"), of_rows("mma.f16")); }

// Each stage's tile in turn, and all of them in one walk.
RC_GTEST_PROP(Groups, AskTheSameOfAllStagesAsOfOne, ()) {
  const arch::ArchSpec& chip = v100();
  tile::RProgram p = any_group_program(chip);
  for (const tile::Group& group : tile::groups_of(p, chip)) {
    tile::RProgram one_by_one = p;
    std::vector<tile::Extents> expected, found;
    for (std::size_t i = group.size() - 1; i-- > 0;) {
      const auto extents = tile::kept_extents(one_by_one, group, i, chip);
      if (!extents) break;
      expected.push_back(*extents);
      tile::StageProgram& stage = one_by_one.simt()[group[i]];
      for (std::size_t d = 0; d < stage.space->spatial; ++d) stage.block[d] = (*extents)[d];
    }
    const bool all = tile::set_kept_extents(p, group, chip, [&](std::size_t, const tile::Extents& extents) {
      found.push_back(extents);
      return true;
    });
    RC_ASSERT(found == expected);
    RC_ASSERT(all == (expected.size() + 1 == group.size()));
    RC_ASSERT(p.simt() == one_by_one.simt());
  }
}

}  // namespace
}  // namespace tilescope::tests
