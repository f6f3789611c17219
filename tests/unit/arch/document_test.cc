// SPDX-License-Identifier: Apache-2.0
// What `arch show --json` prints: causes with their unit in the name, and what is derived from them.

#include <gtest/gtest.h>

#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using base::Value;

// The value at a path of keys; a missing one ends the test.
const Value& at(const Value& document, std::initializer_list<std::string_view> path) {
  const Value* here = &document;
  for (const std::string_view key : path) {
    const Value* next = here->find(key);
    if (next == nullptr) throw std::out_of_range(std::string(key));
    here = next;
  }
  return *here;
}

TEST(Document, NamesUnitsAndDerives) {
  const Value shown = arch::to_document(chip_of("v100"));
  EXPECT_EQ(*at(shown, {"clock_hz"}).get_if<std::int64_t>(), 1'380'000'000);
  EXPECT_EQ(*at(shown, {"memory", "smem", "capacity_bytes"}).get_if<std::int64_t>(), 98304);
  EXPECT_EQ(*at(shown, {"memory", "smem", "derived", "transaction_bytes"}).get_if<std::int64_t>(), 128);
  EXPECT_DOUBLE_EQ(*at(shown, {"memory", "smem", "derived", "per_core_cycle_bytes"}).get_if<double>(), 128);
  EXPECT_DOUBLE_EQ(*at(shown, {"memory", "dram", "derived", "bandwidth_gbps"}).get_if<double>(), 898.048);
  EXPECT_DOUBLE_EQ(*at(shown, {"memory", "dram", "peak_gbps"}).get_if<double>(), 900);
  EXPECT_EQ(*at(shown, {"memory", "dram", "timing", "rc_cycles"}).get_if<std::int64_t>(), 48);
  EXPECT_DOUBLE_EQ(*at(shown, {"launch_overhead_us"}).get_if<double>(), 1.93);
  EXPECT_DOUBLE_EQ(*at(shown, {"calibration", "dram.read", "ratio"}).get_if<double>(), 0.966);
  EXPECT_GT(*at(shown, {"error_bands", "all", "rows"}).get_if<std::int64_t>(), 5'000);
  EXPECT_LT(*at(shown, {"error_bands", "all", "low"}).get_if<double>(), 1);
  EXPECT_DOUBLE_EQ(*at(shown, {"baselines", "roller-osdi22", "dram_bandwidth_gbps"}).get_if<double>(), 750);
  EXPECT_EQ(shown.find("extends"), nullptr);
}

TEST(Document, LeavesOutWhatIsUnknown) {
  const LoadedChip memory = load_text(
      "name: m\nclass: memory\nmemory: {dram: {scope: device, kind: dram, capacity: 1 GiB, clock: 1 GHz, rate: 2, "
      "channels: 8, width: 64 bit, burst: 4}}\n");
  ASSERT_TRUE(memory.chip) << memory.errors.front();
  EXPECT_EQ(memory.chip->clock, base::Hertz{1'000'000'000}) << "cycles of a memory chip are those of its dram";
  const Value shown = arch::to_document(*memory.chip);
  for (const char* absent :
       {"core", "compute", "launch_overhead_us", "clock_hz", "calibration", "error_bands", "baselines", "link"})
    EXPECT_EQ(shown.find(absent), nullptr) << absent;
  EXPECT_EQ(at(shown, {"memory", "dram"}).find("row_bytes"), nullptr);
}

}  // namespace
}  // namespace tilescope::tests
