// SPDX-License-Identifier: Apache-2.0
// The levels of arch/devices/memory against what DRAMsim3 reaches on them (facts/dram.md, 5.2 and 5.3), in percent of
// the bus's peak. The traces are those of experiments/studies/dram_agreement/traces.py.

#include <cmath>
#include <ostream>

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "arch/load.h"
#include "sim/trace.h"
#include "tests/support/paths.h"

namespace tilescope::sim {
namespace {

using Kind = Injection::Kind;

constexpr std::int64_t kSpan = std::int64_t{1} << 30;  // bytes that patterns spread over

TraceSpec spec_of(const std::string& level) {
  base::Diagnostics diags;
  const auto chip = arch::load_arch(tests::source_path("arch/devices/memory/" + level + ".yaml").string(), {}, diags);
  for (const std::string& e : diags.formatted_errors()) ADD_FAILURE() << e;
  std::string derived;
  return chip ? trace_spec(*chip, derived) : TraceSpec{};
}

std::vector<TraceRequest> sequential(std::int64_t n, std::int64_t bytes, bool write = false) {
  std::vector<TraceRequest> t;
  for (std::int64_t i = 0; i < n; ++i) t.push_back({i * bytes, bytes, write});
  return t;
}

std::vector<TraceRequest> strided(std::int64_t n, std::int64_t bytes, std::int64_t stride) {
  std::vector<TraceRequest> t;
  const std::int64_t a_round = kSpan / stride;
  for (std::int64_t i = 0; i < n; ++i) t.push_back({i % a_round * stride + i / a_round * bytes, bytes, false});
  return t;
}

// splitmix64, seeded with the bytes.
std::vector<TraceRequest> scattered(std::int64_t n, std::int64_t bytes) {
  std::vector<TraceRequest> t;
  auto x = static_cast<std::uint64_t>(bytes);
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t z = x += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    t.push_back(
        {static_cast<std::int64_t>((z >> 11) % static_cast<std::uint64_t>(kSpan / bytes)) * bytes, bytes, false});
  }
  return t;
}

double percent(const std::string& level, const std::vector<TraceRequest>& trace, const Injection& injection = {}) {
  const TraceSpec spec = spec_of(level);
  const TraceResult r = replay(trace, spec, injection);
  return 100 * static_cast<double>(r.bursts * spec.dram.clocks_per_burst()) /
         static_cast<double>(spec.channels * r.clocks);
}

// A published figure is rounded to a tenth; beyond that our controller may differ by two in a hundred, which is what
// other orders of equally old requests make.
void expect_published(double ours, double theirs) { EXPECT_NEAR(ours, theirs, 0.05 + 0.02 * theirs); }

// In-order windows of 64-byte bursts: what is asked for next decides how many channels work.
struct Windows {
  std::string level;
  std::array<double, 5> percent;  // of 1, 16, 64, 256 and 1024 bursts
};

void PrintTo(const Windows& w, std::ostream* out) { *out << w.level; }

class EachMapping : public testing::TestWithParam<Windows> {};

TEST_P(EachMapping, ServesAsManyBurstsAsItsChannelsAreTouched) {
  std::int64_t window = 1;
  for (const double theirs : GetParam().percent) {
    const double ours = percent(GetParam().level, sequential(window == 1 ? 4096 : 32768, 64), {Kind::kWindow, window});
    SCOPED_TRACE(window);
    expect_published(ours, theirs);
    window = window == 1 ? 16 : 4 * window;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachMapping,
                         testing::Values(Windows{"hbm2_8gb_x128", {1.3, 11.6, 28.6, 85.4, 92.5}},
                                         Windows{"hbm2_8gb_x128_fine", {1.1, 20.1, 77.5, 92.8, 92.7}},
                                         Windows{"hbm2_8gb_x128_ch32", {0.3, 2.9, 7.3, 24.8, 88.2}},
                                         Windows{"hbm2_8gb_x128_fine_ch32", {0.2, 4.9, 20.4, 82.4, 98.6}}),
                         [](const auto& named) { return named.param.level; });

TEST(DramDevices, RandomRowsAreBoundByTheirActivates) {
  expect_published(percent("hbm2_8gb_x128_ch1", scattered(65536, 64)), 24.6);  // tFAW
  expect_published(percent("hbm2_8gb_x128_fine_ch1", scattered(65536, 64)), 24.6);
  expect_published(percent("gddr5_8gb_x32", scattered(65536, 128)), 17.0);  // t32AW
  expect_published(percent("gddr5_8gb_x32_b32_ch8_fine", scattered(65536, 32)), 17.0);
  expect_published(percent("gddr6_8gb_x16", scattered(65536, 64)), 22.7);     // t32AW
  expect_published(percent("ddr4_8gb_x8_3200", scattered(65536, 64)), 80.5);  // the bus, and bubbles between ranks
}

// Sixteen channels and 4096 bursts each are so few that one has 3 % more than the mean.
TEST(DramDevices, RandomRowsOfManyChannelsWaitForTheFullestOne) {
  EXPECT_NEAR(percent("gddr6_8gb_x16_b16_ch16_fine", scattered(65536, 32)), 22.7, 0.05 * 22.7);
  EXPECT_NEAR(percent("hbm2_8gb_x128_fine_ch32", scattered(65536, 64)), 24.6, 0.10 * 24.6);
}

// Power-of-two strides under plain bit slices.
TEST(DramDevices, StridesCollapseToFewChannelsAndBanks) {
  expect_published(percent("hbm2_8gb_x128", strided(65536, 64, 16384)), 3.1);  // one channel of eight
  expect_published(percent("hbm2_8gb_x128_fine_ch32", strided(65536, 64, 16384)), 2.9);
  expect_published(percent("hbm2_8gb_x128_ch1", strided(65536, 64, 16384)), 7.7);  // two banks
}

// peak x (1 - tRFC / tREFI), less what it costs to close and open rows at each refresh and at each row's end: up to 2
// %.
TEST(DramDevices, StreamsReachThePeakLessRefreshes) {
  for (const char* level :
       {"hbm2_8gb_x128_ch1", "hbm2_8gb_x128_fine_ch1", "gddr5_8gb_x32", "gddr5_8gb_x32_b32_ch8_fine", "gddr6_8gb_x16",
        "gddr6_8gb_x16_b16_ch16_fine", "ddr4_8gb_x8_3200_fine"}) {
    SCOPED_TRACE(level);
    const TraceSpec spec = spec_of(level);
    // Refreshes of two ranks overlap with the other's data.
    const double lost =
        spec.dram.ranks > 1 ? 0 : static_cast<double>(spec.dram.t.rfc) / static_cast<double>(spec.dram.t.refi);
    const double ours = percent(level, sequential(32768, spec.burst_bytes * spec.channels));
    EXPECT_LE(ours, 100 * (1 - lost) + 0.1);
    EXPECT_GT(ours, 100 * (1 - lost) * (spec.dram.ranks > 1 ? 0.95 : 0.98));
  }
}

// Inside one bank group a burst takes tCCD_L of 8 instead of 4; the controller overlaps the end of one row with the
// next one's beginning, so that the bus sees between a half and two thirds.
TEST(DramDevices, ARowOfDdr4IsOneBankGroup) {
  for (const char* level : {"ddr4_8gb_x8_3200", "ddr4_8gb_x8_3200_ch4"}) {
    const double ours = percent(level, sequential(131072, 64));
    EXPECT_GE(ours, 50) << level;
    EXPECT_LE(ours, 67) << level;
  }
}

}  // namespace
}  // namespace tilescope::sim
