// SPDX-License-Identifier: Apache-2.0
// Stages that share a kernel: what passes in registers or in the scratchpad moves nothing behind it.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/simt/estimate.h"
#include "tests/support/document.h"
#include "tests/support/random_matrix_program.h"
#include "tests/unit/model/machines.h"
#include "tile/microkernel/epilogue.h"

namespace tilescope::model {
namespace {

// A product with a bias and the square of the sum, of which both tensors pass at a level.
tile::RProgram product_and_square(const std::string& level) {
  const auto node = [&](const std::string& op, const std::string& sizes, const std::string& more) {
    return R"({"expr":")" + op + R"(","sizes":{"m":512,"n":512)" + sizes + "}" + more + "}";
  };
  const std::string mapping = R"("mapping":{"m":{"threads":16,"per_thread":4},"n":{"threads":16,"per_thread":4}})";
  const std::string own = level == "reg" ? "" : R"(,"tiles":{"smem":{"m":64,"n":64}},)" + mapping;
  const auto edge = [&](int from, int to, const std::string& tensor) {
    return R"({"from":)" + std::to_string(from) + R"(,"to":)" + std::to_string(to) + R"(,"tensor":")" + tensor +
           R"(","level":")" + level + R"("})";
  };
  return tests::program(
      R"({"nodes":[)" +
          node("T[m,n] +=! A[m,k] * B[k,n]", R"(,"k":256)", R"(,"tiles":{"smem":{"m":64,"n":64,"k":16}},)" + mapping) +
          "," + node("D[m,n] = T[m,n] + C[n]", "", own) + "," + node("O[m,n] = D[m,n] * D[m,n]", "", own) +
          R"(],"edges":[)" + edge(0, 1, "T") + "," + edge(1, 2, "D") + "]}",
      tests::chip("v100"));
}

TEST(GroupEstimate, MovesInputsAndOutputsAlone) {
  const Machine m = tests::machine("v100");
  const double matrix = 512 * 512 * 4, factors = 2 * 512 * 256 * 4, bias = 512 * 4;
  for (const char* level : {"smem", "reg"}) {
    const std::optional<Estimate> e = estimate(product_and_square(level), m);
    ASSERT_TRUE(e.has_value()) << level;
    EXPECT_DOUBLE_EQ(e->dram_read_bytes, factors + bias) << level;
    EXPECT_DOUBLE_EQ(e->dram_written_bytes, matrix) << level;
  }
}

// Nothing passes the scratchpad but the product's own tiles, and no block waits for another kernel's launch.
TEST(GroupEstimate, PassesInRegistersForNothing) {
  const Machine m = tests::machine("v100");
  const tile::RProgram held = product_and_square("reg"), kept = product_and_square("smem");
  const std::optional<Estimate> alone = estimate_stage(held.simt().front(), m), in_registers = estimate(held, m),
                                in_scratchpad = estimate(kept, m), apart = estimate(product_and_square("dram"), m);
  EXPECT_DOUBLE_EQ(in_registers->levels.back().bytes, alone->levels.back().bytes);
  const double matrix = 512 * 512 * 4;
  EXPECT_DOUBLE_EQ(in_scratchpad->levels.back().bytes, alone->levels.back().bytes + 4 * matrix)
      << "T and D, in and out";
  EXPECT_LT(in_registers->total_us, in_scratchpad->total_us);
  EXPECT_LT(in_scratchpad->total_us, apart->total_us);
  EXPECT_LT(in_registers->total_us, 1.25 * alone->total_us);
}

// Each result of a warp's tile is one lane's.
RC_GTEST_PROP(Epilogues, LanesHoldTheTileOnce, ()) {
  static const arch::ArchSpec kChip = tests::chip("a100");
  const tile::RProgram p = tests::with_any_epilogues(tests::any_matrix_program(kChip), kChip);
  for (const tile::StageProgram& stage : p.simt()) {
    std::int64_t held = stage.lanes(), tile = 1;
    for (std::size_t a = 0; a < stage.space->spatial; ++a) {
      held *= tile::results_of_thread(stage, a);
      tile *= stage.mapping[a].thread_extent();
    }
    RC_ASSERT(held == tile);
  }
}

}  // namespace
}  // namespace tilescope::model
