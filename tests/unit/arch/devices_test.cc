// The devices that come with the house, and how they are found.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "arch/dram_mapping.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Device& d : list_devices()) names.push_back(d.name);
  return names;
}

class EachDevice : public testing::TestWithParam<std::string> {
 protected:
  std::string path() const {
    for (const Device& d : list_devices())
      if (d.name == GetParam()) return d.path;
    return {};
  }
};

TEST_P(EachDevice, LoadsAndItsPeaksHold) {
  const LoadedChip loaded = load(GetParam());
  EXPECT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(loaded.notes, IsEmpty());
  ASSERT_TRUE(loaded.chip);
  EXPECT_EQ(loaded.chip->name, GetParam());
}

TEST_P(EachDevice, IsAMemoryOrAGpuWithTheUsualLevels) {
  const ArchSpec chip = chip_of(GetParam());
  std::vector<std::string> levels;
  for (const LevelSpec& l : chip.memory) levels.push_back(l.name);
  EXPECT_THAT(levels, ElementsAre("dram", "l2", "l1", "smem", "reg"));
  EXPECT_NE(scalar_unit_of(chip, Dtype::kF32, Dtype::kF32), nullptr);
}

TEST_P(EachDevice, StatesItsSchemaFirst) {
  EXPECT_TRUE(text_of_file(path()).starts_with("# yaml-language-server: $schema=../schema.json\n"));
}

// Every line with a number ends in a comment that says where the number is from and how far to trust it. Texts that are
// sources or names themselves need none.
TEST_P(EachDevice, GivesASourceForEachNumber) {
  const std::regex number("(^|[ {:,\\[])-?[0-9]"), source("# \\[(D|M|S|P|E|X)\\] .{4,}$");
  const std::regex text("^ *(source|title|vendor|name): |^ *#");
  std::istringstream lines(text_of_file(path()));
  bool in_folded_text = false;
  int place = 0;
  for (std::string line; std::getline(lines, line);) {
    ++place;
    const std::string value = line.substr(0, line.find(" #"));
    const bool key_begins = std::regex_search(line, std::regex("^[ -]*[a-z0-9_.-]+:( |$)"));
    if (key_begins) in_folded_text = value.ends_with(">-");
    if (in_folded_text || std::regex_search(line, text) || !std::regex_search(value, number)) continue;
    EXPECT_TRUE(std::regex_search(line, source)) << path() << ":" << place << ": no source: " << line;
    EXPECT_LE(line.size(), 120U) << path() << ":" << place;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachDevice, testing::ValuesIn(device_names()),
                         [](const auto& named) { return named.param; });

// Levels alone, by the file's name in arch/devices/memory.
struct MemoryFile {
  std::string name;
  std::int64_t channels = 0, burst_bytes = 0, gigabytes = 0;  // GiB, in all
};

void PrintTo(const MemoryFile& m, std::ostream* out) { *out << m.name; }

class EachMemory : public testing::TestWithParam<MemoryFile> {};

// What facts/dram.md says of the configurations that other simulators ran; the mapping's highest bit is the capacity's.
TEST_P(EachMemory, LoadsAndIsAsLargeAsItsMapping) {
  const MemoryFile& m = GetParam();
  const LoadedChip loaded = load(source_path("arch/devices/memory/" + m.name + ".yaml").string());
  EXPECT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(loaded.notes, IsEmpty());
  ASSERT_TRUE(loaded.chip);
  EXPECT_EQ(loaded.chip->name, m.name);
  const LevelSpec& dram = *dram_of(*loaded.chip);
  EXPECT_EQ(dram.channels, m.channels);
  EXPECT_EQ(transaction_of(dram), Bytes{m.burst_bytes});
  EXPECT_EQ(dram.capacity, Bytes{m.gigabytes << 30});
  std::string why;
  const auto mapping = mapping_of(dram, why);
  ASSERT_TRUE(mapping) << why;
  int bits = 0;
  for (const MappingField& f : mapping->fields) bits += f.width;
  EXPECT_EQ(std::int64_t{1} << bits, dram.capacity.n);
}

INSTANTIATE_TEST_SUITE_P(
    All, EachMemory,
    testing::Values(MemoryFile{"ddr4_8gb_x8_3200", 1, 64, 16}, MemoryFile{"ddr4_8gb_x8_3200_ch4", 4, 64, 64},
                    MemoryFile{"ddr4_8gb_x8_3200_fine", 1, 64, 16}, MemoryFile{"gddr5_8gb_x32", 1, 128, 4},
                    MemoryFile{"gddr5_8gb_x32_b32_ch8_fine", 8, 32, 8}, MemoryFile{"gddr6_8gb_x16", 1, 256, 8},
                    MemoryFile{"gddr6_8gb_x16_b16_ch16_fine", 16, 32, 16}, MemoryFile{"hbm2_8gb_x128", 8, 64, 8},
                    MemoryFile{"hbm2_8gb_x128_ch1", 1, 64, 1}, MemoryFile{"hbm2_8gb_x128_ch32", 32, 64, 32},
                    MemoryFile{"hbm2_8gb_x128_fine", 8, 64, 8}, MemoryFile{"hbm2_8gb_x128_fine_ch1", 1, 64, 1},
                    MemoryFile{"hbm2_8gb_x128_fine_ch32", 32, 64, 32}),
    [](const auto& named) { return named.param.name; });

TEST(Devices, AreListedInOrder) {
  const std::vector<std::string> names = device_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::IsSupersetOf({"a100", "h100_pcie", "k80", "mi50", "rtx2080ti", "tilescope_one", "v100"}));
}

