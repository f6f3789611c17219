// SPDX-License-Identifier: Apache-2.0
// `--set`: what it reaches, what follows from it, and what it refuses.

#include "arch/override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/chip_source.h"
#include "arch/derive.h"
#include "arch/numbers.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

template <class Spec>
double gbps(const ArchSpec& chip, const Spec* level) {
  return bandwidth_of(chip, *level).v / 1e9;
}

TEST(Set, EachLevelsEffectFollowsItsCauses) {
  const ArchSpec v100 = chip_of("v100");
  const double dram = gbps(v100, dram_of(v100)), l2 = gbps(v100, device_cache_of(v100)),
               l1 = gbps(v100, core_cache_of(v100)), smem = gbps(v100, scratchpad_of(v100));
  const auto set = [](const char* path, const char* value) { return chip_of("v100", {{path, value}}); };

  const ArchSpec channels = set("memory.dram.channels", "32");
  EXPECT_DOUBLE_EQ(gbps(channels, dram_of(channels)), dram / 2);
  const ArchSpec burst = set("memory.dram.burst", "8");
  EXPECT_DOUBLE_EQ(gbps(burst, dram_of(burst)), dram);
  EXPECT_EQ(transaction_of(*dram_of(burst)), Bytes{64});
  const ArchSpec slices = set("memory.l2.slices", "32");
  EXPECT_DOUBLE_EQ(gbps(slices, device_cache_of(slices)), l2 / 2);
  const ArchSpec width = set("memory.l1.width", "64 B");
  EXPECT_DOUBLE_EQ(gbps(width, core_cache_of(width)), l1 / 2);
  const ArchSpec banks = set("memory.smem.banks", "64");
  EXPECT_DOUBLE_EQ(gbps(banks, scratchpad_of(banks)), 2 * smem);
  EXPECT_EQ(transaction_of(*scratchpad_of(banks)), Bytes{256});
  const ArchSpec registers = set("memory.reg.capacity", "128 KiB");
  EXPECT_EQ(registers_per_core(*registers_of(registers)), 32768);
  const ArchSpec clock = set("clock", "690 MHz");
  EXPECT_DOUBLE_EQ(gbps(clock, scratchpad_of(clock)), smem / 2);
  EXPECT_DOUBLE_EQ(gbps(clock, dram_of(clock)), dram);
}

TEST(Set, ReachesKeysThatContainDots) {
  EXPECT_EQ(chip_of("v100", {{"compute.fma.f32.per_core", "128"}}).compute.front().per_core, 128);
  EXPECT_EQ(chip_of("v100", {{"compute.fma.f32.shape.k", "2"}}).compute.front().k, 2);
  EXPECT_DOUBLE_EQ(ratio_of(chip_of("v100", {{"calibration.dram.read.ratio", "0.5"}}), "dram.read"), 0.5);
  EXPECT_EQ(chip_of("v100", {{"baselines.roller-osdi22.cores", "26"}}).baselines.roller_osdi22->cores, 26);
}

TEST(Set, NotesAPathThatIsSetAgain) {
  const LoadedChip twice = load("v100", {{"memory.smem.banks", "16"}, {"clock", "1 GHz"}, {"memory.smem.banks", "64"}});
  EXPECT_EQ(scratchpad_of(twice.chip.value())->banks, 64);
  EXPECT_THAT(twice.notes, Contains("--set memory.smem.banks=16: a later --set memory.smem.banks=64 takes its place"));
}

TEST(Set, ReachesKeysThatTheFileLacks) {
  EXPECT_EQ(device_cache_of(chip_of("v100", {{"memory.l2.access", "16 B"}}))->access, Bytes{16});
  EXPECT_EQ(dram_of(chip_of("v100", {{"memory.dram.timing.faw", "16 cycles"}}))->timing.at("faw"), Cycles{16});
  const ArchSpec chip = chip_of("v100", {{"calibration.l2.write.ratio", "0.5"}, {"calibration.l2.write.source", "me"}});
  EXPECT_DOUBLE_EQ(ratio_of(chip, "l2.write"), 0.5);
}

TEST(Set, DropsTheBandsOfARatioThatItChanges) {
  const Override ratio{"calibration.dram.read.ratio", "0.5"};
  const LoadedChip dropped = load("v100", {ratio});
  EXPECT_THAT(dropped.chip.value().error_bands, IsEmpty());
  EXPECT_THAT(dropped.notes,
              Contains("--set calibration.dram.read.ratio=0.5: error_bands are of other ratios and dropped"));
}

