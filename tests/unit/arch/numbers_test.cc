// SPDX-License-Identifier: Apache-2.0
// A chip's numbers: all of them, by paths that `--set` takes, written so that they read back.

#include "arch/numbers.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> paths_of(const std::vector<Number>& numbers) {
  std::vector<std::string> out;
  for (const Number& n : numbers) out.push_back(n.path);
  return out;
}

const Number& number_at(const std::vector<Number>& numbers, const std::string& path) {
  return *std::find_if(numbers.begin(), numbers.end(), [&](const Number& n) { return n.path == path; });
}

TEST(Numbers, AreCausesByTheirPaths) {
  const std::vector<std::string> paths = paths_of(numbers_of(chip_of("v100")));
  for (const char* path : {"clock", "core.count", "core.block_launch", "compute.fma.f32.per_core", "memory.dram.rate",
                           "memory.dram.timing.faw", "memory.dram.tlb.entries", "memory.l2.slices", "memory.smem.banks",
                           "memory.reg.per_thread", "link.width", "launch_overhead"})
    EXPECT_THAT(paths, Contains(path));
  EXPECT_THAT(paths, Not(Contains(testing::StartsWith("calibration"))));
  EXPECT_THAT(paths, Not(Contains(testing::StartsWith("error_bands"))));
  EXPECT_THAT(paths, Not(Contains(testing::StartsWith("baselines"))));
  EXPECT_THAT(paths, Not(Contains(HasSubstr(".shape."))));
}

TEST(Numbers, OfAnOptionalKeyAreThoseItHasWhereItIsLeftOut) {
  EXPECT_EQ(number_at(numbers_of(chip_of("v100")), "memory.dram.ranks").value, 1);
  const std::vector<std::string> paths = paths_of(numbers_of(chip_of("v100")));
  EXPECT_THAT(paths, Not(Contains("core.async_copy")));
  EXPECT_THAT(paths, Not(Contains("memory.l1.request")));
}

TEST(Numbers, AreWrittenInUnitsOfTheirSize) {
  const std::vector<Number> numbers = numbers_of(chip_of("v100"));
  const auto text = [&](const std::string& path, double value) {
    return set_to(number_at(numbers, path), value).value;
  };
  EXPECT_EQ(text("clock", 1518e6), "1.518 GHz");
  EXPECT_EQ(text("memory.dram.clock", 964.7e6), "964.7 MHz");
  EXPECT_EQ(text("memory.smem.capacity", 98304), "96 KiB");
  EXPECT_EQ(text("memory.smem.capacity", 98305), "98305 B");
  EXPECT_EQ(text("memory.dram.timing.cl", 15), "15 cycles");
  EXPECT_EQ(text("launch_overhead", 2.123), "2.123 us");
  EXPECT_EQ(text("core.count", 88), "88");
}

// A stated peak may be written shorter than it was derived; everything else is what it was.
TEST(Numbers, OfEveryDeviceReadBack) {
  for (const Device& device : list_devices()) {
    const std::vector<Number> numbers = numbers_of(chip_of(device.name));
    std::vector<Override> all;
    for (const Number& n : numbers) all.push_back(set_to(n, n.value));
    const std::vector<Number> again = numbers_of(chip_of(device.name, all));
    ASSERT_EQ(paths_of(again), paths_of(numbers)) << device.name;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_DOUBLE_EQ(again[i].value, numbers[i].value) << device.name << " " << numbers[i].path;
  }
}

}  // namespace
}  // namespace tilescope::tests
