// SPDX-License-Identifier: Apache-2.0
// Inputs against the generator written out a second time, elements against the bytes that the other backend writes.

#include "backends/cuda/device/elements.h"

#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "expr/element_bytes.h"
#include "tests/support/float8_codes.h"

namespace tilescope::tests {
namespace {

using namespace cuda::device;
__extension__ using Wide = unsigned __int128;

// Splitmix64's finalizer on seed and index, in numbers too wide to wrap, taken modulo 2^64 by hand.
int plain_input(std::uint64_t seed, std::uint64_t index) {
  const Wide whole = Wide{1} << 64;
  Wide x = (Wide{seed} * 0xd1342543de82ef95U % whole + Wide{index} * 0x9e3779b97f4a7c15U % whole) % whole;
  const auto fold = [&](unsigned shift, std::uint64_t factor) {
    const auto low = static_cast<std::uint64_t>(x);
    x = Wide{low ^ (low >> shift)} * factor % whole;
  };
  fold(30, 0xbf58476d1ce4e5b9U);
  fold(27, 0x94d049bb133111ebU);
  return static_cast<int>(x / (Wide{1} << 32) * 9 / (Wide{1} << 32)) - 4;
}

TEST(Inputs, AreThoseOfThePlainComputation) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 7ULL, 0xffffffffffffffffULL})
    for (const std::int64_t index : {0LL, 1LL, 2LL, 1000LL, 123456789012LL})
      EXPECT_EQ(whole_input(seed, index), plain_input(seed, static_cast<std::uint64_t>(index))) << seed << " " << index;
}

TEST(Inputs, TakeEveryValueAboutAsOften) {
  constexpr int kDraws = 90000;
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[whole_input(3, i)];
  ASSERT_EQ(counts.size(), 9U);
  EXPECT_EQ(counts.begin()->first, -4);
  EXPECT_EQ(counts.rbegin()->first, 4);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, kDraws / 9.0, 400) << value;
}

TEST(Inputs, OfAnotherSeedAreOthers) {
  int equal = 0;
  for (int i = 0; i < 9000; ++i) equal += whole_input(1, i) == whole_input(2, i);
  EXPECT_NEAR(equal, 1000, 150);
}

TEST(Elements, LieInMemoryAsTheOtherBackendWritesThem) {
  for (const base::DtypeName& d : base::kDtypes)
    for (int whole = -4; whole <= 4; ++whole) {
      const double value = input_of(d.dtype, whole);
      EXPECT_EQ(value, d.dtype == base::Dtype::kU8 ? std::abs(whole) : base::is_integer(d.dtype) ? whole : whole / 4.0);
      std::array<unsigned char, 8> bytes{};
      write_element(d.dtype, value, bytes.data());
      const std::string expected = expr::to_bytes(d.dtype, {value});
      EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0) << d.name << " " << value;
      EXPECT_EQ(read_element(d.dtype, bytes.data()), value) << d.name;
    }
}

TEST(Elements, CodesOfEightBitFloatsAreThoseOfTheTable) {
  for (const Float8Format& f : kFloat8Formats) {
    const Float8Table table(f);
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<unsigned char>(code);
      const double expected = table.value(code), got = read_element(f.dtype, &byte);
      EXPECT_EQ(expr::from_bytes(f.dtype, {reinterpret_cast<const char*>(&byte), 1}).size(), 1U);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << base::name_of(f.dtype) << " " << code;
        continue;
      }
      EXPECT_EQ(got, expected) << base::name_of(f.dtype) << " " << code;
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << base::name_of(f.dtype) << " " << code;
      unsigned char back = 0;
      write_element(f.dtype, expected, &back);
      EXPECT_EQ(back, byte) << base::name_of(f.dtype) << " " << expected;
      EXPECT_EQ(expr::to_bytes(f.dtype, {expected}), std::string(1, static_cast<char>(byte)));
    }
  }
}

}  // namespace
}  // namespace tilescope::tests
