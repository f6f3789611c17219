// SPDX-License-Identifier: Apache-2.0
// A cluster barrier in emitted text, and on the CPU, where a cluster is one block.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/emit.h"
#include "tests/support/planting.h"
#include "tests/unit/backends_cuda/samples_on_the_cpu.h"

namespace tilescope::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

tests::Sample cluster_sample() {
  tests::Sample s = tests::transpose_sample("clusters", 1);
  tests::each_body(s.module.kernels[0].body, [](tests::Body& body) {
    for (lower::Statement& one : body)
      if (std::holds_alternative<lower::Barrier>(one.what)) one.what = lower::ClusterBarrier{};
  });
  return s;
}

TEST(ClusterBarriers, BringTheirPrelude) {
  const tests::Sample s = cluster_sample();
  const std::string text = emit(s.module).text;
  EXPECT_THAT(text, HasSubstr("void cluster_sync() {\n"));
  EXPECT_THAT(text, HasSubstr("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;"));
  EXPECT_THAT(text, HasSubstr("  cluster_sync();\n"));
  EXPECT_THAT(emit(tests::transpose_sample("blocks", 1).module).text, Not(HasSubstr("cluster_sync")));
  EXPECT_THAT(refusals(s.module, Dialect::kHip), testing::ElementsAre("HIP has no clusters of blocks"));
}

class ClusterBarriersOnTheCpu : public tests::SamplesOnTheCpu {
 protected:
  ClusterBarriersOnTheCpu() : SamplesOnTheCpu("v100") {}
};

TEST_F(ClusterBarriersOnTheCpu, WaitAsABarrierDoes) {
  tests::Sample s = cluster_sample();
  EXPECT_EQ(found_by_values(s), 0);
  EXPECT_EQ(counting_error(s), "");
  ASSERT_TRUE(tests::remove<lower::ClusterBarrier>(s.module.kernels[0], 0));
  EXPECT_NE(counting_error(s), "");
}

}  // namespace
}  // namespace tilescope::cuda
