// The work of one block by hand.

#include "model/block_work.h"

#include <gtest/gtest.h>

#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

// Cycles of arithmetic that a block alone waits for in a step: every thread has 64 results and 8 points, enough to hide
// the latency of each.
double chain_of(std::int64_t warps) {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  const tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_fusion(e.stages.front())),
                                                        {{8, warps, 1}, {8, 32, 1}}, {1, 1, 8}, {16});
  const Machine& m = tests::machine("v100");
  const Arithmetic arithmetic = arithmetic_of(m, e.dtype, e.accumulate).value();
  const Occupancy occupancy = occupancy_of(p, m);
  const Traffic traffic = traffic_of(p, m, occupancy.blocks_per_core);
  return work_of_block(p, m, arithmetic, occupancy, traffic).compute_latency_cycles - m.scratchpad_latency_cycles;
}

TEST(BlockWork, ABlockAloneWaitsForItsBusiestPartition) {
  const Machine& m = tests::machine("v100");
  EXPECT_DOUBLE_EQ(chain_of(1), 64 * 8 * 2 * 64 / arithmetic_of(m, base::Dtype::kF32, base::Dtype::kF32)->per_cycle)
      << "a warp of 32 on 16 lanes, but for the calibration";
  EXPECT_DOUBLE_EQ(chain_of(4), chain_of(1)) << "a warp for each of four partitions";
  EXPECT_DOUBLE_EQ(chain_of(5), 2 * chain_of(1));
}

}  // namespace
}  // namespace tilescope::model
