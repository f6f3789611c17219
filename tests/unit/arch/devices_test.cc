// SPDX-License-Identifier: Apache-2.0
// The devices that come with the house, and how they are found.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
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

TEST_P(EachDevice, HasTheUsualLevelsOfItsClass) {
  const ArchSpec chip = chip_of(GetParam());
  std::vector<std::string> levels;
  for (const Level& l : chip.memory) levels.push_back(spec_of(l).name);
  if (chip.chip_class == ChipClass::kBsp)
    EXPECT_THAT(levels, testing::SizeIs(dram_of(chip) != nullptr ? 2 : 1)) << "the cores' own memory, and a DRAM";
  else if (chip.name == "tilescope_two")  // whose levels have other names than those of chips that there are
    EXPECT_THAT(levels, ElementsAre("gddr", "llc", "lsc", "slm", "grf"));
  else if (chip.name == "mi300x")
    EXPECT_THAT(levels, ElementsAre("dram", "mall", "l2", "l1", "smem", "reg"));
  else if (chip.name == "b200")
    EXPECT_THAT(levels, ElementsAre("dram", "l2", "l1", "smem", "tmem", "reg"));
  else
    EXPECT_THAT(levels, ElementsAre("dram", "l2", "l1", "smem", "reg"));
  EXPECT_NE(scalar_unit_of(chip, Dtype::kF32, Dtype::kF32), nullptr);
}

// Bands are what predictions of one board were off by.
TEST_P(EachDevice, HasBandsOfItsOwnOrOfItsMakersChip) {
  const ArchSpec chip = chip_of(GetParam());
  const std::set<std::string> measured = {"k80", "mi50", "v100", "tilescope_one"};  // the last is made from the V100
  EXPECT_EQ(chip.error_bands.empty(), !measured.contains(GetParam()));
  EXPECT_EQ(chip.error_bands_hold, GetParam() != "tilescope_one") << "no such board was measured";
}

TEST_P(EachDevice, StatesItsSchemaFirst) {
  EXPECT_TRUE(text_of_file(path()).starts_with("# yaml-language-server: $schema=../schema.json\n"));
}

// Every line with a number ends in a comment that says where the number is from and how far to trust it. Texts that are
// sources or names themselves need none.
TEST_P(EachDevice, GivesASourceForEachNumber) {
  const std::regex number("(^|[ {:,\\[])-?[0-9]"), source("# \\[(D|M|S|P|E|F|C|X)\\] .{4,}$");
  const std::regex text("^ *(source|title|vendor|target|name): |^ *#");
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
  const DramLevel& dram = *dram_of(*loaded.chip);
  EXPECT_EQ(dram.channels, m.channels);
  EXPECT_EQ(transaction_of(dram), Bytes{m.burst_bytes});
  EXPECT_EQ(dram.capacity, Bytes{m.gigabytes << 30});
  base::Diagnostics diags;
  const auto mapping = mapping_of(dram, diags);
  ASSERT_TRUE(mapping) << testing::PrintToString(diags.sentences());
  EXPECT_EQ(std::int64_t{1} << mapping->bits(), dram.capacity.n);
}

INSTANTIATE_TEST_SUITE_P(
    All, EachMemory,
    testing::Values(MemoryFile{"ddr4_8gb_x8_3200", 1, 64, 16}, MemoryFile{"ddr4_8gb_x8_3200_ch4", 4, 64, 64},
                    MemoryFile{"ddr4_8gb_x8_3200_fine", 1, 64, 16}, MemoryFile{"gddr5_8gb_x32", 1, 128, 4},
                    MemoryFile{"gddr5_8gb_x32_b32_ch8_fine", 8, 32, 8}, MemoryFile{"gddr6_8gb_x16", 1, 256, 8},
                    MemoryFile{"gddr6_8gb_x16_b16_ch16_fine", 16, 32, 16}, MemoryFile{"hbm2_8gb_x128", 8, 64, 8},
                    MemoryFile{"hbm2_8gb_x128_ch1", 1, 64, 1}, MemoryFile{"hbm2_8gb_x128_ch32", 32, 64, 32},
                    MemoryFile{"hbm2_8gb_x128_fine", 8, 64, 8}, MemoryFile{"hbm2_8gb_x128_fine_ch1", 1, 64, 1},
                    MemoryFile{"hbm2_8gb_x128_fine_ch32", 32, 64, 32}, MemoryFile{"hbm2_8gb_2pc", 2, 32, 2},
                    MemoryFile{"hbm2_8gb_2pc_mop", 2, 32, 2}, MemoryFile{"hbm2_8gb_2pc_ch8", 16, 32, 16},
                    MemoryFile{"hbm2_4gb_2pc_stack", 2, 32, 2}, MemoryFile{"ddr4_8gb_x8_3200aa", 1, 64, 8},
                    MemoryFile{"ddr4_4gb_x8_2400", 1, 64, 4}),
    [](const auto& named) { return named.param.name; });

