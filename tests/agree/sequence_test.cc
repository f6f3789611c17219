// SPDX-License-Identifier: Apache-2.0
// Operators that run one after another: what an operator leaves in the device's cache, the next one finds there, by the
// model and by the simulator. Bytes are those of the tensors.

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "api/compile.h"
#include "api/simulate/simulate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/support/random_chip.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;

// A suite in a file of its own.
class Written {
 public:
  explicit Written(const std::string& operators)
      : path_(fmt::format("{}sequence_{}.yaml", testing::TempDir(), getpid())) {
    std::ofstream(path_) << "operators:\n" << operators;
  }
  Written(const Written&) = delete;
  ~Written() { std::filesystem::remove(path_); }

  api::Workload sequence() const {
    api::Workload w;
    w.suite = path_;
    w.sequence = true;
    return w;
  }

 private:
  std::string path_;
};

std::string element_wise(const std::string& id, const std::string& op, std::int64_t elements) {
  return fmt::format("  - {{id: {}, op: '{}', sizes: {{i: {}}}}}\n", id, op, elements);
}

std::vector<api::SimulatedRow> simulated(const Written& suite, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  api::ProgramSource source;
  source.workload = suite.sequence();
  auto rows = api::simulate(source, a, api::SimulationMode::kFull, 2, {}, kSilent, diags);
  require_no_errors(diags);
  return std::move(*rows);
}

std::vector<api::CompiledOperator> compiled(const Written& suite, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  auto rows = api::compile(suite.sequence(), a, {}, 10, 2, kSilent, diags);
  require_no_errors(diags);
  return std::move(*rows);
}

double dram_bytes(const api::CompiledOperator& op) { return op.programs.front().prediction.levels.front().bytes; }

std::int64_t dram_reads(const api::SimulatedRow& row) { return row.simulation->levels.front().read_bytes; }

// A V100 has 6 MiB of cache.
TEST(Sequence, WhatTheOperatorBeforeWroteIsNotFetchedAgain) {
  constexpr std::int64_t kElements = 1 << 18;
  const arch::ArchSpec a = chip("v100");
  const Written suite(element_wise("first", "H[i] = X[i] + 1", kElements) +
                      element_wise("second", "O[i] = H[i] * 2", kElements));
  const auto rows = simulated(suite, a);
  EXPECT_GE(dram_reads(rows[0]), 4 * kElements);
  EXPECT_EQ(dram_reads(rows[1]), 0);
  EXPECT_LT(rows[1].simulation->simulated_us, rows[1].cold_simulated_us.value());
  EXPECT_EQ(rows[1].inputs, "H=first.H");
  const auto operators = compiled(suite, a);
  EXPECT_NEAR(dram_bytes(operators[0]), 8 * kElements, 1);
  EXPECT_NEAR(dram_bytes(operators[1]), 4 * kElements, 1) << "only what it writes";
  EXPECT_LT(operators[1].programs.front().prediction.predicted_us, operators[1].programs.front().cold_us.value());
}

// Programs of several stages, which share kernels.
TEST(Sequence, TakesStagesThatShareKernels) {
  const Written suite(
      "  - {id: softmax, op: 'M[i] max=! I[i,j]; E[i,j] = exp(I[i,j] - M[i]); S[i] +=! E[i,j]; P[i,j] = E[i,j] / "
      "S[i]', "
      "sizes: {i: 256, j: 512}}\n"
      "  - {id: norm, op: 'S[m] +=! P[m,n] * P[m,n]; O[m,n] = P[m,n] * rsqrt(S[m])', sizes: {m: 256, n: 512}}\n");
  for (const char* const name : {"v100", "a100"}) {
    const arch::ArchSpec a = chip(name);
    const auto rows = simulated(suite, a);
    const auto operators = compiled(suite, a);
    EXPECT_TRUE(operators[0].programs.front().stages > 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_TRUE(rows[i].errors.empty()) << rows[i].errors.front();
      ASSERT_TRUE(rows[i].simulation && rows[i].cold_simulated_us);
      EXPECT_TRUE(operators[i].programs.front().cold_us);
    }
    EXPECT_EQ(dram_reads(rows[1]), 0) << name;
  }
}

