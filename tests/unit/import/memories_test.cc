// SPDX-License-Identifier: Apache-2.0
// Memories of DRAMsim3 and Ramulator 2, against our own files of the same memories, which were written by hand.

#include <gmock/gmock.h>

#include "arch/hierarchy.h"
#include "arch/load.h"
#include "import/dramsim3_export.h"
#include "tests/unit/import/import_file.h"

namespace tilescope::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

arch::DramLevel level_of_text(const std::string& text) {
  base::Diagnostics diags;
  const auto a = arch::load_arch_text(text, "imported", {}, diags);
  for (const std::string& line : diags.formatted_errors()) ADD_FAILURE() << line << "\n" << text;
  return a ? *arch::dram_of(*a) : arch::DramLevel{};
}

arch::ArchSpec memory_of_ours(const std::string& name) {
  base::Diagnostics diags;
  const auto a = arch::load_arch(source_path("arch/devices/memory/" + name + ".yaml").string(), {}, diags);
  for (const std::string& line : diags.formatted_errors()) ADD_FAILURE() << line;
  return a ? *a : arch::ArchSpec{};
}

// What the other tool does not say: names, a stated peak, and how the fields of a mapping are written.
arch::DramLevel comparable(arch::DramLevel l) {
  l.peak.reset();
  l.mapping.reset();
  return l;
}