TEST(Devices, AreListedInOrder) {
  const std::vector<std::string> names = device_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::IsSupersetOf({"a100", "a100_pcie", "h100_pcie", "h100_sxm", "h200", "ipu_gc2",
                                            "ipu_gc200", "k80", "mi100", "mi210", "mi50", "rtx2080ti", "rtx3090", "t4",
                                            "tilescope_one", "titan_rtx", "v100", "v100_sxm2"}));
}

// What a data sheet says, from arch/derive.h's formulas and the causes in the file.
struct Sheet {
  std::string device;
  std::string unit;  // empty: the DRAM's bandwidth; a level: that of all its instances
  double tera;       // FLOP/s or B/s
  std::string source;
};

void PrintTo(const Sheet& s, std::ostream* out) { *out << s.device << " " << s.unit; }

class EachSheet : public testing::TestWithParam<Sheet> {};

TEST_P(EachSheet, AgreesWithTheCauses) {
  const Sheet& sheet = GetParam();
  const ArchSpec chip = chip_of(sheet.device);
  std::optional<double> derived;
  for (const ComputeSpec& c : chip.compute)
    if (c.name == sheet.unit) derived = peak_of(chip, c).v;
  for (const Level& l : chip.memory)
    if (spec_of(l).name == sheet.unit) derived = bandwidth_of(chip, l).v;
  if (sheet.unit == "link") derived = bandwidth_of(chip, chip.link.value()).v;
  ASSERT_TRUE(derived) << "no such unit";
  EXPECT_NEAR(*derived * 1e-12 / sheet.tera, 1, 0.01) << sheet.source;
}

