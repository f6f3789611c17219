// SPDX-License-Identifier: Apache-2.0
// Results that leave through the scratchpad: all readers agree, and of whole tiles the model counts their accesses as
// the simulator does.

#include <cmath>

#include <gtest/gtest.h>

#include "api/verify/verify_programs.h"
#include "construct/roller.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/fit.h"
#include "tile/transfer/results.h"

namespace tilescope::tests {
namespace {

struct StoreCase {
  const char *name, *arch, *op;
  base::Dtype dtype;
  friend void PrintTo(const StoreCase& c, std::ostream* to) { *to << c.name; }
};

class StoresThroughTheScratchpad : public testing::TestWithParam<StoreCase> {};

TEST_P(StoresThroughTheScratchpad, AreCountedAlikeByAllReaders) {
  const StoreCase& c = GetParam();
  const ChipWithCostModel on(c.arch);
  const expr::Expression e = expression(c.op, "m=256,n=256,k=128", {}, c.dtype);
  const auto direct = construct::roller(e, on.spec, on.cost_model(), 3, {.direct_stores = true});
  ASSERT_FALSE(direct.empty());
  std::vector<api::GivenProgram> programs;
  std::vector<std::size_t> direct_of;  // by program: the one that differs in how its results leave alone
  const auto add = [&](tile::StageProgram p, std::size_t its_direct) {
    api::GivenProgram& given = programs.emplace_back();
    given.id = std::to_string(programs.size());
    given.program = tile::program_of(c.arch, std::move(p));
    direct_of.push_back(its_direct);
  };
  for (const construct::Ranked& r : direct) {
    const std::size_t first = programs.size();
    add(r.program, first);
    for (const std::int64_t padding : {0, 1, 8})
      if (tile::StageProgram p = tile::with_row_stores(r.program, padding, {16}); tile::fits(p, on.spec))
        add(std::move(p), first);
    for (const std::int64_t row : {16, 32, 64, 128})
      if (auto p = tile::with_tma_stores(r.program, {row}, on.spec); p && tile::fits(*p, on.spec))
        add(std::move(*p), first);
  }
  ASSERT_FALSE(programs.empty());
  base::Diagnostics diags;
  const auto rows = api::verify_programs(programs, on.spec, 2, [](std::size_t, std::size_t) {}, diags);
  if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const api::VerifiedRow &r = (*rows)[i], &d = (*rows)[direct_of[i]];
    EXPECT_TRUE(r.errors.empty() && r.values_ok && r.counters_ok) << r.id;
    ASSERT_TRUE(r.model && d.model) << r.id;
    const auto amount = [](const api::VerifiedAmounts& amounts, const std::string& name) {
      for (const auto& [of, n] : amounts)
        if (of == name) return n;
      ADD_FAILURE() << name;
      return 0.0;
    };
    const auto more = [&](const auto& of_row, const auto& of_direct, const std::string& name) {
      return amount(of_row, name) - amount(of_direct, name);
    };
    EXPECT_EQ(more(*r.model, *d.model, "sectors"), more(r.simulator, d.simulator, "sectors")) << r.id;
    // The model's first warp stands for all, whose rows may begin in other banks (docs/model.md).
    const double simulated = more(r.simulator, d.simulator, "bank_passes");
    EXPECT_NEAR(more(*r.model, *d.model, "bank_passes"), simulated, 0.1 * std::abs(simulated)) << r.id;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, StoresThroughTheScratchpad,
    testing::Values(StoreCase{"mma", "a100", "C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kF16},
                    StoreCase{"mma_transposed", "a100", "C[n,m] +=! A[m,k] * B[k,n]", base::Dtype::kF16},
                    StoreCase{"wgmma", "h200", "C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kF16},
                    StoreCase{"fma_h200", "h200", "C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kF32},
                    StoreCase{"mfma", "mi210", "C[m,n] +=! A[m,k] * B[n,k]", base::Dtype::kF16},
                    StoreCase{"fma", "v100", "C[m,n] +=! A[m,k] * B[k,n]", base::Dtype::kF32},
                    StoreCase{"fma_transposed", "v100", "C[n,m] +=! A[m,k] * B[k,n]", base::Dtype::kF32}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace tilescope::tests