TEST(Dramsim3, Figures) {
  const importers::Imported imported = good_import("dramsim3", text_of_format_file("little.ini"));
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  const arch::DramLevel l = level_of_text(imported.text);
  EXPECT_EQ(l.clock.n, 1'333'333'333);
  EXPECT_EQ(l.channels, 2);
  EXPECT_EQ(l.row->n, 8192);  // 1024 columns of 8 B
  EXPECT_EQ(l.ranks, 2);      // of 4 GiB: 32768 rows of 16 banks
  EXPECT_EQ(l.capacity.n, std::int64_t{16} << 30);
  EXPECT_EQ(l.timing.at("rc").n, 62);
  EXPECT_EQ(l.mapping, "off[0+6] co[6+7] bg[13+2] ba[15+2] ra[17+1] ch[18+1] ro[19+15]");
  EXPECT_EQ(l.per_bank_queue_depth, 8);
}

TEST(Dramsim3, GroupsThatAreOff) {
  std::string text =
      replaced(text_of_format_file("little.ini"), "protocol = DDR4", "protocol = GDDR5\nbankgroup_enable = false");
  const arch::DramLevel l = level_of_text(good_import("dramsim3", text).text);
  EXPECT_EQ(l.rate, 4);
  EXPECT_FALSE(l.bank_groups);
  EXPECT_FALSE(l.timing.contains("ccd_l"));
  EXPECT_THAT(*l.mapping, HasSubstr("ba[13+4]"));
}

// Our files of DRAMsim3's memories come back from its format as they were.
TEST(Dramsim3, ExportAndImportAgreeWithOurOwnFiles) {
  int count = 0;
  for (const std::string name : {"ddr4_8gb_x8_3200", "ddr4_8gb_x8_3200_fine", "ddr4_8gb_x8_3200_ch4", "gddr5_8gb_x32",
                                 "gddr5_8gb_x32_b32_ch8_fine", "gddr6_8gb_x16", "gddr6_8gb_x16_b16_ch16_fine",
                                 "hbm2_8gb_x128", "hbm2_8gb_x128_ch1", "hbm2_8gb_x128_ch32", "hbm2_8gb_x128_fine",
                                 "hbm2_8gb_x128_fine_ch1", "hbm2_8gb_x128_fine_ch32"}) {
    const arch::ArchSpec ours = memory_of_ours(name);
    base::Diagnostics diags;
    const auto ini = importers::to_dramsim3(ours, {}, diags);
    ASSERT_TRUE(ini) << name;
    EXPECT_THAT(diags.notes(), IsEmpty()) << name;
    const arch::DramLevel theirs = level_of_text(good_import("dramsim3", *ini).text);
    EXPECT_EQ(comparable(theirs), comparable(*arch::dram_of(ours))) << name << "\n" << *ini;
    EXPECT_EQ(theirs.mapping, arch::dram_of(ours)->mapping) << name;
    ++count;
  }
  EXPECT_EQ(count, 13);
}

TEST(Dramsim3, WhatItCannotSayIsNoted) {
  base::Diagnostics diags;
  EXPECT_FALSE(importers::to_dramsim3(memory_of_ours("hbm2_8gb_2pc_mop"), {}, diags));
  EXPECT_THAT(diags.sentences()[0], HasSubstr("no pseudo-channels"));
  base::Diagnostics of_a_chip;
  const auto v100 = arch::load_arch("v100", {}, of_a_chip);
  EXPECT_TRUE(importers::to_dramsim3(*v100, {}, of_a_chip));
  ASSERT_FALSE(of_a_chip.notes().empty());
  EXPECT_THAT(of_a_chip.notes()[0].text, HasSubstr("timing.rtw"));
  base::Diagnostics of_tiles;
  const auto ipu = arch::load_arch("ipu_gc200", {}, of_tiles, arch::Use::kLook);
  EXPECT_FALSE(importers::to_dramsim3(*ipu, {}, of_tiles));
  EXPECT_THAT(of_tiles.sentences()[0], HasSubstr("has no DRAM"));
}

TEST(Dramsim3, BadValues) {
  const auto first_error = [](const std::string& from, const std::string& to) {
    base::Diagnostics diags;
    EXPECT_FALSE(import_of("dramsim3", replaced(text_of_format_file("little.ini"), from, to), diags)) << to;
    return diags.ok() ? std::string() : diags.formatted_errors()[0];
  };
  EXPECT_THAT(first_error("rochrababgco", "rochrababgba"),
              HasSubstr("input:41:19: system.address_mapping: expected ch, ra, bg, ba, ro and co in some order"));
  EXPECT_THAT(first_error("= DDR4", "= HMC"), HasSubstr("input:3:12: dram_structure.protocol: expected one of"));
  EXPECT_THAT(first_error("tRAS = 43", "tRAS = 4x"), HasSubstr("timing.tRAS: expected a number, got '4x'"));
  EXPECT_THAT(first_error("rows = 32768", "rows = 30000"), HasSubstr("input:"));
  EXPECT_THAT(first_error("tCK = 0.75", "tCK = 0"), HasSubstr("input:12:7: timing.tCK: "));
}

TEST(Dramsim3, ATimeOfNoCyclesIsNone) {
  const auto with_rtrs = [](const std::string& cycles) {
    const std::string text = text_of_format_file("little.ini");
    const std::size_t at = text.find("tRTRS = ");
    EXPECT_NE(at, std::string::npos);
    return good_import("dramsim3", replaced(text, text.substr(at, text.find('\n', at) - at), "tRTRS = " + cycles)).text;
  };
  EXPECT_EQ(level_of_text(with_rtrs("3")).timing.at("rtrs").n, 3);
  EXPECT_FALSE(level_of_text(with_rtrs("0")).timing.contains("rtrs"));
}

TEST(Ramulator2, PresetsOfDdr5) {
  std::string text = replaced(text_of_format_file("ramulator_preset.yaml"), "impl: DDR4", "impl: DDR5");
  text = replaced(text, "DDR4_3200AA", "DDR5_3200BN");
  const std::size_t org = text.find("preset: DDR4_");
  ASSERT_NE(org, std::string::npos);
  text.replace(org, text.find('\n', org) - org, "preset: DDR5_16Gb_x4");
  const importers::Imported imported = good_import("ramulator2", text);
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  const arch::DramLevel level = level_of_text(imported.text);
  EXPECT_EQ(level.banks, 32);
  EXPECT_EQ(level.bank_groups, 8);
  EXPECT_EQ(level.row->n, 2048 * 4 * 8 / 8);  // columns of 4 bits in each of eight devices
  EXPECT_EQ(level.clock.n, 1'600'000'000);
  EXPECT_EQ(level.timing.at("cl").n, 26);
  EXPECT_EQ(level.timing.at("faw").n, 40);
  EXPECT_EQ(level.timing.at("rfc").n, 472);    // 295 ns
  EXPECT_EQ(level.timing.at("refi").n, 6240);  // 3.9 us
}

TEST(Ramulator2, APresetIsTheMemoryOfOurs) {
  const importers::Imported imported = good_import("ramulator2", text_of_format_file("ramulator_preset.yaml"));
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  const arch::ArchSpec ours = memory_of_ours("ddr4_8gb_x8_3200aa");
  const arch::DramLevel theirs = level_of_text(imported.text);
  EXPECT_EQ(comparable(theirs), comparable(*arch::dram_of(ours))) << imported.text;
  EXPECT_EQ(theirs.mapping, arch::dram_of(ours)->mapping);
}

TEST(Ramulator2, FiguresOfTheFileAndPermutedBanks) {
  const importers::Imported imported = good_import("ramulator2", text_of_format_file("ramulator_whole.yaml"));
  EXPECT_THAT(imported.report.unknown, IsEmpty());
  arch::DramLevel theirs = level_of_text(imported.text);
  const arch::ArchSpec ours = memory_of_ours("hbm2_8gb_2pc");
  EXPECT_EQ(theirs.channels, 8);
  EXPECT_EQ(theirs.capacity.n, 4 * arch::dram_of(ours)->capacity.n);
  theirs.channels = 2;
  theirs.capacity = arch::dram_of(ours)->capacity;
  EXPECT_EQ(comparable(theirs), comparable(*arch::dram_of(ours))) << imported.text;
  const std::string one = replaced(text_of_format_file("ramulator_whole.yaml"), "channel: 4", "channel: 1");
  EXPECT_EQ(arch::dram_of(memory_of_ours("hbm2_8gb_2pc_mop"))->mapping,
            replaced(*level_of_text(good_import("ramulator2", one).text).mapping, "ba^[13+1] ba^1[14+1]", "ba^[13+2]"));
}

TEST(Ramulator2, APresetThatIsNotHere) {
  base::Diagnostics diags;
  EXPECT_FALSE(
      import_of("ramulator2", replaced(text_of_format_file("ramulator_preset.yaml"), "3200AA", "3200AB"), diags));
  EXPECT_THAT(diags.formatted_errors()[0], HasSubstr("input:15:15: DRAM.timing.preset: the figures of 'DDR4_3200AB'"));
  EXPECT_THAT(diags.formatted_errors()[0], HasSubstr("did you mean 'DDR4_3200A"));
}

TEST(Ramulator2, AnUnknownKeyAndAnUnknownMapper) {
  base::Diagnostics diags;
  std::string text = replaced(text_of_format_file("ramulator_preset.yaml"), "RoBaRaCoCh", "ChRaBaRoCo");
  text = replaced(text, "    plugins:", "    plugin:");
  const auto imported = import_of("ramulator2", text, diags);
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->report.unknown.size(), 2);
  EXPECT_EQ(imported->report.unknown[0].key, "Controller.plugin");
  EXPECT_EQ(imported->report.unknown[1].key, "AddrMapper.impl");
}

}  // namespace
}  // namespace tilescope::tests
