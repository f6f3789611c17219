// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <functional>
#include <type_traits>

#include <gtest/gtest.h>

namespace tilescope::base {
namespace {

template <class Operation, class A, class B>
constexpr bool kCompiles = std::is_invocable_v<Operation, A, B>;

static_assert(!kCompiles<std::plus<>, Bytes, Cycles>, "bytes + cycles must not compile");
static_assert(!kCompiles<std::minus<>, Hertz, Cycles>, "hertz - cycles must not compile");
static_assert(!kCompiles<std::less<>, Bytes, Cycles>, "bytes < cycles must not compile");
static_assert(!kCompiles<std::equal_to<>, Bytes, Hertz>, "bytes == hertz must not compile");
static_assert(!kCompiles<std::multiplies<>, Bytes, Bytes>, "bytes * bytes must not compile");
static_assert(!kCompiles<std::plus<>, Bytes, std::int64_t>, "bytes + a bare number must not compile");
static_assert(!kCompiles<std::plus<>, Microseconds, BytesPerSecond>, "time + rate must not compile");
static_assert(!kCompiles<std::divides<>, BytesPerSecond, FlopsPerSecond>, "one rate / another must not compile");
static_assert(!std::is_convertible_v<Bytes, Cycles> && !std::is_convertible_v<Bytes, std::int64_t>);

static_assert(kCompiles<std::plus<>, Bytes, Bytes> && kCompiles<std::multiplies<>, Bytes, std::int64_t>,
              "the forbidden forms above are not forbidden for want of operators");
static_assert(kCompiles<std::plus<>, Microseconds, Microseconds> && kCompiles<std::less<>, Cycles, Cycles>);

TEST(Units, CountsAddSubtractScaleAndCompare) {
  EXPECT_EQ(Bytes{3} + Bytes{4}, Bytes{7});
  EXPECT_EQ(Bytes{3} - Bytes{4}, Bytes{-1});
  EXPECT_EQ(Bytes{3} * 4, Bytes{12});
  EXPECT_EQ(4 * Bytes{3}, Bytes{12});
  EXPECT_LT(Cycles{3}, Cycles{4});
}

TEST(Units, AmountsAddSubtractScaleAndDivide) {
  EXPECT_EQ(Microseconds{1.5} + Microseconds{2}, Microseconds{3.5});
  EXPECT_EQ(Microseconds{1.5} - Microseconds{2}, Microseconds{-0.5});
  EXPECT_EQ(Microseconds{1.5} * 2, Microseconds{3});
  EXPECT_EQ(Microseconds{3} / Microseconds{2}, 1.5);
}

TEST(Units, CyclesBecomeTimeWithoutDrift) {
  // 3 GHz has no whole period in picoseconds; an accumulated one would be 1000 ppm off.
  EXPECT_EQ(to_time(Cycles{3'000'000'000}, Hertz{3'000'000'000}), Microseconds{1e6});
  EXPECT_EQ(to_time(Cycles{138}, Hertz{1'380'000'000}), Microseconds{0.1});
}

TEST(Units, BytesBecomeTimeAtARate) { EXPECT_EQ(to_time(Bytes{1800}, BytesPerSecond{900e6}), Microseconds{2}); }

}  // namespace
}  // namespace tilescope::base
