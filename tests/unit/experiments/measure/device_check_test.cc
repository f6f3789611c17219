// SPDX-License-Identifier: Apache-2.0
// The chip that is described beside the device that is there, and rows as they are kept.

#include "experiments/measure/detail/device_check.h"

#include <gmock/gmock.h>

#include "experiments/measure/rows.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

using namespace experiments;
using testing::ElementsAre;
using testing::IsEmpty;

base::Value device(const std::string& text) {
  base::Diagnostics diags;
  return base::read_json(text, diags.add_source("device"), diags).value();
}

constexpr const char* kAsDescribed =
    R"({"cores":80,"clock_khz":1380000,"block_threads":1024,"core_threads":2048,"memory_bytes":16900000000,
        "device_cache_bytes":6291456,"shared_per_block_bytes":98304,"core_registers":65536,
        "memory_clock_khz":877000,"memory_bus_bits":4096})";

TEST(DeviceCheck, SaysNothingOfTheChipThatIsDescribed) {
  EXPECT_THAT(differences(v100(), device(kAsDescribed)), IsEmpty());
}

TEST(DeviceCheck, SaysEveryDifference) {
  EXPECT_THAT(differences(v100(), device(R"({"cores":84,"clock_khz":1530000,"block_threads":1024,"core_threads":1024,
                                             "memory_bytes":33800000000,"device_cache_bytes":6291456,
                                             "shared_per_block_bytes":65536,"core_registers":65536,
                                             "memory_clock_khz":877000,"memory_bus_bits":2048})")),
              ElementsAre("SMs: the device has 84, v100 80", "clock: the device has 1530 MHz, v100 1380 MHz",
                          "threads of a core: the device has 1024, v100 2048",
                          "memory: the device has 3.38e+10 B, v100 1.71799e+10 B",
                          "shared memory of a block: the device has 65536 B, v100 98304 B",
                          "memory bandwidth: the device has 449.024 GB/s, v100 898.048 GB/s"));
}

TEST(DeviceCheck, KnowsWhichCodeRunsWhere) {
  EXPECT_EQ(target_refusal("sm_90", "9.0"), "");
  EXPECT_EQ(target_refusal("sm_80", "8.6"), "");
  EXPECT_EQ(target_refusal("sm_90a", "9.0"), "");
  EXPECT_EQ(target_refusal("sm_120", "12.1"), "");
  EXPECT_EQ(target_refusal("sm_80", "9.0"), "code for sm_80 does not run on a device of capability 9.0");
  EXPECT_NE(target_refusal("sm_86", "8.0"), "");
  EXPECT_NE(target_refusal("sm_100a", "10.3"), "");
  EXPECT_NE(target_refusal("sm_90", "10.0"), "");
  EXPECT_NE(target_refusal("gfx906", "9.0"), "");
}

TEST(KeptRows, AreReadByTheirKeys) {
  base::Diagnostics diags;
  const auto rows = read_kept_rows({"rows.jsonl", R"({"id":"a","key":"1","measured_us":12.5}

{"id":"b","key":"2","error":"lost"}
{"id":"a","key":"1","measured_us":13}
{"id":"c","ke)"},
                                   diags);
  EXPECT_TRUE(diags.ok()) << "a last line that was cut off is none";
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(number_in(rows.at("1"), "measured_us"), 13);
  EXPECT_EQ(number_in(rows.at("2"), "measured_us"), std::nullopt);
  EXPECT_EQ(text_in(rows.at("2"), "error"), "lost");
  EXPECT_EQ(text_in(rows.at("2"), "values"), "");
  const auto of_one = read_kept_rows({"rows.jsonl", R"({"key":"1","device":"A","measured_us":1}
{"key":"1","device":"B","measured_us":2}
{"key":"2","device":"B","measured_us":3})"},
                                     diags, "A");
  ASSERT_EQ(of_one.size(), 1U);
  EXPECT_EQ(number_in(of_one.at("1"), "measured_us"), 1);
}

TEST(KeptRows, SayWhatOneChipsOperatorsTake) {
  base::Diagnostics diags;
  const auto rows = read_kept_rows(
      {"rows.jsonl", R"({"key":"1","id":"C0","dtype":"f32","chip":"h200","program":"p","measured_us":5,"core_mhz":1830}
{"key":"2","id":"C0","dtype":"f32","chip":"h200","operator":"C0 f32","baseline":"cudnn","measured_us":4}
{"key":"3","id":"C0","dtype":"f32","chip":"h200","operator":"C0 f32","baseline":"cudnn-implicit","measured_us":6}
{"key":"4","id":"C0","dtype":"f32","chip":"h200","operator":"C0 f32","baseline":"copy","measured_us":1}
{"key":"5","id":"E0","dtype":"f32","chip":"h200","operator":"E0 f32","baseline":"copy","measured_us":2}
{"key":"6","id":"C0","dtype":"f16","chip":"h200","operator":"C0 f16","baseline":"cudnn","measured_us":3}
{"key":"7","id":"C0","dtype":"f32","chip":"a100","program":"q","measured_us":9}
{"key":"8","id":"C1","dtype":"f32","chip":"h200","program":"r","error":"lost"}
{"key":"0","id":"C0","dtype":"f32","chip":"h200","program":"p","l2":"warm","measured_us":1}
{"key":"9","id":"C0","dtype":"f32","chip":"h200","program":"p","l2":"warm","measured_us":1}
{"key":"c","id":"C0","dtype":"f32","chip":"h200","operator":"C0 f32","baseline":"cudnn","scale":"small","measured_us":1}
{"key":"d","id":"C0","dtype":"f32","chip":"h200","baseline":"cudnn","measured_us":1}
{"key":"a","id":"C0","dtype":"f32","chip":"h200","operator":"C0 f32","baseline":"cudnn","l2":"warm","measured_us":1}
{"key":"b","id":"read 1 longer","chip":"h200","curve":"read","l2":"cold","measured_us":1})"},
      diags);
  const MeasuredTimes times = times_in(rows, "h200");
  ASSERT_EQ(times.programs.size(), 1U);
  EXPECT_EQ(times.programs.at("p").us, 5);
  EXPECT_EQ(times.programs.at("p").core_mhz, 1830);
  ASSERT_EQ(times.libraries.size(), 3U);
  EXPECT_EQ(times.libraries.at("C0 f32").name, "cudnn");
  EXPECT_EQ(times.libraries.at("C0 f32").us, 4);
  EXPECT_EQ(times.libraries.at("C0 f16").us, 3);
  EXPECT_EQ(times.libraries.at("E0 f32").name, "copy");
}

TEST(KeptRows, MistakesHaveTheirPlace) {
  base::Diagnostics diags;
  read_kept_rows({"rows.jsonl", "{\"id\":\n{\"id\":\"a\"}\n[1]\n{\"key\":\"1\"}\n"}, diags);
  const std::vector<std::string> errors = diags.formatted_errors();
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_THAT(errors[0], testing::StartsWith("rows.jsonl:1:"));
  EXPECT_EQ(errors[1], "rows.jsonl:2:1: expected a row with its key");
  EXPECT_EQ(errors[2], "rows.jsonl:3:1: expected a row with its key");
}

}  // namespace
}  // namespace tilescope::tests
