// SPDX-License-Identifier: Apache-2.0
// Rows of DRAM that programs open, by hand.

#include "model/simt/detail/dram_rows.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/simt/estimate.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::machine;

tile::StageProgram program(const char* op, const char* sizes,
                           const base::FixedVector<tile::AxisMapping, tile::kMaxAxes>& mapping,
                           const tile::Extents& step) {
  const expr::Expression e = tests::expression(op, sizes);
  return tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), mapping, step, {16});
}

// Two rows of one channel of eight, each with two lines of 128 B.
constexpr DramRows kRows{
    .row_bytes = 256, .line_bytes = 128, .granule_bytes = 32, .channels = 8, .banks = 4, .activates_per_us = 1};

double activates(const tile::StageProgram& p, const tile::Extents& moment) {
  return activates_per_byte(p.space->inputs[0], moment, kRows);
}

TEST(DramRows, AreOpenedOnceWhereALongRunFillsThem) {
  const tile::StageProgram p = program("O[i] = relu(I[i])", "i=1048576", {{1, 256, 4}}, {1});
  EXPECT_DOUBLE_EQ(activates(p, {1048576}), 1.0 / 256);
}

// 1,000 rows of a matrix, a sector or four lines of each at a moment: in 32 banks none is found open again.
TEST(DramRows, AreOpenedForEveryPieceWhereManyRunsPassThroughThem) {
  const tile::StageProgram p = program("O[m] +=! A[m,k]", "m=1000,k=4096", {{1, 1000, 1}}, {1, 8});
  EXPECT_NEAR(activates(p, {1000, 8}), 1.0 / 32, 1e-9);
  EXPECT_NEAR(activates(p, {1000, 4}), 1.0 / 32, 1e-9) << "half a sector moves a sector";
  EXPECT_NEAR(activates(p, {1000, 16}), 1.0 / 64, 1e-9);
  EXPECT_NEAR(activates(p, {1000, 128}), 4.0 / 512, 1e-9) << "four lines, each in a channel of its own";
}

TEST(DramRows, OfFewRunsStayOpen) {
  const tile::StageProgram p = program("O[m] +=! A[m,k]", "m=8,k=4096", {{1, 8, 1}}, {1, 8});
  const double reopened = 1 - std::exp(-7.0 / 32);
  EXPECT_NEAR(activates(p, {8, 8}), reopened / 32, 1e-9);
  EXPECT_DOUBLE_EQ(activates(p, {1, 8}), 1.0 / 256) << "one run is never disturbed";
}

// An activate per rrd_s of 4 cycles at 877 MHz on 64 channels, which is longer than a quarter of faw: 449 GB/s of
// sectors of 32 B.
TEST(DramRows, BoundAV100) {
  EXPECT_NEAR(machine("v100").dram_rows.activates_per_us, 64 * 877 / 4.0, 1e-6);
  EXPECT_EQ(machine("k80").dram_rows.activates_per_us, 0) << "its file says nothing of rows";
  const auto narrow = program("O[i] +=! I[i,k]", "i=65536,k=1024", {{1, 32, 1}}, {1, 8});
  const auto wide = program("O[i] +=! I[i,k]", "i=65536,k=1024", {{1, 32, 1}}, {1, 16});
  const double read = 4.0 * 65536 * 1024;
  EXPECT_NEAR(read / estimate_stage(narrow, machine("v100"))->term_us("dram"), 449e3, 2e3);
  EXPECT_GT(read / estimate_stage(wide, machine("v100"))->term_us("dram"), 800e3);
}

// What lies side by side in one row is a line of the cache, or what the chip's mapping says.
TEST(DramRows, AreOpenedForWhatTheMappingKeepsTogether) {
  const auto line = [](const std::vector<arch::Override>& changes) {
    return make_machine(tests::chip("v100", changes)).dram_rows.line_bytes;
  };
  EXPECT_EQ(line({}), 128);
  EXPECT_EQ(line({{"memory.dram.mapping", "off[0+5] co[5+4] ch[9+6] co[15+1] bg[16+2] ba[18+2] ro[20+14]"}}), 512);
  EXPECT_EQ(line({{"memory.dram.mapping", "off[0+5] co[5+4] ch[9+6] co[15+1] bg[16+2] ba[18+2] ro[20+14] bg^[8+1]"}}),
            256);
}

// Two pseudo-channels behind one bus, whose activates take two cycles and precharges one: six for each.
TEST(DramRows, WaitForTheCommandBusThatPseudoChannelsShare) {
  const auto per_us = [](const std::vector<arch::Override>& changes) {
    return make_machine(tests::chip("v100", changes)).dram_rows.activates_per_us;
  };
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}}), 64 * 877 / 4.0, 1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}, {"memory.dram.activate_command", "2 cycles"}}),
              64 * 877 / 6.0, 1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.pseudo_channels", "2"}, {"memory.dram.dual_command_bus", "false"}}), 64 * 877 / 6.0,
              1e-6);
  EXPECT_NEAR(per_us({{"memory.dram.activate_command", "4 cycles"}}), 64 * 877 / 5.0, 1e-6);
}

}  // namespace
}  // namespace tilescope::model
