// SPDX-License-Identifier: Apache-2.0
// Derived effects against arithmetic done by hand.

#include "arch/derive.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;

const Level& level(const ArchSpec& chip, std::string_view name) {
  if (const Level* found = level_named(chip, name)) return *found;
  throw std::out_of_range(std::string(name));
}

// Of a level of any kind.
double per_cycle(const ArchSpec& chip, const Level& l) {
  if (const auto* cache = std::get_if<CacheLevel>(&l)) return bytes_per_core_cycle(chip, *cache);
  return bytes_per_core_cycle(chip, std::get<ScratchpadLevel>(l));
}

const ComputeSpec& unit(const ArchSpec& chip, std::string_view name) {
  for (const ComputeSpec& c : chip.compute)
    if (c.name == name) return c;
  throw std::out_of_range(std::string(name));
}

TEST(Derive, BandwidthsOfTheV100) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_DOUBLE_EQ(bandwidth_of(v100, level(v100, "dram")).v, 877e6 * 2 * 64 * 8);  // 898.048 GB/s
  EXPECT_DOUBLE_EQ(bandwidth_of(v100, level(v100, "l2")).v, 1.38e9 * 64 * 32);
  EXPECT_DOUBLE_EQ(bandwidth_of(v100, level(v100, "l1")).v, 1.38e9 * 128 * 80);
  EXPECT_DOUBLE_EQ(bandwidth_of(v100, level(v100, "smem")).v, 1.38e9 * 32 * 4 * 80);
  EXPECT_DOUBLE_EQ(per_cycle(v100, level(v100, "smem")), 128);
  EXPECT_DOUBLE_EQ(per_cycle(v100, level(v100, "l1")), 128);
  EXPECT_DOUBLE_EQ(bandwidth_of(v100, level(v100, "reg")).v, 0);
}

TEST(Derive, BandwidthsOfTheOthers) {
  const ArchSpec k80 = chip_of("k80");
  EXPECT_DOUBLE_EQ(bandwidth_of(k80, level(k80, "dram")).v, 1252.5e6 * 4 * 12 * 4);  // 240.48 GB/s
  EXPECT_DOUBLE_EQ(per_cycle(k80, level(k80, "smem")), 256);
  const ArchSpec mi50 = chip_of("mi50");
  EXPECT_DOUBLE_EQ(bandwidth_of(mi50, level(mi50, "dram")).v, 1024e9);
  EXPECT_DOUBLE_EQ(bandwidth_of(mi50, level(mi50, "smem")).v, 1.725e9 * 128 * 60);  // 13.25 TB/s
}

// A tile's paths bound its many banks; a sweep that widens them comes to the banks in the end.
TEST(Derive, AScratchpadIsAsFastAsTheCoresPathsOrItsBanks) {
  const ArchSpec ipu = chip_of("ipu_gc2");
  EXPECT_DOUBLE_EQ(per_cycle(ipu, level(ipu, "sram")), 16 + 8);
  EXPECT_EQ(transaction_of(level(ipu, "sram")), Bytes{8}) << "one bank's word";
  const ArchSpec one_path = chip_of("ipu_gc2", {{"memory.sram.store", "4 B"}});
  EXPECT_DOUBLE_EQ(per_cycle(one_path, level(one_path, "sram")), 16 + 4);
  const ArchSpec few_banks = chip_of("ipu_gc2", {{"memory.sram.banks", "2"}});
  EXPECT_DOUBLE_EQ(per_cycle(few_banks, level(few_banks, "sram")), 2 * 8);
}

TEST(Derive, AnExchangeIsAsFastAsItsPorts) {
  const auto rate = [](const std::vector<Override>& set) {
    const ArchSpec ipu = chip_of("ipu_gc2", set);
    return bandwidth_of(ipu, ipu.link.value()).v;
  };
  EXPECT_DOUBLE_EQ(rate({}), 4.0 * 1216 * 1.6e9);
  EXPECT_DOUBLE_EQ(rate({{"link.width", "8 B"}}), 2 * rate({}));
  EXPECT_DOUBLE_EQ(rate({{"core.count", "608"}}), rate({}) / 2);
}

TEST(Derive, Peaks) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_DOUBLE_EQ(peak_of(v100, unit(v100, "fma.f32")).v, 14.1312e12);
  EXPECT_DOUBLE_EQ(peak_of(v100, unit(v100, "mma.f16")).v, 113.0496e12);
  const ArchSpec k80 = chip_of("k80");
  EXPECT_DOUBLE_EQ(peak_of(k80, unit(k80, "fma.f32")).v, 4.110912e12);
  const ArchSpec mi50 = chip_of("mi50");
  EXPECT_DOUBLE_EQ(peak_of(mi50, unit(mi50, "fma.f32")).v, 13.248e12);
}

TEST(Derive, Transactions) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_EQ(transaction_of(level(v100, "dram")), Bytes{32});
  EXPECT_EQ(transaction_of(level(v100, "l2")), Bytes{32});
  EXPECT_EQ(transaction_of(level(v100, "smem")), Bytes{128});
  EXPECT_EQ(transaction_of(level(v100, "reg")), Bytes{4});
  const ArchSpec k80 = chip_of("k80");
  EXPECT_EQ(transaction_of(level(k80, "smem")), Bytes{256});
}

TEST(Derive, FindsLevelsByWhatTheyAre) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_EQ(dram_of(v100)->name, "dram");
  EXPECT_EQ(device_cache_of(v100)->name, "l2");
  EXPECT_EQ(core_cache_of(v100)->name, "l1");
  EXPECT_EQ(scratchpad_of(v100)->name, "smem");
  EXPECT_EQ(registers_of(v100)->name, "reg");
  EXPECT_EQ(dram_of(ArchSpec{}), nullptr);
}

TEST(Derive, ScalarUnitIsTheFastestOfOneElement) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_EQ(scalar_unit_of(v100, Dtype::kF32, Dtype::kF32)->name, "fma.f32");
  EXPECT_EQ(scalar_unit_of(v100, Dtype::kF16, Dtype::kF16)->name, "fma.f16");
  EXPECT_EQ(scalar_unit_of(v100, Dtype::kF16, Dtype::kF32), nullptr) << "a fragment is no element";
  EXPECT_EQ(scalar_unit_of(v100, Dtype::kI8, Dtype::kI32), nullptr) << "four products are no element";
}

TEST(Derive, RatiosAndLimits) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_DOUBLE_EQ(ratio_of(v100, "dram.read"), 0.966);
  EXPECT_DOUBLE_EQ(ratio_of(v100, "smem.write"), 1);
  EXPECT_EQ(registers_per_core(*registers_of(v100)), 65536);
  EXPECT_EQ(scratchpad_per_block(*scratchpad_of(v100)), Bytes{96 * 1024});
  ScratchpadLevel whole = *scratchpad_of(v100);
  whole.per_block.reset();
  EXPECT_EQ(scratchpad_per_block(whole), whole.capacity);
}

TEST(Derive, BytesACoreCycleAreOfCoreLevels) {
  const ArchSpec v100 = chip_of("v100");
  EXPECT_THROW(per_cycle(v100, level(v100, "l2")), base::InternalError);
}

TEST(Derive, ALevelMayHaveItsOwnClock) {
  const ArchSpec chip = chip_of("v100", {{"memory.l1.clock", "690 MHz"}});
  EXPECT_DOUBLE_EQ(per_cycle(chip, level(chip, "l1")), 64);
}

}  // namespace
}  // namespace tilescope::tests
