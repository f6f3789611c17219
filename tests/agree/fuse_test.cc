// SPDX-License-Identifier: Apache-2.0
// Kernels that stages share, as construction finds them: what it returns can be lowered, is computed as the plain loops
// say, and is never slower than every stage in a kernel of its own, as the model sees it.

#include "construct/fuse.h"

#include <cmath>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "construct/known_runs.h"
#include "construct/roller.h"
#include "expr/stages.h"
#include "expr/suites.h"
#include "lower/expected_values.h"
#include "lower/interpret.h"
#include "lower/lower.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/random_program.h"
#include "tile/group.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

struct OnChip {
  explicit OnChip(const std::string& name, const std::vector<arch::Override>& changes = {})
      : spec(tests::chip(name, changes)), machine(model::make_machine(spec)) {}
  OnChip(const OnChip&) = delete;
  OnChip& operator=(const OnChip&) = delete;

  // The best program of every stage as a kernel of its own; none where a stage has no program.
  std::vector<Ranked> alone(const expr::Expression& e) const {
    const CostModel cost = [this](const tile::RProgram& p) {
      const auto estimate = model::estimate_stage(p.simt().front(), machine);
      return base::Microseconds{estimate ? estimate->total_us : 1e9};
    };
    std::vector<Ranked> out;
    for (std::size_t s = 0; s < e.stages.size(); ++s) {
      std::vector<Ranked> best = roller(expr::single_stage(e, s), spec, cost, 1);
      if (best.empty()) return {};
      out.push_back(std::move(best.front()));
    }
    return out;
  }

  arch::ArchSpec spec;
  model::Machine machine;
};

expr::Expression operator_of(const std::string& suite, const std::string& id) {
  base::Diagnostics diags;
  const auto operators = expr::load_suite(suite, base::Dtype::kF32, diags);
  for (const expr::SuiteOperator& o : operators.value())
    if (o.id == id) return expr::build(o.problem, diags).value();
  throw std::runtime_error(suite + " has no " + id);
}

std::size_t kernels_of(const tile::RProgram& p, const arch::ArchSpec& a) { return tile::groups_of(p, a).size(); }

TEST(GraphConnecting, AttentionOfBertIsOneKernelThatTakesHalfTheTime) {
  const OnChip v100("v100");
  const expr::Expression e = operator_of("fused", "attention_128");
  const std::vector<Ranked> alone = v100.alone(e);
  const auto p = fuse(e, alone, v100.machine);
  ASSERT_TRUE(p);
  EXPECT_EQ(kernels_of(*p, v100.spec), 1u);
  double apart = 0;
  for (const Ranked& r : alone) apart += r.time.v;
  EXPECT_LT(model::estimate(*p, v100.machine)->total_us, 0.7 * apart);
}

// Scores, exponentials and sums stay in registers, keys and values come in a ring; a V100's results lie otherwise than
// its first operands.
TEST(GraphConnecting, AttentionKeepsRowsOfScoresInRegisters) {
  const expr::Expression e = tests::expression(
      "S[b,i,j] +=! Q[b,i,d] * K[b,j,d]; M[b,i] max=! S[b,i,j]; P[b,i,j] = exp(S[b,i,j] - M[b,i]); L[b,i] +=! P[b,i,j];"
      "O[b,i,v] +=! P[b,i,j] * V[b,j,v]; R[b,i,v] = O[b,i,v] / L[b,i]",
      "b=64,i=2048,j=2048,d=128,v=128", {}, base::Dtype::kF16);
  for (const char* chip : {"a100", "t4", "h200"}) {
    const OnChip on(chip);
    const auto p = fuse_group(e, 0, 5, on.machine);
    ASSERT_TRUE(p) << chip;
    for (const tile::Edge& edge : p->edges) EXPECT_EQ(edge.level, "reg") << chip << ' ' << edge.tensor;
    EXPECT_EQ(p->programs.front().loop_stages, 2) << chip;
  }
  const OnChip v100("v100");
  const auto p = fuse_group(e, 0, 5, v100.machine);
  ASSERT_TRUE(p);
  EXPECT_TRUE(
      std::any_of(p->edges.begin(), p->edges.end(), [](const tile::Edge& edge) { return edge.level == "smem"; }));
}