TEST(Devices, BaselinesOfThePublishedArtifact) {
  const RollerBaseline v100 = chip_of("v100").baselines.roller_osdi22.value();
  EXPECT_DOUBLE_EQ(v100.dram_gbps, 750);
  EXPECT_DOUBLE_EQ(v100.smem_gbps, 12080);
  EXPECT_DOUBLE_EQ(v100.peak_gflops, 12480);
  EXPECT_EQ(v100.smem_per_block, Bytes{49152});
  const RollerBaseline k80 = chip_of("k80").baselines.roller_osdi22.value();
  EXPECT_EQ(k80.cores, 26);
  EXPECT_EQ(k80.smem_transaction, Bytes{256});
  const RollerBaseline mi50 = chip_of("mi50").baselines.roller_osdi22.value();
  EXPECT_EQ(mi50.warp, 64);
  EXPECT_EQ(mi50.registers_per_block, 20000);
  EXPECT_EQ(mi50.registers_per_thread, 70);
  EXPECT_EQ(mi50.smem_per_block, Bytes{34000});
}

TEST(Devices, TheMadeUpChipIsItsOwn) {
  const ArchSpec one = chip_of("tilescope_one"), v100 = chip_of("v100");
  EXPECT_EQ(scratchpad_of(one)->banks, 64);
  EXPECT_EQ(transaction_of(*scratchpad_of(one)), Bytes{256});
  EXPECT_GT(bandwidth_of(one, *dram_of(one)), bandwidth_of(v100, *dram_of(v100)));
  EXPECT_DOUBLE_EQ(ratio_of(one, "dram.read"), ratio_of(v100, "dram.read")) << "an efficiency is inherited";
}

TEST(Devices, AnUnknownOneIsAnError) {
  EXPECT_THAT(load("v10").errors, ElementsAre("v10: neither a device nor a file; did you mean 'v100'?"));
  EXPECT_THAT(load("no/such.yaml").errors, ElementsAre("no/such.yaml: cannot be read: No such file or directory"));
}

TEST(Devices, TheEnvironmentNamesTheirFolder) {
  const std::string usual = devices_folder();
  ::setenv("TILESCOPE_HOME", "/nowhere", 1);
  EXPECT_EQ(devices_folder(), "/nowhere/arch/devices");
  EXPECT_THAT(list_devices(), IsEmpty());
  ::unsetenv("TILESCOPE_HOME");
  EXPECT_EQ(devices_folder(), usual);
}

}  // namespace
}  // namespace tilescope::tests
