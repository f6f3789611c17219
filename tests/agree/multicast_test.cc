// SPDX-License-Identifier: Apache-2.0
// Blocks in clusters: bytes by the simulator and by the model as one counts them by hand, and times.

#include "tile/transfer/multicast.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "model/simt/estimate.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"
#include "tile/transfer/tma.h"

namespace tilescope::tests {
namespace {

constexpr std::int64_t kProductM = 1024, kProductN = 2048, kProductK = 1024, kProductTile = 128, kProductElement = 2;

tile::RProgram clustered_product(std::size_t axis, std::int64_t blocks, const arch::ArchSpec& a) {
  tile::RProgram p =
      program(R"({"arch":"h200","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]","sizes":{"m":1024,"n":2048,"k":1024},)"
              R"("dtype":"bf16","tiles":{"smem":{"m":128,"n":128,"k":64}},)"
              R"("mapping":{"m":{"threads":2,"per_thread":64},"n":{"per_thread":128}},)"
              R"("mma":{"name":"wgmma.bf16","m":"m","n":"n","k":"k"},"num_stages":4,)"
              R"("copy":{"A":"tma","B":"tma"},"box":{"A":64,"B":64}}],"edges":[]})",
              a);
  if (blocks > 1) p.simt()[0] = tile::with_cluster(p.simt()[0], {axis, blocks}, a).value();
  return p;
}

double bytes_read_of(const energy::Counts& counts, std::string_view level) {
  const auto found = std::find_if(counts.levels.begin(), counts.levels.end(),
                                  [&](const energy::LevelCount& l) { return l.name == level; });
  return found == counts.levels.end() ? -1 : found->read_bytes;
}

struct ClusterCase {
  std::size_t axis = 0;
  std::int64_t blocks = 1;
  friend void PrintTo(const ClusterCase& c, std::ostream* to) { *to << (c.axis == 0 ? "m" : "n") << c.blocks; }
};

class MulticastBytes : public testing::TestWithParam<ClusterCase> {
 protected:
  static std::int64_t along(std::size_t axis) { return GetParam().axis == axis ? GetParam().blocks : 1; }
  // What each block row reads of B and each block column of A, once for a cluster.
  static std::int64_t by_hand() {
    return (kProductM * (kProductN / kProductTile) / along(1) + kProductN * (kProductM / kProductTile) / along(0)) *
           kProductK * kProductElement;
  }
};

TEST_P(MulticastBytes, AreThoseThatOneCounts) {
  const arch::ArchSpec a = chip("h200");
  const tile::RProgram p = clustered_product(GetParam().axis, GetParam().blocks, a);
  const sim::SimReport r = tests::simulated(lowered(p, a), a);
  EXPECT_EQ(level(r, "l2").read_bytes, by_hand());
  EXPECT_EQ(level(r, "dram").read_bytes, (kProductM + kProductN) * kProductK * kProductElement);
  const std::int64_t blocks = (kProductM / kProductTile) * (kProductN / kProductTile);
  EXPECT_EQ(level(r, "smem").written_bytes, blocks * 2 * kProductTile * kProductK * kProductElement)
      << "every block has its tiles";
  const auto e = model::estimate(p, model::make_machine(a));
  ASSERT_TRUE(e);
  EXPECT_DOUBLE_EQ(bytes_read_of(e->counts, "l2"), static_cast<double>(by_hand()));
  EXPECT_DOUBLE_EQ(bytes_read_of(e->counts, "dram"),
                   static_cast<double>((kProductM + kProductN) * kProductK * kProductElement));
}

INSTANTIATE_TEST_SUITE_P(All, MulticastBytes,
                         testing::Values(ClusterCase{0, 1}, ClusterCase{0, 2}, ClusterCase{1, 2}, ClusterCase{0, 4},
                                         ClusterCase{1, 4}, ClusterCase{0, 8}));

// One block does what it does without clusters; a remote arrival takes its time.
TEST(MulticastTimes, FollowTheLatencyOfArrivals) {
  double last = 0;
  for (const char* latency : {"1 cycles", "180 cycles", "20000 cycles"}) {
    const arch::ArchSpec a = chip("h200", {{"core.tma.cluster_latency", latency}});
    const double now = running_cycles(tests::simulated(lowered(clustered_product(1, 2, a), a), a));
    EXPECT_GE(now, 0.99 * last) << latency << ": what hides it may fall otherwise";
    last = now;
  }
  const arch::ArchSpec slow = chip("h200", {{"core.tma.cluster_latency", "20000 cycles"}});
  EXPECT_GT(last, 2 * 20000.0) << "16 steps through four stages";
  EXPECT_LT(running_cycles(tests::simulated(lowered(clustered_product(0, 1, slow), slow), slow)), last / 2);
}

}  // namespace
}  // namespace tilescope::tests
