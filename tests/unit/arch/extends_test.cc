// SPDX-License-Identifier: Apache-2.0
// Chips that are described by what differs from another.

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::ElementsAre;
using testing::EndsWith;

// A folder of files that goes away with the test.
class Extends : public testing::Test {
 protected:
  Extends() : folder_(std::filesystem::temp_directory_path() / fmt::format("tilescope_extends_{}", ::getpid())) {
    std::filesystem::create_directories(folder_ / "inner");
  }
  ~Extends() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

// A file that extends a board's describes another board.
TEST_F(Extends, NoBoard) {
  EXPECT_EQ(load(write("a.yaml", "extends: v100\nname: a\n")).chip.value().board, std::nullopt);
  const LoadedChip own = load(write("b.yaml", "extends: v100\nname: b\nboard: Tesla V100-SXM2-16GB\n"));
  EXPECT_EQ(own.chip.value().board, "Tesla V100-SXM2-16GB");
  EXPECT_TRUE(own.chip.value().error_bands_hold) << "nothing that times follow from has changed";
}

TEST_F(Extends, ADeviceByName) {
  const LoadedChip loaded = load(write("mine.yaml", "extends: v100\nname: mine\ncore: {count: 40}\n"));
  ASSERT_TRUE(loaded.chip);
  EXPECT_EQ(loaded.chip->name, "mine");
  EXPECT_EQ(loaded.chip->core.count, 40);
  EXPECT_EQ(loaded.chip->core.warp, 32);
}

TEST_F(Extends, AFileBesideIt) {
  write("under.yaml", "extends: v100.yaml\nname: under\nclock: 1 GHz\nmemory: {smem: {banks: 16}}\n");
  const LoadedChip loaded = load(write("inner/over.yaml", "extends: ../under.yaml\nname: over\nclock: 2 GHz\n"));
  ASSERT_TRUE(loaded.chip) << loaded.errors.front();
  EXPECT_EQ(loaded.chip->clock, Hertz{2'000'000'000});
  EXPECT_EQ(scratchpad_of(*loaded.chip)->banks, 16);
}

TEST_F(Extends, InstructionsMergeByNameAndLevelsKeepTheirOrder) {
  const LoadedChip loaded = load_text(
      "extends: v100\nname: mine\n"
      "core: {pipes: [{name: fp32, executes: [fma.f32, fma.f16, fma.bf16]}]}\n"
      "compute:\n  - {name: mma.f16, per_core: 1024}\n"
      "  - {name: fma.bf16, dtype: bf16, shape: {m: 1, n: 1, k: 1}, per_core: 64, latency: 4 cycles}\n"
      "memory:\n  reg: {capacity: 128 KiB}\n  dram: {channels: 32}\n");
  ASSERT_TRUE(loaded.chip) << loaded.errors.front();
  std::vector<std::string> units, levels;
  for (const ComputeSpec& c : loaded.chip->compute) units.push_back(c.name);
  for (const Level& l : loaded.chip->memory) levels.push_back(spec_of(l).name);
  EXPECT_THAT(
      units, ElementsAre("fma.f32", "fma.f16", "mma.f16", "fma.f64", "special.f32", "imad.i32", "dp4a.i8", "fma.bf16"));
  EXPECT_THAT(levels, ElementsAre("dram", "l2", "l1", "smem", "reg"));
  EXPECT_EQ(loaded.chip->compute.at(2).per_core, 1024);
  EXPECT_EQ(loaded.chip->compute.at(7).accumulate, Dtype::kF32);
}

TEST_F(Extends, BandsAreInheritedWithTheCalibrationTheyAreOf) {
  const std::string band = "{low: 0.8, high: 1.2, rows: 9, source: nowhere}";
  write("under.yaml", "extends: v100\nname: under\nerror_bands: {all: " + band + ", pool: " + band + "}\n");
  const auto kinds = [&](const std::string& more) {
    std::vector<std::string> out;
    const ArchSpec chip = chip_of(write("over.yaml", "extends: under.yaml\nname: over\n" + more));
    for (const auto& [kind, is] : chip.error_bands) out.push_back(kind);
    return out;
  };
  EXPECT_THAT(kinds(""), ElementsAre("all", "pool"));
  EXPECT_THAT(kinds("core: {count: 40}\n"), ElementsAre("all", "pool"));
  EXPECT_THAT(kinds("calibration: {dram.read: {ratio: 0.9}}\n"), ElementsAre());
  EXPECT_THAT(kinds("error_bands: {matmul: " + band + "}\n"), ElementsAre("matmul")) << "another set of programs";
  EXPECT_THAT(kinds("error_bands: {}\n"), ElementsAre()) << "another board";
}

// A file that changes what times follow from is another chip than the one that bands were measured on.
TEST_F(Extends, BandsHoldForTheChipThatTheyWereMeasuredOn) {
  const auto hold = [&](const std::string& more) {
    const ArchSpec chip = chip_of(write("over.yaml", "extends: v100\nname: over\n" + more));
    EXPECT_FALSE(chip.error_bands.empty()) << "--error-bands extrapolated shows them";
    return chip.error_bands_hold;
  };
  EXPECT_TRUE(chip_of("v100").error_bands_hold);
  EXPECT_TRUE(hold(""));
  EXPECT_TRUE(hold("title: Another name\n"));
  EXPECT_TRUE(hold("memory: {smem: {banks: 32, capacity: 98304 B}}\n")) << "as it is";
  EXPECT_FALSE(hold("memory: {smem: {banks: 16}}\n"));
  EXPECT_FALSE(hold("core: {count: 40}\n"));
  EXPECT_FALSE(hold("compute:\n  - {name: fma.f32, per_core: 32}\n"));
  EXPECT_FALSE(
      hold("core: {pipes: [{name: fp32, executes: [fma.f32, fma.f16, fma.bf16]}]}\n"
           "compute:\n  - {name: fma.bf16, dtype: bf16, shape: {m: 1, n: 1, k: 1}, per_core: 64, "
           "latency: 4 cycles}\n"));
  write("own.yaml",
        "extends: v100\nname: own\ncore: {count: 40}\n"
        "error_bands: {pool: {low: 0.8, high: 1.2, rows: 9, source: nowhere}}\n");
  EXPECT_TRUE(chip_of(write("over.yaml", "extends: own.yaml\nname: over\n")).error_bands_hold) << "measured on it";
  EXPECT_FALSE(chip_of(write("over.yaml", "extends: own.yaml\nname: over\nclock: 1 GHz\n")).error_bands_hold);
}

TEST_F(Extends, MistakesKeepTheFileThatMakesThem) {
  write("under.yaml", "extends: v100\nname: under\nmemory: {smem: {banks: 0}}\n");
  const LoadedChip loaded = load(write("over.yaml", "extends: under.yaml\nname: over\ncore: {warp: none}\n"));
  EXPECT_THAT(loaded.errors,
              ElementsAre(EndsWith("over.yaml:3:14: core.warp: expected a whole number from 1 to "
                                   "1000000000, got the text 'none'"),
                          EndsWith("under.yaml:3:24: memory.smem.banks: expected a whole number from 1 to "
                                   "1000000000, got the number 0")));
}

TEST_F(Extends, AChainEnds) {
  std::string last;
  for (int i = 20; i > 0; --i)
    last = write(fmt::format("c{}.yaml", i), fmt::format("extends: c{}.yaml\nname: c{}\n", i + 1, i));
  EXPECT_THAT(load(last).errors, ElementsAre(EndsWith("c16.yaml:1:10: extends: a chain of more than 16 files")));
}

TEST_F(Extends, ACycleThroughALinkIsACycle) {
  const std::string file = write("loop.yaml", "extends: other.yaml\nname: loop\n");
  std::filesystem::create_symlink(file, std::filesystem::path(file).parent_path() / "other.yaml");
  EXPECT_THAT(load(file).errors, ElementsAre(testing::HasSubstr("loop.yaml:1:10: extends: a cycle: ")));
}

}  // namespace
}  // namespace tilescope::tests
