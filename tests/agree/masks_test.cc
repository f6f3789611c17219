// SPDX-License-Identifier: Apache-2.0
// Steps that a mask hides are not run: how many are left, counted by the kernel's loops, by the model and by plain
// loops over the mask; what that does to predicted and to simulated times.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/construct.h"
#include "base/integer.h"
#include "lower/lower.h"
#include "model/simt/kernel_stage.h"
#include "sim/simulate.h"
#include "tests/support/lowered.h"
#include "tests/support/random_masks.h"
#include "tile/live_steps.h"

namespace tilescope::tests {
namespace {

// The values of a block's indices where its loops stand at their lows.
std::vector<std::int64_t> indices_of(const lower::Kernel& k, std::int64_t block) {
  std::vector<std::int64_t> out;
  for (const lower::Index& i : k.indices) {
    std::int64_t value = i.range.low;
    if (i.kind == lower::IndexKind::kBlock) value = block;
    if (i.kind == lower::IndexKind::kDerived) {
      value = i.of.constant;
      for (const lower::AffineTerm& t : i.of.terms) value += t.coefficient * out[static_cast<std::size_t>(t.index)];
      value = base::floor_div(value, i.divisor);
      if (i.modulus != 0) value = base::floor_mod(value, i.modulus);
    }
    out.push_back(value);
  }
  return out;
}

// Of all blocks of a kernel, the iterations of its first loop over steps.
std::int64_t steps_run(const lower::Kernel& k) {
  const lower::Loop* steps = nullptr;
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    const auto* loop = std::get_if<lower::Loop>(&s.what);
    const bool named = loop != nullptr && k.indices[static_cast<std::size_t>(loop->index)].name == "step";
    if (steps == nullptr && named) steps = loop;
  });
  if (steps == nullptr) return k.blocks;
  std::int64_t all = 0;
  for (std::int64_t block = 0; block < k.blocks; ++block) {
    const std::vector<std::int64_t> indices = indices_of(k, block);
    const auto value = [&](const lower::Affine& a) {
      std::int64_t sum = a.constant;
      for (const lower::AffineTerm& t : a.terms) sum += t.coefficient * indices[static_cast<std::size_t>(t.index)];
      return sum;
    };
    expr::Span range = k.indices[static_cast<std::size_t>(steps->index)].range;
    if (steps->first) range.low = std::max(range.low, value(*steps->first));
    if (steps->last) range.high = std::min(range.high, value(*steps->last));
    all += std::max<std::int64_t>(0, range.high - range.low + 1);
  }
  return all;
}

std::optional<std::size_t> axis_called(const tile::TileSpace& space, const std::string& name) {
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    if (space.axes[a].name == name) return a;
  return std::nullopt;
}

// Of all blocks, the steps in whose tile the mask shows a point; a tile may be larger than what is left of an axis.
std::int64_t steps_shown(const tile::StageProgram& p, std::size_t i, std::size_t j, const Mask& mask) {
  const std::int64_t rows = p.block[i], columns = p.block[j];
  const std::int64_t along_j = base::ceil_div(p.space->axes[j].extent, columns);
  std::int64_t shown = 0;
  for (std::int64_t r = 0; r < p.blocks_along(i); ++r)
    for (std::int64_t s = 0; s < along_j; ++s) {
      bool any = false;
      for (std::int64_t x = 0; x < rows * columns && !any; ++x)
        any = mask.holds(r * rows + x / columns, s * columns + x % columns);
      shown += any ? 1 : 0;
    }
  return shown * (p.blocks() / p.blocks_along(i)) * (p.steps() / along_j);
}

RC_GTEST_PROP(Masks, StepsAreThoseInWhichTheMaskShowsSomething, ()) {
  const Mask mask = any_mask();
  tile::StageProgram p = any_program(any_masked(mask, 13), 96);
  const tile::TileSpace& space = *p.space;
  const auto i = axis_called(space, "i"), j = axis_called(space, "j");
  if (!i || !j || p.is_split()) RC_DISCARD("all steps are taken");
  if (static_cast<std::size_t>(p.reduction_order.front()) != *j || p.block[*j] >= space.axes[*j].extent)
    RC_DISCARD("no loop of steps along the mask goes around all others");
  const std::int64_t shown = steps_shown(p, *i, *j, mask);
  const tile::RProgram program = tile::program_of("v100", p);
  base::Diagnostics diags;
  const auto module = lower::lower(program, v100(), diags);
  if (!module) RC_DISCARD("more than a block has");
  const std::int64_t run = steps_run(module->kernels.front());
  const model::StepShares shares = model::step_shares(tile::live_steps_of(p), p);
  const double counted = shares.mean * static_cast<double>(p.blocks() * p.steps());
  RC_LOG() << mask.text << '\n' << space.stage().text << '\n';
  RC_CLASSIFY(run < p.blocks() * p.steps(), "some are hidden");
  RC_CLASSIFY(run == 0, "all are hidden");
  RC_CLASSIFY(p.stages_held() > 1, "ring");
  RC_ASSERT(std::llround(counted) == run);
  RC_ASSERT(run >= shown);
  if (p.stages_held() == 1) RC_ASSERT(run == shown);
}