TEST(Set, BandsHoldWhereNothingIsChanged) {
  const auto hold = [](const std::string& path, const std::string& value) {
    return chip_of("v100", {{path, value}}).error_bands_hold;
  };
  EXPECT_TRUE(hold("memory.smem.banks", "32"));
  EXPECT_TRUE(hold("clock", "1380 MHz"));
  EXPECT_TRUE(hold("title", "Mine"));
  EXPECT_TRUE(hold("error_bands.pool.low", "0.7"));
  EXPECT_FALSE(hold("memory.smem.banks", "16"));
  EXPECT_FALSE(hold("clock", "1381 MHz"));
  EXPECT_FALSE(hold("core", "{count: 79}"));
  EXPECT_TRUE(chip_of("v100", {{"clock", "1 GHz"}, {"clock", "1.38 GHz"}}).error_bands_hold) << "the last one counts";
}

bool is_of_no_time(const std::string& path) {
  return path.starts_with("power.") || path.starts_with("energy.") || path.starts_with("die.");
}

// Every number of the chip that its times follow from, changed alone, makes it another one; written anew as it is, none
// does.
TEST(Set, AnyOtherNumberIsAnotherChip) {
  const ArchSpec v100 = chip_of("v100");
  base::Diagnostics diags;
  const auto source = ChipSource::read("v100", diags);
  ASSERT_TRUE(source);
  std::size_t changed = 0;
  for (const Number& n : numbers_of(v100)) {
    const LoadedChip same = load("v100", {set_to(n, n.value)});
    ASSERT_TRUE(same.chip) << n.path;
    const bool written = value_at(n.path, source->document()) != nullptr;
    EXPECT_TRUE(same.chip->error_bands_hold || !written) << n.path;
    const LoadedChip other = load("v100", {set_to(n, 2 * n.value)});
    if (!other.chip || n.path.starts_with("calibration")) continue;
    EXPECT_EQ(other.chip->error_bands_hold, is_of_no_time(n.path)) << n.path;
    ++changed;
  }
  EXPECT_GT(changed, 20U);
}

TEST(Set, KeepsBandsThatAreSetBesideRatiosInAnyOrder) {
  const Override bands{"error_bands", "{pool: {low: 0.8, high: 2.5, rows: 9, source: nowhere}}"};
  const Override ratio{"calibration.dram.read.ratio", "0.5"}, low{"error_bands.pool.low", "0.7"};
  for (const auto& sets : {std::vector{bands, low, ratio}, std::vector{ratio, bands, low}}) {
    const LoadedChip chip = load("v100", sets);
    ASSERT_EQ(chip.chip.value().error_bands.size(), 1U);
    EXPECT_DOUBLE_EQ(chip.chip->error_bands.at("pool").low, 0.7);
    EXPECT_DOUBLE_EQ(chip.chip->error_bands.at("pool").high, 2.5);
  }
}

TEST(Set, TakesWholeMapsAndLists) {
  const ArchSpec chip = chip_of("v100", {{"memory.smem", "{banks: 16, bank_width: 8 B}"}});
  EXPECT_EQ(scratchpad_of(chip)->banks, 16);
  EXPECT_EQ(scratchpad_of(chip)->capacity, Bytes{96 * 1024});
  EXPECT_EQ(chip_of("v100", {{"compute.fma.f32", "{per_core: 32}"}}).compute.front().per_core, 32);
  EXPECT_EQ(chip_of("v100", {{"compute", "[{name: fma.f16, per_core: 32}]"}}).compute.at(1).per_core, 32);
}

TEST(Set, TheLastOneCounts) {
  const ArchSpec chip = chip_of("v100", {{"memory.smem.banks", "16"}, {"memory.smem.banks", "64"}});
  EXPECT_EQ(scratchpad_of(chip)->banks, 64);
}

struct Refusal {
  const char* path;
  const char* value;
  const char* error;
};

class SetRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(SetRefuses, WithAReason) {
  const auto& [path, value, error] = GetParam();
  const LoadedChip loaded = load("v100", {{path, value}});
  EXPECT_FALSE(loaded.chip);
  EXPECT_THAT(loaded.errors, ElementsAre(std::string("--set ") + path + "=" + value + error));
}