TEST(SubGraphTiling, LeavesNoTensorInAKernelThatIsReadOutside) {
  const OnChip v100("v100");
  const expr::Expression e = tests::expression("T[i] = -I[i]; A[i] = T[i] + 1; O[i] = T[i] * A[i]", "i=4096");
  EXPECT_FALSE(fuse_group(e, 0, 1, v100.machine)) << "O reads T too";
  EXPECT_TRUE(fuse_group(e, 1, 2, v100.machine));
  const auto all = fuse_group(e, 0, 2, v100.machine);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->programs.size(), 3u);
}

TEST(GraphConnecting, ASmallerScratchpadHoldsFewerTensors) {
  const expr::Expression e = operator_of("fused", "qk_softmax_512");
  std::size_t before = 0;
  for (const char* bytes : {"96 KiB", "24 KiB", "4 KiB", "256 B"}) {
    const OnChip chip("v100", {{"memory.smem.per_block", bytes}});
    const auto p = fuse(e, chip.alone(e), chip.machine);
    const std::size_t kernels = p ? kernels_of(*p, chip.spec) : e.stages.size();
    EXPECT_GE(kernels, before) << bytes;
    before = kernels;
  }
  EXPECT_GT(before, 2u) << "rows of scores do not stay in 256 bytes";
}

// Other names for everything: a run that was seen under one name is found under the other, as it is found anew.
RC_GTEST_PROP(KnownRuns, GiveWhatIsFoundWithoutThem, ()) {
  static const OnChip kChip("v100");
  const expr::Expression e = tests::any_chain(40);
  const expr::Expression other = expr::numbered(e);
  const std::vector<Ranked> alone = kChip.alone(e), alone_other = kChip.alone(other);
  RC_PRE(!alone.empty());
  KnownRuns known;
  const auto text = [](const std::optional<tile::RProgram>& p) {
    return p ? base::to_json(tile::to_document(*p, kChip.spec)) : "none";
  };
  const std::string anew = text(fuse(e, alone, kChip.machine));
  RC_ASSERT(text(fuse(e, alone, kChip.machine, {}, &known)) == anew);
  RC_ASSERT(text(fuse(e, alone, kChip.machine, {}, &known)) == anew);
  RC_ASSERT(text(fuse(other, alone_other, kChip.machine, {}, &known)) == text(fuse(other, alone_other, kChip.machine)));
}

RC_GTEST_PROP(GraphConnecting, ComputesWhatTheStagesSayAndIsNeverSlower, ()) {
  static const OnChip kChip("v100");
  const expr::Expression e = tests::any_chain(40);
  const std::vector<Ranked> alone = kChip.alone(e);
  RC_PRE(!alone.empty());
  const auto p = fuse(e, alone, kChip.machine);
  if (!p) return;
  tile::RProgram apart{kChip.spec.name, {}, tile::edges_of(e, kChip.spec)};
  double sum = 0;
  for (const Ranked& r : alone) {
    apart.add(r.program);
    sum += r.time.v;
  }
  base::Diagnostics diags;
  const auto module = lower::lower(*p, kChip.spec, diags);
  if (!module) RC_FAIL(diags.sentences().front());
  double connected = 0;
  for (const tile::Group& group : tile::groups_of(*p, kChip.spec)) {
    const auto layout = tile::layout_of(*p, group, kChip.spec, diags);
    RC_ASSERT(layout.has_value());
    connected += group.size() == 1 ? model::estimate_stage(p->simt()[group.front()], kChip.machine)->total_us
                                   : model::estimate_group(*p, *layout, kChip.machine)->total_us;
  }
  RC_ASSERT(connected <= sum * 1.000001);
  RC_ASSERT(lower::lower(apart, kChip.spec, diags).has_value());
  if (base::is_integer(e.dtype) || base::is_float8(e.dtype)) return;  // of which one that is rounded may be another
  std::mt19937 random(1);
  lower::NamedValues values;
  lower::add_expected_values(apart, random, values);
  const std::vector<double> scalars(module->scalars.size(), lower::kScalar);
  std::vector<expr::Values> of_connected = lower::globals_of(*module, values);
  lower::interpret(*module, scalars, of_connected);
  for (std::size_t g = 0; g < module->globals.size(); ++g) {
    if (module->globals[g].role != lower::Role::kOutput) continue;
    const expr::Values& expected = values.at(module->globals[g].name);
    for (std::size_t i = 0; i < expected.size(); ++i)
      RC_ASSERT(std::abs(of_connected[g][i] - expected[i]) <= 3e-2 * (1 + std::abs(expected[i])) ||
                (std::isnan(of_connected[g][i]) && std::isnan(expected[i])));
  }
}

}  // namespace
}  // namespace tilescope::construct