RC_GTEST_PROP(Masks, StepsOfCarriedReductionsAreCountedAlike, ()) {
  const tile::RProgram p = any_masked_carried_program(v100());
  base::Diagnostics diags;
  const auto groups = tile::groups_of(p, v100());
  if (groups.size() != 1) RC_DISCARD("several kernels");
  const auto layout = tile::layout_of(p, groups.front(), v100(), diags);
  const auto module = lower::lower(p, v100(), diags);
  if (!module || !layout->loop || layout->loop->steps == 1) RC_DISCARD("no loop of steps");
  const lower::Kernel& k = module->kernels.front();
  const auto stages = model::kernel_stages(p, *layout);
  RC_CLASSIFY(steps_run(k) < k.blocks * layout->loop->steps, "some are hidden");
  const double mean = stages[layout->loop->last].shares.mean;
  RC_ASSERT(std::llround(mean * static_cast<double>(k.blocks * layout->loop->steps)) == steps_run(k));
}

// --- attention of tokens that see those before them

constexpr std::int64_t kHead = 64;

expr::Expression attention(std::int64_t heads, std::int64_t tokens, std::int64_t past, std::int64_t window = 0) {
  const std::string mask = fmt::format("j <= i + {}{}", past, window > 0 ? fmt::format(" && i - j < {}", window) : "");
  return expression("S[h,i,j] +=! Q[h,i,d] * K[h,j,d]; T[h,i,j] = select(" + mask +
                        ", S[h,i,j] * 0.125, -inf); M[h,i] max=! T[h,i,j]; E[h,i,j] = exp(T[h,i,j] - M[h,i]); "
                        "L[h,i] +=! E[h,i,j]; U[h,i,v] +=! E[h,i,j] * V[h,j,v]; O[h,i,v] = U[h,i,v] / L[h,i]",
                    fmt::format("h={},i={},j={},d={},v={}", heads, tokens, tokens, kHead, kHead), {},
                    base::Dtype::kF16);
}

struct TimedMasks {
  lower::Module module;
  double predicted_us = 0;
};

TimedMasks timed(const expr::Expression& e, const arch::ArchSpec& chip) {
  api::ConstructOptions options;
  const api::Ranked ranked = api::construct(e, chip, options);
  const api::RankedProgram& first = ranked.programs.at(0);
  return {lowered(first.program, chip), first.estimate.total_us};
}

double simulated_us(const lower::Module& m, const arch::ArchSpec& chip, sim::Mode mode = sim::Mode::kSampled) {
  return sim::simulate(m, chip, {.mode = mode}).time.v;
}

lower::Module without_ends(lower::Module m) {
  for (lower::Kernel& k : m.kernels)
    for (lower::Statement& s : k.body)
      if (auto* loop = std::get_if<lower::Loop>(&s.what)) loop->first.reset(), loop->last.reset();
  return m;
}

double predicted_over_simulated(const expr::Expression& e, const arch::ArchSpec& chip) {
  const TimedMasks t = timed(e, chip);
  EXPECT_EQ(t.module.kernels.size(), 1U);
  return t.predicted_us / simulated_us(t.module, chip);
}

// The model's error of attention without a mask is another matter. By wgmma a mask costs less by the simulator than by
// the model.
TEST(Masks, AreForTheModelWhatTheyAreForTheSimulator) {
  for (const auto& [name, heads, tokens, within] :
       {std::tuple("a100", 32, 512, 0.1), {"a100", 16, 2048, 0.1}, {"h200", 32, 2048, 0.15}}) {
    const arch::ArchSpec a = chip(name);
    const double causal = predicted_over_simulated(attention(heads, tokens, 0), a);
    const double full = predicted_over_simulated(attention(heads, tokens, tokens), a);
    EXPECT_NEAR(causal / full, 1, within) << name << ' ' << tokens << ": " << causal << " and " << full;
  }
}

TEST(Masks, WhatIsHiddenTakesNoTime) {
  for (const std::int64_t tokens : {64, 512, 2048}) {
    const arch::ArchSpec& a = chip("a100");
    const std::int64_t heads = tokens == 2048 ? 64 : 16;  // several waves of blocks, of which the longest hides little
    const TimedMasks causal = timed(attention(heads, tokens, 0), a), full = timed(attention(heads, tokens, tokens), a);
    EXPECT_LE(causal.predicted_us, 1.02 * full.predicted_us) << tokens << ": the mask itself is computed";
    const double with = simulated_us(causal.module, a), without = simulated_us(without_ends(causal.module), a);
    EXPECT_LE(with, without) << tokens;
    if (tokens == 2048) {
      EXPECT_LT(causal.predicted_us, 0.7 * full.predicted_us);
      EXPECT_LT(with, 0.7 * without);
    }
  }
}

// Steps of blocks that run are alike; blocks are not, and none is left out.
TEST(Masks, UnevenBlocksAreSampledBySteps) {
  const arch::ArchSpec& a = chip("a100");
  const TimedMasks t = timed(attention(64, 1024, 0), a);
  const sim::SimReport full = sim::simulate(t.module, a, {.mode = sim::Mode::kFull});
  const sim::SimReport sampled = sim::simulate(t.module, a, {.mode = sim::Mode::kSampled});
  EXPECT_NEAR(sampled.time.v / full.time.v, 1, 0.03);
  const sim::SimReport scaled = sim::simulate(t.module, a, {.mode = sim::Mode::kScaled});
  EXPECT_NE(scaled.scaled.value().refused, "");
}

}  // namespace
}  // namespace tilescope::tests
