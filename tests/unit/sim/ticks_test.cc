// SPDX-License-Identifier: Apache-2.0
// Times of two clocks do not mix, and become each other only by their ratio.

#include "sim/common/ticks.h"

#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "sim/common/cycle.h"
#include "sim/memory/clock_ratio.h"
#include "sim/memory/dram_timing.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {
namespace {

template <class Operation, class A, class B>
constexpr bool kCompiles = std::is_invocable_v<Operation, A, B>;

static_assert(!kCompiles<std::plus<>, Cycle, Clock>, "cycles + clocks must not compile");
static_assert(!kCompiles<std::minus<>, Clock, Cycle>, "clocks - cycles must not compile");
static_assert(!kCompiles<std::less<>, Cycle, Clock>, "cycles < clocks must not compile");
static_assert(!kCompiles<std::equal_to<>, Clock, Cycle>, "clocks == cycles must not compile");
static_assert(!kCompiles<std::divides<>, Clock, Cycle>, "clocks / cycles must not compile");
static_assert(!kCompiles<std::plus<>, Clock, std::int64_t>, "clocks + a bare number must not compile");
static_assert(!kCompiles<std::less<>, Clock, std::int64_t>, "clocks < a bare number must not compile");
static_assert(!kCompiles<std::multiplies<>, Clock, Clock>, "clocks * clocks must not compile");
static_assert(!kCompiles<std::multiplies<>, Clock, double>, "callers say how a product with a real is rounded");
static_assert(!std::is_convertible_v<std::int64_t, Clock> && !std::is_convertible_v<Clock, std::int64_t>);
static_assert(!std::is_convertible_v<Clock, double> && !std::is_convertible_v<Clock, bool>);
static_assert(!std::is_constructible_v<Clock, Cycle> && !std::is_constructible_v<Cycle, Clock>);
static_assert(!std::is_constructible_v<Clock, double>, "callers say how they round");
static_assert(!std::is_assignable_v<Clock&, Cycle> && !std::is_assignable_v<Clock&, std::int64_t>);

static_assert(kCompiles<std::plus<>, Clock, Clock> && kCompiles<std::less<>, Clock, Clock> &&
                  kCompiles<std::multiplies<>, Clock, std::int64_t> && std::is_constructible_v<Clock, std::int64_t>,
              "what should compile, by the same test");
static_assert(std::is_same_v<std::invoke_result_t<std::divides<>, Clock, Clock>, std::int64_t>);
static_assert(std::is_same_v<std::invoke_result_t<std::divides<>, Clock, int>, Clock>);
static_assert(std::is_trivially_copyable_v<Clock> && sizeof(Clock) == sizeof(std::int64_t));
static_assert(!std::is_convertible_v<std::unique_ptr<ForeignMemory<Clock>>, std::unique_ptr<ForeignMemory<Cycle>>>,
              "a user's memory behind the caches does not stand behind the cores");
static_assert(Clock::max().count() == std::numeric_limits<std::int64_t>::max());

TEST(Ticks, CountLikeWholeNumbers) {
  EXPECT_EQ(7_nck + 3_nck, 10_nck);
  EXPECT_EQ(7_nck - 10_nck, Clock(-3));
  EXPECT_EQ(7_nck * 3, 21_nck);
  EXPECT_EQ(3 * 7_nck, 21_nck);
  EXPECT_EQ(7_nck / 2, 3_nck);
  EXPECT_EQ(7_nck / 2_nck, 3);
  EXPECT_EQ(7_nck % 4_nck, 3_nck);
  EXPECT_EQ(std::max(7_nck, 3_nck), 7_nck);
  EXPECT_EQ(static_cast<double>(7_nck), 7.0);
  Clock t = 1_nck;
  t += 4_nck;
  t -= 2_nck;
  EXPECT_EQ((++t).count(), 4);
  EXPECT_EQ(Clock{}.count(), 0);
}

// By its definition: tick n of a clock of f hertz begins at n / f seconds.
TEST(ClockRatio, SaysWhichClockACycleBeginsInAndWhichCycleFollowsAClock) {
  constexpr unsigned kSeed = 11;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    const std::int64_t dram = 1 + below(2000), cores = 1 + below(2000), at = below(1'000'000);
    const ClockRatio ratio(base::Hertz{dram}, base::Hertz{cores});
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", draw " << i);
    const std::int64_t clock = ratio.clock_at(Cycle(at)).count();
    EXPECT_LE(clock * cores, at * dram);
    EXPECT_GT((clock + 1) * cores, at * dram);
    const std::int64_t cycle = ratio.cycle_at(Clock(at)).count();
    EXPECT_GE(cycle * dram, at * cores);
    EXPECT_LT((cycle - 1) * dram, at * cores);
    EXPECT_NEAR(ratio.cycles_of(Clock(at)),
                static_cast<double>(at) * static_cast<double>(cores) / static_cast<double>(dram), 1e-6);
  }
}

}  // namespace
}  // namespace tilescope::sim