INSTANTIATE_TEST_SUITE_P(
    Paths, SetRefuses,
    testing::Values(
        Refusal{"memory.smem.bnks", "16", ": memory.smem has no key 'bnks'; did you mean 'banks'?"},
        Refusal{"memory.l3.banks", "16", ": memory has no level 'l3'; did you mean 'l2'?"},
        Refusal{"memry.smem.banks", "16", ": the chip has no key 'memry'; did you mean 'memory'?"},
        Refusal{"compute.fma.f23.per_core", "16", ": compute has no entry 'fma.f23'; did you mean 'fma.f32'?"},
        Refusal{"compute.fma.f32.percore", "16", ": compute.fma.f32 has no key 'percore'; did you mean 'per_core'?"},
        Refusal{"calibration.dram.read.ration", "1",
                ": calibration.dram.read has no key 'ration'; did you mean 'ratio'?"},
        Refusal{"clock.domain", "16", ": clock has no key 'domain'"},
        Refusal{"extends", "k80.yaml", ": the chip has no key 'extends'"},
        Refusal{"", "16", ": the chip has no key ''"}, Refusal{"memory.smem.", "16", ": the path ends in a dot"}));

INSTANTIATE_TEST_SUITE_P(
    Values, SetRefuses,
    testing::Values(Refusal{"memory.smem.banks", "0",
                            ": memory.smem.banks: expected a whole number from 1 to 1000000000, got the number 0"},
                    Refusal{"clock", "1.5",
                            ": clock: expected a frequency such as '1.38 GHz', got the number 1.5; a unit is missing"},
                    Refusal{"clock", "", ": clock: expected a frequency such as '1.38 GHz', got nothing"},
                    Refusal{"memory.dram.ways", "4", ": memory.dram.ways: a key of a cache; this level is a dram"},
                    Refusal{"compute.fma.f32", "3", ": compute.fma.f32: expected a map, got the number 3"},
                    Refusal{"memory.l1.shares", "sme",
                            ": memory.l1.shares: no other level is named 'sme'; did you mean 'smem'?"}));

TEST(Set, EveryMistakeAtOnce) {
  const LoadedChip loaded = load("v100", {{"clok", "1 GHz"}, {"memory.smem.banks", "0"}, {"core.warp", "wide"}});
  EXPECT_EQ(loaded.errors.size(), 3U);
  EXPECT_THAT(loaded.notes, IsEmpty());
}

TEST(Set, WhatAChipSaysAtAPathIsFound) {
  base::Diagnostics diags;
  const auto source = ChipSource::read("tilescope_one", diags);
  ASSERT_TRUE(source);
  const auto said = [&](const char* path) {
    const base::Value* v = value_at(path, source->document());
    return v == nullptr ? "nothing" : base::to_json(*v);
  };
  EXPECT_EQ(said("class"), "\"gpu\"");
  EXPECT_EQ(said("compute.fma.f32.dtype"), "\"f32\"");
  EXPECT_EQ(said("compute.fma.f32.shape"), R"({"m":1,"n":1,"k":1})");
  EXPECT_EQ(said("memory.dram.scope"), "\"device\"");
  for (const char* path : {"memory.dram.title", "memory.l9.kind", "compute.fma.f8.dtype", "extends", "title.text", ""})
    EXPECT_EQ(said(path), "nothing") << path;
}

TEST(Set, AChipThatIsReadOnceGivesTheSameChipsAndMistakes) {
  base::Diagnostics diags;
  const auto source = ChipSource::read("tilescope_one", diags);  // extends another
  ASSERT_TRUE(source && diags.ok());
  for (const std::vector<Override>& overrides : std::vector<std::vector<Override>>{
           {}, {{"memory.smem.banks", "64"}, {"core.count", "40"}}, {{"memory.smem.bank", "64"}, {"core.warp", "0"}}}) {
    base::Diagnostics once, again;
    const auto expected = load_arch("tilescope_one", overrides, once);
    const auto got = source->with(overrides, again);
    ASSERT_EQ(got.has_value(), expected.has_value());
    EXPECT_EQ(again.formatted_errors(), once.formatted_errors());
    EXPECT_EQ(again.notes().size(), once.notes().size());
    if (got) {
      EXPECT_EQ(base::to_json(to_document(*got)), base::to_json(to_document(*expected)));
    }
  }
  EXPECT_FALSE(ChipSource::read("v1000", diags));
  EXPECT_EQ(diags.formatted_errors().at(0), "v1000: neither a device nor a file; did you mean 'v100'?");
}

}  // namespace
}  // namespace tilescope::tests
