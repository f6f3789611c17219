// SPDX-License-Identifier: Apache-2.0
// Products of sums in tensor memory: the unit of a core takes one behind the other, and results are read at the end.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::tests {
namespace {

using arch::Override;

// One block a core of 128 x 256, so many steps of 64.
tile::RProgram product(std::int64_t steps, const arch::ArchSpec& a) {
  return program(fmt::format(R"({{"arch":"b200","nodes":[{{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{{"m":128,)"
                             R"("n":{},"k":{}}},"dtype":"bf16","tiles":{{"smem":{{"m":128,"n":256,"k":64}}}},)"
                             R"("mapping":{{"m":{{"per_thread":128}},"n":{{"threads":2,"per_thread":128}}}},)"
                             R"("mma":{{"name":"tcgen05.bf16","m":"m","n":"n","k":"k"}},"num_stages":4,)"
                             R"("copy":{{"A":"tma","B":"tma"}},"box":{{"A":64,"B":64}}}}],"edges":[]}})",
                             256 * a.core.count, 64 * steps),
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

// A step of 128 x 256 x 64 takes 512 cycles at 4096 multiply-adds a cycle, and its operands 384 at 128 B.
TEST(TensorProducts, TakeWhatTheUnitDoes) {
  const arch::ArchSpec a = changed({});
  EXPECT_NEAR((cycles(96, a) - cycles(32, a)) / 64, 512, 6);
  const arch::ArchSpec fast = changed({{"compute.tcgen05.bf16.per_core", "8192"}});
  EXPECT_NEAR((cycles(96, fast) - cycles(32, fast)) / 64, 384, 8) << "the scratchpad's";
  EXPECT_NEAR((predicted_us(96, a) - predicted_us(32, a)) / 64 * a.clock.n * 1e-6, 512, 6) << "the model's";
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

// A block's 128 KiB pass the ports of four partitions at the end.
TEST(TensorProducts, AreReadAtTheWidthOfTensorMemory) {
  const double wide = cycles(8, chip("b200", {{"memory.tmem.width", "512 B"}}));
  const double narrow = cycles(8, chip("b200", {{"memory.tmem.width", "128 B"}}));
  EXPECT_NEAR(narrow - wide, 128.0 * 256 * 4 * (1.0 / 128 - 1.0 / 512), 40);
}

TEST(TensorProducts, NeedTensorMemory) {
  EXPECT_THROW(tests::simulated(lowered(product(2, b200()), b200()), chip("h100_pcie")), sim::SimError);
}

}  // namespace
}  // namespace tilescope::tests