TEST(Sequence, ATensorLargerThanTheCacheIsFetchedAgain) {
  constexpr std::int64_t kElements = 1 << 23;
  const arch::ArchSpec a = chip("v100");
  const Written suite(element_wise("first", "H[i] = X[i] + 1", kElements) +
                      element_wise("second", "O[i] = H[i] * 2", kElements));
  EXPECT_GE(dram_reads(simulated(suite, a)[1]), 4 * kElements * 0.98);
  EXPECT_NEAR(dram_bytes(compiled(suite, a)[1]), 8 * kElements, 8 * kElements * 0.02);
}

TEST(Sequence, OperatorsThatShareNothingTakeWhatTheyTakeAlone) {
  const arch::ArchSpec a = chip("v100");
  const Written suite(element_wise("first", "H[i] = X[i] + 1", 100'000) +
                      element_wise("second", "O[i] = Y[i] * 2", 90'000));
  for (const api::SimulatedRow& row : simulated(suite, a)) {
    EXPECT_NEAR(row.simulation->simulated_us / row.cold_simulated_us.value(), 1, 0.03) << row.id;
    EXPECT_DOUBLE_EQ(row.predicted_us.value(), row.cold_predicted_us.value()) << row.id;
  }
}

// Of chains of random lengths: nothing is fetched that a tensor does not have, and what is shared is not fetched twice
// where it all fits.
RC_GTEST_PROP(Sequence, FetchesEveryTensorAtMostOnceWhereAllFit, ()) {
  const std::int64_t elements = 1024 * *rc::gen::inRange<std::int64_t>(1, 64);
  const int operators = *rc::gen::inRange(2, 5);
  const arch::ArchSpec a = chip(any_element<std::string>({"v100", "a100", "mi210"}));
  std::string text;
  for (int i = 0; i < operators; ++i)
    text += element_wise(fmt::format("op{}", i), fmt::format("T{}[i] = T{}[i] * X{}[i]", i + 1, i, i), elements);
  const Written suite(text);
  std::int64_t simulated_reads = 0;
  for (const api::SimulatedRow& row : simulated(suite, a)) simulated_reads += dram_reads(row);
  double bytes = 0;
  for (const api::CompiledOperator& op : compiled(suite, a)) bytes += dram_bytes(op);
  const auto tensor = static_cast<double>(4 * elements);
  RC_ASSERT(static_cast<double>(simulated_reads) <= (operators + 1) * tensor * 1.01);
  RC_ASSERT(static_cast<double>(simulated_reads) >= (operators + 1) * tensor * 0.99);
  RC_ASSERT(std::abs(bytes - (2 * operators + 1) * tensor) <= 0.01 * bytes);
}

TEST(Sequence, IsRefusedWhereNothingIsLeftOrAllIsTooLarge) {
  const auto refusal = [](const Written& suite, const arch::ArchSpec& a) {
    base::Diagnostics diags;
    EXPECT_FALSE(api::compile(suite.sequence(), a, {}, 1, 1, kSilent, diags));
    return diags.ok() ? std::string() : diags.formatted_errors().front();
  };
  const Written small(element_wise("one", "O[i] = X[i]", 4096));
  EXPECT_THAT(refusal(small, chip("ipu_gc200")), HasSubstr("--sequence: ipu_gc200 is a chip of class bsp; its cores"));
  const Written large(element_wise("one", "O[i] = X[i]", std::int64_t{3} << 30));
  EXPECT_THAT(refusal(large, chip("v100")),
              HasSubstr("--sequence: the tensors of all operators have 25.77 GB, and dram of v100"));
}

}  // namespace
}  // namespace tilescope::tests
