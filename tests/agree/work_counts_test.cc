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
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

const api::Progress kSilent = [](std::size_t, std::size_t) {};

struct Case {
  std::string chip, op, sizes, dtype;
};

const std::vector<Case> kCases = {
    {"v100", "C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=256", "f32"},
    {"a100", "C[m,n] +=! A[m,k] * B[n,k]", "m=1024,n=512,k=512", "bf16"},
    {"h200", "C[m,n] +=! A[m,k] * B[n,k]", "m=1024,n=1024,k=512", "bf16"},
    {"mi210", "C[m,n] +=! A[m,k] * B[n,k]", "m=512,n=512,k=256", "f16"},
    {"a100", "O[i] = X[i] * sigmoid(X[i])", "i=4194304", "bf16"},
    {"rtx3090", "O[i] = X[i] + Y[i]", "i=2097152", "f32"},
    {"v100", "S[i] +=! X[i,j]", "i=2048,j=512", "f32"},
    {"v100", "O[n,f,y,x] +=! I[n,c,y+r-1,x+s-1] * W[f,c,r,s]", "n=4,f=64,y=28,x=28,c=64,r=3,s=3", "f32"},
    {"a100", "M[i] max=! X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] +=! E[i,j]; O[i,j] = E[i,j] / S[i]", "i=4096,j=512",
     "bf16"},
};

struct Both {
  api::WorkCounts model, simulator;
};

Both counts_of(const Case& c) {
  const arch::ArchSpec a = chip(c.chip);
  api::ProgramSource source;
  source.workload.op = c.op;
  source.workload.sizes = c.sizes;
  source.workload.dtype = c.dtype;
  base::Diagnostics diags;
  const auto compiled = api::compile(source.workload, a, {}, 1, 1, kSilent, diags);
  const auto simulated = api::simulate(source, a, api::SimulationMode::kFull, 1, {}, kSilent, diags);
  require_no_errors(diags);
  return {compiled->front().programs.front().prediction.counts.value(), simulated->front().simulation->counts.value()};
}

double number_of(const std::vector<api::NamedNumber>& numbers, const std::string& name) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.name == name; });
  return found == numbers.end() ? 0 : found->number;
}

bool is_near(double a, double b, double ratio) { return std::abs(a - b) <= ratio * std::max(a, b); }

TEST(WorkCounts, AreThoseOfTheSimulator) {
  constexpr double kOperations = 0.05, kBytes = 0.15, kInstructions = 0.25;
  for (const Case& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {} {} on {}", c.op, c.sizes, c.dtype, c.chip));
    const auto& [model, simulator] = counts_of(c);
    EXPECT_TRUE(is_near(model.instructions, simulator.instructions, kInstructions))
        << "instructions " << model.instructions << ", simulated " << simulator.instructions;
    for (const api::NamedNumber& n : simulator.operations)
      EXPECT_TRUE(is_near(number_of(model.operations, n.name), n.number, kOperations))
          << n.name << " " << number_of(model.operations, n.name) << ", simulated " << n.number;
    ASSERT_EQ(model.moved.size(), simulator.moved.size());
    for (std::size_t l = 0; l < model.moved.size(); ++l) {
      ASSERT_EQ(model.moved[l].name, simulator.moved[l].name);
      const double a = model.moved[l].read_bytes + model.moved[l].written_bytes;
      const double b = simulator.moved[l].read_bytes + simulator.moved[l].written_bytes;
      EXPECT_TRUE(is_near(a, b, kBytes)) << model.moved[l].name << " " << a << " B, simulated " << b;
    }
    EXPECT_TRUE(is_near(model.block_us, simulator.block_us, 0.5))
        << "blocks' time " << model.block_us << ", simulated " << simulator.block_us;
  }
}

}  // namespace
}  // namespace tilescope::tests
