// SPDX-License-Identifier: Apache-2.0
// Stated peaks: checked against the causes of their own layer, dropped where a later layer changes a cause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Peaks, WithinTwoPercentOfTheCauses) {
  const LoadedChip loaded = load("v100");
  ASSERT_TRUE(loaded.chip);
  EXPECT_EQ(dram_of(*loaded.chip)->peak, BytesPerSecond{900e9});
  EXPECT_THAT(loaded.notes, IsEmpty());
}

TEST(Peaks, ThoseOfOneLayerAreChecked) {
  EXPECT_THAT(load("v100", {{"memory.dram.peak", "915 GB/s"}}).errors, IsEmpty());
  EXPECT_THAT(
      load("v100", {{"memory.dram.peak", "917 GB/s"}}).errors,
      ElementsAre("--set memory.dram.peak=917 GB/s: memory.dram.peak: 917 GB/s is stated, but memory.dram.clock, "
                  "memory.dram.rate, memory.dram.channels, memory.dram.width give 898 GB/s"));
}

TEST(Peaks, OverridesAreOneLayer) {
  const std::vector<Override> halved = {{"memory.dram.peak", "449 GB/s"}, {"memory.dram.channels", "32"}};
  const LoadedChip loaded = load("v100", halved);
  EXPECT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(loaded.notes, IsEmpty());
  EXPECT_EQ(dram_of(loaded.chip.value())->peak, BytesPerSecond{449e9});
}

TEST(Peaks, AChangedCauseDropsThem) {
  const LoadedChip loaded = load("v100", {{"memory.dram.channels", "32"}});
  ASSERT_TRUE(loaded.chip);
  EXPECT_EQ(dram_of(*loaded.chip)->peak, std::nullopt);
  EXPECT_THAT(loaded.notes, ElementsAre("--set memory.dram.channels=32: memory.dram.peak of 900 GB/s is dropped: "
                                        "memory.dram.channels was changed, which makes it 449 GB/s"));
  EXPECT_TRUE(loaded.chip->compute.front().peak) << "only what depends on the cause";
}

TEST(Peaks, TheClockIsACauseOfEveryInstruction) {
  const LoadedChip loaded = load("v100", {{"clock", "1.53 GHz"}});
  EXPECT_THAT(loaded.notes, SizeIs(4));
  EXPECT_THAT(loaded.notes, testing::Each(HasSubstr("clock was changed")));
}

// A name holds for the instruction of the file that says it.
TEST(Spellings, AreDroppedWhereAVariantMakesAnotherInstruction) {
  const std::string other = "extends: v100\nname: other\ncompute:\n  - name: mma.f16\n";
  const LoadedChip faster = load_text(other + "    per_core: 1024\n    peak: 224 TFLOP/s\n");
  ASSERT_TRUE(faster.chip) << faster.errors.front();
  EXPECT_TRUE(faster.chip->compute[2].spelling.has_value());
  const std::string maps =
      "    threads: 32\n    shape: {m: 16, n: 16, k: 4}\n    fragments:\n      a: r1 r2 r4 r8 k1 / k2\n"
      "      b: c1 c2 c4 c8 k1 / k2\n      c: c1 c2 c4 c8 r1 / r2 r4 r8\n";
  const LoadedChip changed = load_text(other + maps);
  ASSERT_TRUE(changed.chip) << changed.errors.front();
  EXPECT_FALSE(changed.chip->compute[2].spelling.has_value());
  EXPECT_THAT(changed.notes, testing::Contains(HasSubstr("compute.mma.f16.spelling is dropped: ")));
  const LoadedChip named = load_text(other + maps + "    spelling: {cuda: mma.sync.made.up}\n");
  ASSERT_TRUE(named.chip) << named.errors.front();
  EXPECT_TRUE(named.chip->compute[2].spelling.has_value());
}

TEST(Peaks, AVariantDropsThoseOfWhatItExtends) {
  const LoadedChip loaded = load_text("extends: v100\nname: half\nmemory: {dram: {width: 32 bit, burst: 8}}\n");
  ASSERT_TRUE(loaded.chip) << loaded.errors.front();
  EXPECT_THAT(loaded.notes,
              ElementsAre("chip.yaml:3:24: memory.dram.peak of 900 GB/s is dropped: memory.dram.width was "
                          "changed, which makes it 449 GB/s"));
}

TEST(Peaks, AVariantsOwnPeakIsChecked) {
  const LoadedChip loaded = load_text("extends: v100\nname: half\nmemory: {dram: {channels: 32, peak: 900 GB/s}}\n");
  EXPECT_THAT(loaded.errors, ElementsAre(HasSubstr("chip.yaml:3:37: memory.dram.peak: 900 GB/s is stated, but")));
}

}  // namespace
}  // namespace tilescope::tests
