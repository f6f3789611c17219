// SPDX-License-Identifier: Apache-2.0
// What a program does, by the model and by the simulator, which count apart: operations exactly, bytes and instructions
// within bounds.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/simulate/simulate.h"
#include "arch/hierarchy.h"
#include "tests/support/build.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

struct CountedProgram {
  std::string chip, op, sizes, dtype;
};

const std::vector<CountedProgram> kCases = {
    {"a100", "C[m,n] +=! A[m,k] * B[n,k]", "m=2048,n=2048,k=512", "bf16"},
    {"h200", "C[m,n] +=! A[m,k] * B[n,k]", "m=2048,n=2048,k=512", "bf16"},
    {"v100", "S[i] +=! X[i,j]", "i=8192,j=1024", "f32"},
    {"a100", "O[i] = X[i] + Y[i]", "i=8388608", "f32"},
    // What functions, quotients and means expand to; neighbours that direct reads find in the core's cache.
    {"a100", "O[i] = X[i] * sigmoid(X[i]) + Y[i] / exp(X[i]) + erf(Y[i]) / 4", "i=8388608", "f32"},
    {"v100", "O[b,y,x] mean=! I[b,y+r,x+s]", "b=4096,y=32,x=32,r=3,s=3", "f32"},
};

struct Both {
  api::Prediction model;
  api::Simulation simulator;
};

Both counts_of(const CountedProgram& c, const std::vector<arch::Override>& changes = {}) {
  const arch::ArchSpec a = chip(c.chip, changes);
  api::ProgramSource source;
  source.workload.op = c.op;
  source.workload.sizes = c.sizes;
  source.workload.dtype = c.dtype;
  base::Diagnostics diags;
  const auto compiled = api::compile(source.workload, a, {}, 1, 1, kSilent, diags);
  const auto simulated = api::simulate(source, a, api::SimulationMode::kSampled, 1, {}, kSilent, diags);
  require_no_errors(diags);
  return {compiled->front().programs.front().prediction, simulated->front().simulation.value()};
}

double number_of(const std::vector<api::NamedNumber>& numbers, const std::string& name) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.name == name; });
  return found == numbers.end() ? 0 : found->number;
}

bool is_near(double a, double b, double ratio) { return std::abs(a - b) <= ratio * std::max(a, b); }

// The last results are in the device's cache when the simulator ends, and on their way to the DRAM for the model: of
// the DRAM what is read is compared. The core's cache counts sectors of each warp's pieces in the simulator, those of
// whole rows of a tile in the model.
TEST(WorkCounts, AreThoseOfTheSimulator) {
  constexpr double kOperations = 0.03, kBytes = 0.05, kCoreCacheBytes = 0.15, kInstructions = 0.6, kEnergy = 0.2,
                   kFew = 1e6;
  for (const CountedProgram& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {} {} on {}", c.op, c.sizes, c.dtype, c.chip));
    const auto& [p, s] = counts_of(c);
    const api::WorkCounts &model = p.counts.value(), &simulator = s.counts.value();
    EXPECT_TRUE(is_near(model.instructions, simulator.instructions, kInstructions))
        << "instructions " << model.instructions << ", simulated " << simulator.instructions;
    for (const api::NamedNumber& n : simulator.operations)
      EXPECT_TRUE(is_near(number_of(model.operations, n.name), n.number, kOperations))
          << n.name << " " << number_of(model.operations, n.name) << ", simulated " << n.number;
    ASSERT_EQ(model.moved.size(), simulator.moved.size());
    for (std::size_t l = 0; l < model.moved.size(); ++l) {
      const api::MovedBytes &a = model.moved[l], &b = simulator.moved[l];
      ASSERT_EQ(a.name, b.name);
      const double bound = a.name == "l1" ? kCoreCacheBytes : kBytes;
      EXPECT_TRUE(b.read_bytes < kFew || is_near(a.read_bytes, b.read_bytes, bound))
          << a.name << " " << a.read_bytes << " " << b.read_bytes;
      EXPECT_TRUE(l == 0 || b.written_bytes < kFew || is_near(a.written_bytes, b.written_bytes, kBytes))
          << a.name << " " << a.written_bytes << " " << b.written_bytes;
    }
    EXPECT_TRUE(is_near(p.energy.value().energy_uj, s.energy.value().energy_uj, kEnergy))
        << p.energy->energy_uj << " uJ, simulated " << s.energy->energy_uj;
  }
}

// A known gap, for the aim is 15 %: the model's activates are .34 to 1.97 times the simulator's. Of products, results
// are few: those that the simulator's caches hold at the end have opened no row there. The least is of a cluster, whose
// blocks read a tile in parts.
TEST(WorkCounts, ActivatesAreWithinAFactorOfTheSimulators) {
  constexpr double kLeast = 0.3, kMost = 2.1;
  const std::string product = "C[m,n] +=! A[m,k] * B[n,k]", sizes = "m=512,n=512,k=8192";
  for (const CountedProgram& c :
       {CountedProgram{"a100", product, sizes, "bf16"}, {"h200", product, sizes, "bf16"}, kCases[2], kCases[3]}) {
    SCOPED_TRACE(fmt::format("{} {} {} on {}", c.op, c.sizes, c.dtype, c.chip));
    const auto& [p, s] = counts_of(c);
    const double ratio = p.counts->activates / s.counts->activates;
    EXPECT_TRUE(ratio > kLeast && ratio < kMost)
        << p.counts->activates << ", simulated " << s.counts->activates << ": " << ratio;
  }
}

// Refreshes go with the time of each, and by whole refreshes of a channel.
TEST(WorkCounts, RefreshAsOftenAsTheSimulator) {
  const CountedProgram sum = kCases[2], add = kCases[3];
  const std::vector<arch::Override> ranks = {{"memory.dram.timing.rfc", "260 cycles"},
                                             {"memory.dram.timing.refi", "3900 cycles"}};
  const std::vector<arch::Override> banks = {{"memory.dram.refresh", "per_bank"},
                                             {"memory.dram.timing.rfc_sb", "160 cycles"},
                                             {"memory.dram.timing.refi", "3900 cycles"}};
  for (const auto& [c, changes] : {std::pair{sum, ranks}, {sum, banks}, {add, ranks}}) {
    const auto& [p, s] = counts_of(c, changes);
    const double channels = static_cast<double>(arch::dram_of(chip(c.chip))->channels);
    ASSERT_TRUE(p.counts->refreshes && s.counts->refreshes);
    const double per_us = *p.counts->refreshes / p.predicted_us;
    EXPECT_NEAR(*s.counts->refreshes, per_us * s.simulated_us, channels * (changes.size() > 2 ? 16 : 1)) << c.op;
    EXPECT_GT(*s.counts->refreshes, 5 * channels);
  }
  const auto& [p, s] = counts_of(sum);
  EXPECT_FALSE(p.counts->refreshes || s.counts->refreshes) << "the file does not say when they are due";
}

}  // namespace
}  // namespace tilescope::tests
