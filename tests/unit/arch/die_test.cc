// SPDX-License-Identifier: Apache-2.0
// The die of a chip: what a file inherits, and what overrides make of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/numbers.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

TEST(Die, IsInheritedKeyByKey) {
  const arch::DieSpec a100 = chip_of("a100").die.value(), other = chip_of("a100_80gb").die.value();
  EXPECT_EQ(other.name, a100.name);
  EXPECT_EQ(other.memory->interface, "HBM2e");
  EXPECT_EQ(other.memory->built, 6);
  EXPECT_EQ(other.area, a100.area);
}

TEST(Die, WithANameOfItsOwnIsAnotherDie) {
  const LoadedChip loaded = load_text("extends: a100\nname: x\ndie: {name: X1, node: 5nm}\n");
  ASSERT_TRUE(loaded.chip) << loaded.errors.front();
  EXPECT_EQ(loaded.chip->die->node, "5nm");
  EXPECT_FALSE(loaded.chip->die->area || loaded.chip->die->cores || loaded.chip->die->memory);
  EXPECT_TRUE(loaded.chip->die->links.empty());
}

TEST(Die, OverridesScaleWhatIsBuilt) {
  const arch::DieSpec half = chip_of("a100", {{"core.count", "54"}}).die.value();
  EXPECT_EQ(half.cores, 64);
  EXPECT_TRUE(half.changed);
  EXPECT_EQ(chip_of("a100", {{"die.cores", "110"}}).die->cores, 110);
  EXPECT_EQ(chip_of("a100", {{"memory.l2.capacity", "80 MiB"}}).die->caches.at("l2").capacity.n, 96 << 20);
  EXPECT_EQ(chip_of("a100", {{"memory.dram.channels", "160"}}).die->memory->built, 12);
  EXPECT_FALSE(chip_of("a100", {{"clock", "1 GHz"}}).die->changed);
  EXPECT_EQ(load("a100", {{"die.cores", "64"}}).errors,
            (std::vector<std::string>{"--set die.cores=64: die.cores: 64 cores are built, fewer than the chip's 108"}));
}

TEST(Die, ChangesNoTime) {
  for (const arch::Number& n : arch::numbers_of(chip_of("a100")))
    EXPECT_FALSE(n.path.starts_with("die")) << n.path << " is among the numbers that times follow from";
  EXPECT_TRUE(chip_of("v100", {{"die.cores", "90"}}).error_bands_hold) << "the bands are those of the same times";
}

}  // namespace
}  // namespace tilescope::tests