INSTANTIATE_TEST_SUITE_P(
    All, EachSheet,
    testing::Values(
        Sheet{"v100_sxm2", "fma.f32", 15.7, "NVIDIA V100 data sheet, SXM2"},
        Sheet{"v100_sxm2", "mma.f16", 125, "NVIDIA V100 data sheet, SXM2"},
        Sheet{"v100_sxm2", "fma.f64", 7.83, "NVIDIA V100 data sheet, SXM2: 7.8"},
        Sheet{"a100_pcie", "fma.f64", 9.7, "NVIDIA A100 data sheet"},
        Sheet{"h100_sxm", "fma.f64", 33.5, "NVIDIA H100 white paper, SXM5"},
        Sheet{"mi100", "fma.f64", 11.5, "AMD MI100 data sheet"},
        Sheet{"mi210", "fma.f64", 22.6, "AMD MI210 data sheet"},
        Sheet{"v100_sxm2", "dram", 0.900, "NVIDIA V100 data sheet"},
        Sheet{"a100_pcie", "fma.f32", 19.5, "NVIDIA A100 data sheet"},
        Sheet{"a100_pcie", "mma.bf16", 312, "NVIDIA A100 data sheet"},
        Sheet{"a100_pcie", "mma.tf32", 156, "NVIDIA A100 data sheet"},
        Sheet{"a100_pcie", "dram", 1.555, "NVIDIA A100 data sheet, 40 GB"},
        Sheet{"a100_80gb", "dram", 2.039, "NVIDIA A100 80 GB data sheet"},
        Sheet{"h100_sxm", "fma.f32", 66.9, "NVIDIA H100 white paper, SXM5"},
        Sheet{"h100_sxm", "fma.f16", 133.8, "NVIDIA H100 white paper, SXM5"},
        Sheet{"h100_sxm", "dram", 3.35, "NVIDIA H100 data sheet, SXM"},
        Sheet{"b200", "fma.f32", 75.02, "hmc-tech.com, B200"}, Sheet{"b200", "fma.f64", 37.51, "hmc-tech.com, B200"},
        Sheet{"b200", "dram", 7.7, "hmc-tech.com, B200"}, Sheet{"h200", "fma.f32", 67, "NVIDIA H200 data sheet"},
        Sheet{"h200", "dram", 4.8, "NVIDIA H200 data sheet"},
        Sheet{"rtx3090", "fma.f32", 35.6, "NVIDIA GA102 white paper"},
        Sheet{"rtx3090", "mma.f16", 71, "NVIDIA GA102 white paper, FP32 sums"},
        Sheet{"rtx3090", "mma.i8", 284, "NVIDIA GA102 white paper"},
        Sheet{"rtx3090", "dram", 0.936, "NVIDIA GA102 white paper"},
        Sheet{"rtx_a6000", "mma.f16", 154.8, "NVIDIA RTX A6000 data sheet"},
        Sheet{"a10", "fma.f32", 31.2, "NVIDIA A10 data sheet"}, Sheet{"a10g", "mma.f16", 70, "NVIDIA A10G data sheet"},
        Sheet{"rtx4090", "mma.f8e4m3", 330.3, "NVIDIA Ada white paper, FP32 sums"},
        Sheet{"l40s", "fma.f32", 91.6, "NVIDIA L40S data sheet"}, Sheet{"l4", "dram", 0.3, "NVIDIA L4 data sheet"},
        Sheet{"rtx_pro_6000", "dram", 1.792, "NVIDIA RTX PRO 6000 data sheet"},
        Sheet{"h20", "wgmma.f16", 148, "SemiAnalysis, November 2023"},
        Sheet{"mi250x", "mma.f16", 191.5, "AMD MI250X data sheet, one die"},
        Sheet{"mi300x", "mma.f8e4m3fnuz", 2614.9, "AMD MI300X data sheet"},
        Sheet{"mi300x", "mall", 17.2, "AMD CDNA 3 white paper"},
        Sheet{"titan_rtx", "fma.f32", 16.3, "NVIDIA Turing white paper"},
        Sheet{"titan_rtx", "mma.f16", 130.5, "NVIDIA Turing white paper"},
        Sheet{"titan_rtx", "dram", 0.672, "NVIDIA Turing white paper"},
        Sheet{"t4", "fma.f32", 8.1, "NVIDIA T4 data sheet"}, Sheet{"t4", "mma.f16", 65, "NVIDIA T4 data sheet"},
        Sheet{"t4", "mma.i8", 130, "NVIDIA T4 data sheet"}, Sheet{"t4", "dram", 0.320, "NVIDIA T4 data sheet"},
        Sheet{"mi100", "fma.f32", 23.1, "AMD MI100 data sheet"},
        Sheet{"mi100", "mma.f32", 46.1, "AMD MI100 data sheet"},
        Sheet{"mi100", "mma.f16", 184.6, "AMD MI100 data sheet"},
        Sheet{"mi100", "mma.bf16", 92.3, "AMD MI100 data sheet"},
        Sheet{"mi100", "dram", 1.2288, "AMD MI100 data sheet"}, Sheet{"mi210", "fma.f32", 22.6, "AMD MI210 data sheet"},
        Sheet{"mi210", "mma.f32", 45.3, "AMD MI210 data sheet"},
        Sheet{"mi210", "mma.bf16", 181, "AMD MI210 data sheet"}, Sheet{"mi210", "dram", 1.6384, "AMD MI210 data sheet"},
        Sheet{"ipu_gc2", "amp.f32", 31.1, "Graphcore GC2 data sheet"},
        Sheet{"ipu_gc2", "amp.f16", 124.5, "Graphcore GC2 data sheet"},
        Sheet{"ipu_gc2", "sram", 46.7, "16 B loaded and 8 B stored a clock and tile"},
        Sheet{"ipu_gc2", "link", 7.78, "4 B a clock and tile"},
        Sheet{"ipu_gc200", "amp.f32", 62.5, "Graphcore GC200 data sheet"},
        Sheet{"ipu_gc200", "amp.f16", 250, "Graphcore GC200 data sheet"},
        Sheet{"ipu_gc200", "link", 7.83, "4 B a clock and tile"}),
    [](const auto& named) {
      std::string name = named.param.device + "_" + named.param.unit;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Devices, MemoryOfAllTiles) {
  for (const auto& [name, mebibytes] : {std::pair{"ipu_gc2", 304}, {"ipu_gc200", 897}}) {
    const ArchSpec ipu = chip_of(name);
    EXPECT_EQ((ipu.core.count * scratchpad_of(ipu)->capacity.n) >> 20, mebibytes);
  }
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
  const RollerBaseline ipu = chip_of("ipu_gc2").baselines.roller_osdi22.value();
  EXPECT_DOUBLE_EQ(ipu.dram_gbps, 7680);
  EXPECT_DOUBLE_EQ(ipu.peak_gflops, 18900);
  EXPECT_EQ(ipu.smem_transaction, Bytes{4});
}

TEST(Devices, BaselinesOfWeldersOpenCode) {
  const arch::WelderBaseline v100 = chip_of("v100").baselines.welder_open.value();
  EXPECT_DOUBLE_EQ(v100.smem_gbps, 12080);
  EXPECT_EQ(v100.read_transaction, Bytes{128});
  EXPECT_EQ(v100.mma.value().k, 4);
  EXPECT_EQ(chip_of("rtx3090").baselines.welder_open.value().mma.value().num_stages, 2);
  EXPECT_EQ(chip_of("h100_sxm").baselines.welder_open.value().cores, 132);
  EXPECT_EQ(chip_of("a100").baselines.welder_open.value().smem_per_core, Bytes{98304});
  const arch::WelderBaseline mi50 = chip_of("mi50").baselines.welder_open.value();
  EXPECT_EQ(mi50.registers, 32768);
  EXPECT_FALSE(mi50.mma);
  EXPECT_FALSE(chip_of("h200").baselines.welder_open);
}

TEST(Devices, TheMadeUpChipIsItsOwn) {
  const ArchSpec one = chip_of("tilescope_one"), v100 = chip_of("v100");
  EXPECT_EQ(scratchpad_of(one)->banks, 64);
  EXPECT_EQ(transaction_of(*scratchpad_of(one)), Bytes{256});
  EXPECT_GT(bandwidth_of(one, *dram_of(one)), bandwidth_of(v100, *dram_of(v100)));
  EXPECT_DOUBLE_EQ(ratio_of(one, "dram.read"), ratio_of(v100, "dram.read")) << "an efficiency is inherited";
}

TEST(Devices, ABoardOfTheSameDieKeepsItsEfficienciesAndNotItsErrors) {
  const ArchSpec sxm2 = chip_of("v100_sxm2"), v100 = chip_of("v100");
  EXPECT_DOUBLE_EQ(ratio_of(sxm2, "l2.read"), ratio_of(v100, "l2.read"));
  EXPECT_NE(ratio_of(sxm2, "dram.copy"), ratio_of(v100, "dram.copy")) << "measured on both";
  EXPECT_FALSE(sxm2.baselines.roller_osdi22);
}

TEST(Devices, AnUnknownOneIsAnError) {
  EXPECT_THAT(load("v1000").errors, ElementsAre("v1000: neither a device nor a file; did you mean 'v100'?"));
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

// An FP8 mma of Hopper is two of f16 and conversions, which an H20 has as fast as an H100.
TEST(Devices, AnH20ComputesFp8BySlowerProductsAndTheSameConversions) {
  const auto cycles = [](const char* name, const std::string& unit) {
    base::Diagnostics diags;
    const auto chip = load_arch(name, {}, diags);
    for (const ComputeSpec& c : chip->compute)
      if (c.name == unit) return 1 / static_cast<double>(c.per_core);
    return 0.0;
  };
  for (const char* unit : {"mma.f8e4m3", "mma.f8e5m2"}) {
    const double conversions = cycles("h100_sxm", unit) - cycles("h100_sxm", "mma.f16");
    EXPECT_NEAR(cycles("h20", "mma.f16") + conversions, cycles("h20", unit), 1e-5) << unit;
  }
}

}  // namespace
}  // namespace tilescope::tests
