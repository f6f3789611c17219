// SPDX-License-Identifier: Apache-2.0
#include "energy/arrays.h"

#include <gtest/gtest.h>

#include "tests/unit/energy/costs.h"

namespace tilescope::tests {
namespace {

using base::Bytes;

TEST(Arrays, MeetTheListedEfficiencies) {
  EXPECT_DOUBLE_EQ(energy::bits_of_array(technology(), Bytes{4096}), 4096 * 8 / 0.076);
  EXPECT_DOUBLE_EQ(energy::bits_of_array(technology(), Bytes{262144}), 262144 * 8 / 0.526);
  EXPECT_DOUBLE_EQ(energy::bits_of_array(technology(), Bytes{524288}), 524288 * 8 / 0.602);
  EXPECT_DOUBLE_EQ(energy::bits_of_array(technology(), Bytes{1}), 4096 * 8 / 0.076) << "no array is smaller";
  EXPECT_DOUBLE_EQ(energy::bits_of_array(technology(), Bytes{100 * 524288}), 100 * 524288 * 8 / 0.602);
}

TEST(Arrays, ALargerOneIsNeverSmaller) {
  double last = 0;
  for (std::int64_t bytes = 256; bytes < 4 << 20; bytes += 256) {
    const double bits = energy::bits_of_array(technology(), Bytes{bytes});
    ASSERT_GE(bits, last) << bytes;
    last = bits;
  }
}

TEST(Registers, MoreAreNeverSmaller) {
  double last = 0;
  for (double registers = 1; registers < 100000; registers *= 1.1) {
    const double mm2 = energy::registers_mm2(technology(), registers, 32, 96.3);
    ASSERT_GT(mm2, last) << registers;
    last = mm2;
  }
  EXPECT_DOUBLE_EQ(energy::registers_mm2(technology(), 32768, 32, 96.3),
                   2 * energy::registers_mm2(technology(), 16384, 32, 96.3));
}

}  // namespace
}  // namespace tilescope::tests
