// SPDX-License-Identifier: Apache-2.0
// Ratios from microbenchmarks: the project's own curves give what the chips' files have by hand.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "experiments/accuracy/calibrate.h"
#include "experiments/microbench/simulate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/unit/experiments/accuracy/ratios.h"

namespace tilescope::experiments {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::chip;
using tests::v100;

api::NamedText references() {
  const std::string path = tests::source_path("experiments/data/references/microbenchmarks.csv").string();
  std::ifstream file(path);
  return {path, std::string((std::istreambuf_iterator<char>(file)), {})};
}

// Points of a chip named v100, 898 GB/s of DRAM.
CalibrationRun run_on(const std::string& lines) {
  return calibrate_by_microbenchmarks({"m.csv", std::string(kMicrobenchmarkHeader) + "\n" + lines}, v100());
}

std::string point(const std::string& curve, double x, double gbps) {
  return fmt::format("v100,{},{},GB/s,{},Tesla V100-PCIE-16GB,here\n", curve, x, gbps);
}

void expect_as_by_hand(const char* name, const std::vector<std::string>& ratios, std::size_t of_other_boards = 0) {
  const arch::ArchSpec a = chip(name);
  const CalibrationRun run = calibrate_by_microbenchmarks(references(), a);
  EXPECT_EQ(run.refused.size(), of_other_boards) << name;
  for (const std::string& r : ratios) {
    EXPECT_TRUE(ratio(run, r).identified) << name << " " << r << ": " << ratio(run, r).why;
    EXPECT_NEAR(ratio(run, r).after / arch::ratio_of(a, r), 1, 0.01) << name << " " << r;
  }
}

TEST(CalibrateByMicrobenchmarks, FindsWhatTheFilesHaveByHand) {
  expect_as_by_hand("v100", {"dram.read", "dram.write", "dram.copy", "l2.read", "l1.read"});
  expect_as_by_hand("a100", {"dram.read", "dram.write", "dram.copy"}, 7);
  expect_as_by_hand("h100_pcie", {"dram.write", "dram.copy", "l1.read"});
  expect_as_by_hand("a100_80gb", {"dram.write", "dram.copy", "l2.read", "l1.read"});
}

// The buffers that all of an A100's cores read were measured on the board of 80 GB, whose memory is another.
TEST(CalibrateByMicrobenchmarks, RefusesPointsOfAnotherBoard) {
  const CalibrationRun run = calibrate_by_microbenchmarks(references(), chip("a100"));
  ASSERT_EQ(run.refused.size(), 7U);
  EXPECT_THAT(run.refused, Each(EndsWith("board: expected that of a100, NVIDIA A100-SXM4-40GB, got "
                                         "'NVIDIA A100-SXM4-80GB'")));
  EXPECT_THAT(run.refused.front(), HasSubstr("microbenchmarks.csv:"));
  EXPECT_EQ(ratio(run, "l2.read").why, "no curve of the file says anything of it");
  EXPECT_EQ(ratio(run, "l1.read").why, "no curve of the file says anything of it");
}

// It would have been the best point of the curve.
TEST(CalibrateByMicrobenchmarks, APointOfAnotherBoardMovesNoRatio) {
  const std::string own = point("write", 1, 800) + point("write", 2, 820);
  const CalibrationRun run = run_on(own + "v100,write,3,GB/s,890,Tesla V100-SXM2-32GB,there\n");
  EXPECT_EQ(ratio(run, "dram.write").after, ratio(run_on(own), "dram.write").after);
  EXPECT_EQ(run.rows, 2U);
  EXPECT_THAT(run.refused, ElementsAre("m.csv:4: board: expected that of v100, Tesla V100-PCIE-16GB, got "
                                       "'Tesla V100-SXM2-32GB'"));
}

TEST(CalibrateByMicrobenchmarks, AChipWithoutABoardIsItsOwn) {
  arch::ArchSpec mine = v100();
  mine.name = "mine";
  mine.board.reset();
  const std::string lines = "mine,write,1,GB/s,800,mine,\nmine,write,2,GB/s,810,mine,\nmine,write,3,GB/s,890,,\n";
  const CalibrationRun run = calibrate_by_microbenchmarks({"m.csv", lines}, mine);
  EXPECT_TRUE(ratio(run, "dram.write").identified);
  EXPECT_EQ(run.rows, 2U);
  EXPECT_THAT(run.refused,
              ElementsAre("m.csv:3: board: expected that of mine, mine (its file names no board), got ''"));
}

// Nothing follows from strides and latencies, which stand beside the chip's own points to be compared with.
TEST(CalibrateByMicrobenchmarks, PassesOverOtherBoardsOfCurvesThatItDoesNotRead) {
  const CalibrationRun run = run_on("v100,latency,4,cycles,28,NVIDIA H200,there\n");
  EXPECT_THAT(run.refused, IsEmpty());
}

TEST(CalibrateByMicrobenchmarks, ACurveThatStillRisesIdentifiesNothing) {
  const CalibrationRun run = calibrate_by_microbenchmarks(references(), chip("h100_pcie"));
  const CalibratedRatio& r = ratio(run, "dram.read");
  EXPECT_FALSE(r.identified);
  EXPECT_EQ(r.after, r.before);
  EXPECT_EQ(r.why, "read still rises by 16 % at its end");
}

TEST(CalibrateByMicrobenchmarks, TwoRunsOfOnePointDoNotConfirmEachOther) {
  const CalibrationRun run = run_on(point("write", 1, 500) + point("write", 2, 800) + point("write", 2, 795));
  EXPECT_EQ(ratio(run, "dram.write").why, "write still rises by 60 % at its end");
}

TEST(CalibrateByMicrobenchmarks, LeavesWhatNoCurveIsOf) {
  const CalibrationRun run = calibrate_by_microbenchmarks(references(), v100());
  for (const char* name : {"smem.read", "fma.f32", "special.f32"})
    EXPECT_EQ(ratio(run, name).why, "no curve of the file says anything of it") << name;
  const CalibrationRun of_another = calibrate_by_microbenchmarks(references(), chip("mi50"));
  EXPECT_EQ(of_another.rows, 0U);
  EXPECT_THAT(of_another.refused, IsEmpty());
  EXPECT_FALSE(of_another.says_something());
}

TEST(CalibrateByMicrobenchmarks, TheSecondBestSaysHowSureTheBestIs) {
  // In any order: the curve runs over x.
  const CalibrationRun run =
      run_on(point("write", 3, 800) + point("write", 1, 400) + point("write", 4, 760) + point("write", 2, 700));
  const CalibratedRatio& r = ratio(run, "dram.write");
  EXPECT_TRUE(r.identified) << r.why;
  EXPECT_NEAR(r.after, 800 / 898.048, 1e-4);
  EXPECT_NEAR(r.error_ratio.value(), 0.05, 1e-9);
  EXPECT_EQ(r.source, "best of 4 points of write, 800 of 898.05 GB/s (here)");
  const CalibrationRun peak = run_on(point("write", 1, 700) + point("write", 2, 800) + point("write", 3, 600));
  EXPECT_THAT(ratio(peak, "dram.write").why, HasSubstr("12 % apart"));
  EXPECT_EQ(ratio(run_on(point("write", 1, 700)), "dram.write").why, "write has one point");
  const CalibrationRun beyond = run_on(point("write", 1, 1800) + point("write", 2, 1800));
  EXPECT_THAT(ratio(beyond, "dram.write").why, HasSubstr("outside of 0.05 to 1.5"));
}

// 128 KiB a core and 6 MiB: what lies beyond both is of neither.
TEST(CalibrateByMicrobenchmarks, ABuffersSizeSaysWhichCacheHoldsIt) {
  const std::string lines = point("same_buffer", 64, 14000) + point("same_buffer", 128, 13800) +
                            point("same_buffer", 129, 2500) + point("same_buffer", 6144, 2400) +
                            point("same_buffer", 6145, 800);
  const CalibrationRun run = run_on(lines);
  EXPECT_NEAR(ratio(run, "l1.read").after, 13900 / 14131.2, 1e-4);
  EXPECT_NEAR(ratio(run, "l2.read").after, 2450 / 2826.24, 1e-4);
  EXPECT_NEAR(ratio(run, "l2.read").error_ratio.value(), 50.0 / 2450, 1e-9);
  arch::ArchSpec halves = v100();
  for (arch::Level& l : halves.memory)
    if (auto* cache = std::get_if<arch::CacheLevel>(&l); cache != nullptr && cache->name == "l2")
      cache->l2_partitions = 2;
  EXPECT_EQ(ratio(calibrate_by_microbenchmarks({"m.csv", lines}, halves), "l2.read").why,
            "same_buffer has one point there");
}

TEST(CalibrateByMicrobenchmarks, RefusesBadLinesWithTheirPlace) {
  const CalibrationRun run = run_on(
      "v100,write,1,GB/s,2,here\n\nv100,write,one,GB/s,2,B,here\r\nv100,write,1,GB/s,-2,B,here\n"
      "v100,write,1,ms,2,B,here\nk80,write,none,ms,none,B,there\nv100,latency,4,cycles,28,B,\"a, b\"\n"
      "v100,write,1,GB/s,2GB,B,here\n");
  EXPECT_THAT(run.refused, ElementsAre("m.csv:2: expected chip,curve,x,unit,measured,board,source",
                                       "m.csv:4: x: expected a number, got 'one'",
                                       "m.csv:5: measured: expected a number above 0, got '-2'",
                                       "m.csv:6: unit: expected GB/s of write, got 'ms'",
                                       "m.csv:9: measured: expected a number above 0, got '2GB'"));
  EXPECT_EQ(run.rows, 1U);
}

TEST(CalibrateByMicrobenchmarks, ItsFileLoadsAndNamesTheCurve) {
  const CalibrationRun run = calibrate_by_microbenchmarks(references(), v100());
  const std::string path = testing::TempDir() + "calibrate_microbench_test.yaml";
  write_chip(calibrated_chip(run, v100(), "v100", path, "9.9"), path);
  const arch::ArchSpec a = chip(path);
  EXPECT_DOUBLE_EQ(arch::ratio_of(a, "dram.read"), ratio(run, "dram.read").after);
  EXPECT_EQ(arch::ratio_of(a, "fma.f32"), arch::ratio_of(v100(), "fma.f32"));
  EXPECT_EQ(a.calibration.at("dram.read").source,
            "tilescope 9.9 calibrate, microbenchmarks.csv: best of 13 points of read, 867 of 898.05 GB/s "
            "(gpu-benches 1038c5d V100-PCIe)");
  EXPECT_THAT(a.error_bands, IsEmpty()) << "those of other ratios";
}

}  // namespace
}  // namespace tilescope::experiments
