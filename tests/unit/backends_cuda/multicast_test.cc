// SPDX-License-Identifier: Apache-2.0
// Kernels in clusters: their text, their values and counters on the CPU, and mistakes planted in what blocks do in each
// other's scratchpads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "tests/support/planting.h"
#include "tests/unit/backends_cuda/naive_counters.h"
#include "tests/unit/backends_cuda/samples_on_the_cpu.h"

namespace tilescope::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::Sample;

Sample pair_along_n() { return tests::cluster_sample("C[m,n] +=! A[m,k] * B[n,k]", {1, 2}); }

template <class Kind, class Change>
void change_every(Sample& s, const Change& change) {
  tests::each_body(s.module.kernels[0].body, [&](tests::Body& body) {
    for (lower::Statement& one : body)
      if (auto* found = std::get_if<Kind>(&one.what)) change(*found);
  });
}

TEST(Multicasts, TextOfAKernel) {
  const Emitted e = emit(pair_along_n().module);
  const std::string text = e.text.substr(e.kernels_begin);
  for (const char* part :
       {"// 8 blocks of 160 threads in clusters of 2\n",
        "__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160)",
        "mbarrier_init_fence();\n  cluster_sync();\n", "mbarrier_wait_cluster<2>(full, step);\n",
        "mbarrier_arrive_cluster<2, 2>(empty, step);\n", "mbarrier_arrive_expect_tx<2>(full, step, 8192);\n",
        "tma_load_multicast_2d<2, 2>(threadIdx.x == 128, &A_tile[", "tma_load_2d<2>(threadIdx.x == 128, &B_tile[",
        "  cluster_end();\n}\n"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(e.text, AllOf(HasSubstr(".multicast::cluster "), HasSubstr("mapa.shared::cluster.u32")));
  EXPECT_EQ(e.kernels.front().cluster, 2);
  EXPECT_THAT(emit(tests::tma_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16").module).text, Not(HasSubstr("cluster_dims")));
  EXPECT_THAT(refusals(pair_along_n().module, Dialect::kHip), testing::Contains("HIP has no clusters of blocks"));
}

TEST(PersistentBlocks, TextOfAKernel) {
  const Emitted e = emit(tests::persistent_sample({5, 2}).module);
  const std::string text = e.text.substr(e.kernels_begin);
  for (const char* part : {"// 5 blocks of 288 threads\n",
                           "mbarrier_init<3>(full, 1);\n  mbarrier_init<3>(empty, 4);\n  mbarrier_init<2>(met, 4);\n",
                           "  if (threadIdx.x < 128) {  // multiply_0\n", "for (int turn_0 = 0; turn_0 ",
                           "      int thread = threadIdx.x;\n      asm volatile(\"\" : \"+r\"(thread));\n",
                           "mbarrier_wait<3>(full, step + turn_0*4);\n", "mbarrier_arrive<2>(met, turn_0*4 + 2);\n",
                           "  } else if (threadIdx.x < 256) {  // multiply_1\n", "mbarrier_wait<3>(full, step + 2);\n",
                           "tma_store_2d(threadIdx.x == 128, &C_tile[4096], C_boxes,",
                           "for (int round = 0; round <= ", "mbarrier_wait<3>(empty, step + round*2 - 3);\n"})
    EXPECT_THAT(text, HasSubstr(part));
  // What depends on the thread is computed in the loops over tiles alone.
  EXPECT_THAT(text, Not(HasSubstr("const int thread")));
}

class MulticastsOnTheCpu : public tests::SamplesOnTheCpu {
 protected:
  MulticastsOnTheCpu() : SamplesOnTheCpu("h100_pcie") {}

  arch::ArchSpec chip_ = tests::chip("h100_pcie");
};

TEST_F(MulticastsOnTheCpu, ValuesAndCounters) {
  const std::vector<Sample> all = {pair_along_n(), tests::cluster_sample("C[m,n] +=! A[k,m] * B[k,n]", {0, 4}),
                                   tests::persistent_sample({5, 1}), tests::persistent_sample({5, 2})};
  std::vector<int> ids;
  for (const Sample& s : all) ids.push_back(host_.add(s.module));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting}) {
      SCOPED_TRACE(all[i].name);
      const HostResult r = host_.run(ids[i], {build, 1, {}, all[i].inputs});
      ASSERT_EQ(r.error, "");
      EXPECT_EQ(r.globals.back(), all[i].expected);
      if (build == HostBuild::kCounting) {
        EXPECT_EQ(r.counters, tests::naive_counters(all[i].module, chip_));
      }
    }
}

TEST_F(MulticastsOnTheCpu, ArrivalsThatComeToOneBlockDeadlock) {
  Sample s = pair_along_n();
  change_every<lower::MbarrierArrive>(s, [](lower::MbarrierArrive& a) { a.cluster = false; });
  EXPECT_THAT(counting_error(s), HasSubstr("deadlock: all threads wait"));
}

TEST_F(MulticastsOnTheCpu, SlotsThatOwnWarpsAloneSetFreeRace) {
  Sample s = pair_along_n();
  change_every<lower::MbarrierArrive>(s, [](lower::MbarrierArrive& a) { a.cluster = false; });
  s.module.kernels[0].mbarriers[1].arrivals = 4;
  EXPECT_THAT(counting_error(s), Not(""));
}

TEST_F(MulticastsOnTheCpu, LoadsThatComeToOneBlockDeadlock) {
  Sample s = pair_along_n();
  change_every<lower::TmaLoad>(s, [](lower::TmaLoad& l) { l.multicast = false; });
  EXPECT_THAT(counting_error(s), HasSubstr("deadlock: all threads wait"));
}

TEST_F(MulticastsOnTheCpu, LoadsThatComeToTooManyBlocksAreFound) {
  Sample s = pair_along_n();
  change_every<lower::TmaLoad>(s, [](lower::TmaLoad& l) { l.multicast = true; });
  EXPECT_THAT(counting_error(s), Not(""));
}

}  // namespace
}  // namespace tilescope::cuda
