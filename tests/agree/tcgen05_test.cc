// SPDX-License-Identifier: Apache-2.0
// Products of sums in tensor memory: the unit of a core takes one behind the other, and results are read at the end.

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::tests {
namespace {

using arch::Override;

// One block of 128 x 256, so many steps of 64.
tile::RProgram product(std::int64_t steps, const arch::ArchSpec& a) {
  return program(
      fmt::format(R"({{"arch":"b200","nodes":[{{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{{"m":128,"n":256,)"
                  R"("k":{}}},"dtype":"bf16","tiles":{{"smem":{{"m":128,"n":256,"k":64}}}},)"
                  R"("mapping":{{"m":{{"per_thread":128}},"n":{{"threads":2,"per_thread":128}}}},)"
                  R"("mma":{{"name":"tcgen05.bf16","m":"m","n":"n","k":"k"}},"num_stages":4,)"
                  R"("copy":{{"A":"tma","B":"tma"}},"box":{{"A":64,"B":64}}}}],"edges":[]}})",
                  64 * steps),
      a);
}
double cycles(std::int64_t steps, const arch::ArchSpec& a) {
  return running_cycles(tests::simulated(lowered(product(steps, a), a), a));
}
double predicted_us(std::int64_t steps, const arch::ArchSpec& a) {
  const auto e = model::estimate(product(steps, a), model::make_machine(a));
  return e ? e->total_us : -1;
}
arch::ArchSpec changed(std::vector<Override> changes) {
  // Tiles come from a fast memory, so that products bound the time.
  changes.push_back({"memory.l2.width", "1024 B"});
  changes.push_back({"link.width", "1024 B"});
  changes.push_back({"core.tma.line_interval", "1 cycles"});
  return chip("b200", changes);
}

// A step of 128 x 256 x 64 has 2^21 multiply-adds. Its 48 KiB pass the scratchpad's 128 B a cycle twice: the engine
// writes them, and four products read them.
TEST(TensorProducts, TakeTheLongerOfUnitAndScratchpad) {
  for (const auto& [per_core, each] : {std::pair{"2048", 1024.0}, {"4096", 768.0}, {"8192", 768.0}}) {
    const arch::ArchSpec a = changed({{"compute.tcgen05.bf16.per_core", per_core}});
    EXPECT_NEAR((cycles(96, a) - cycles(32, a)) / 64, each, 8) << per_core;
    const double us = predicted_us(96, a) - predicted_us(32, a);
    EXPECT_NEAR(us / 64 * static_cast<double>(a.clock.n) * 1e-6, each, each / 30) << per_core << ", predicted";
  }
}

TEST(TensorProducts, AreNoSlowerWhereMoreIsGiven) {
  for (const auto& [key, less, more] : {std::tuple{"compute.tcgen05.bf16.per_core", "2048", "4096"},
                                        {"memory.tmem.width", "64 B", "512 B"},
                                        {"memory.tmem.latency", "400 cycles", "29 cycles"},
                                        {"compute.tcgen05.bf16.latency", "500 cycles", "32 cycles"}}) {
    EXPECT_GT(cycles(8, chip("b200", {{key, less}})), cycles(8, chip("b200", {{key, more}}))) << key;
    EXPECT_GT(predicted_us(8, chip("b200", {{key, less}})), predicted_us(8, chip("b200", {{key, more}}))) << key;
  }
}

// Of a partition's two warps each reads 16 KiB at the end, while the other may store what it has read.
TEST(TensorProducts, AreReadAtTheWidthOfTensorMemory) {
  const double wide = cycles(8, chip("b200", {{"memory.tmem.width", "512 B"}}));
  const double narrow = cycles(8, chip("b200", {{"memory.tmem.width", "128 B"}}));
  const double of_warp = 16384 * (4.0 / 128 - 4.0 / 512);
  EXPECT_GE(narrow - wide, of_warp - 8);
  EXPECT_LE(narrow - wide, 2 * of_warp + 8);
}

TEST(TensorProducts, NeedTensorMemory) {
  EXPECT_THROW(tests::simulated(lowered(product(2, b200()), b200()), chip("h100_pcie")), sim::SimError);
}

}  // namespace
}  // namespace tilescope::tests
