// SPDX-License-Identifier: Apache-2.0
// What cores may not do, byte by byte; sentences say where.

#include "backends/ipu_sim/detail/cores.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::ipu_sim {
namespace {

class TwoCores : public testing::Test {
 protected:
  void SetUp() override {
    cores_.write(0, 0, bytes_.data(), 7, "T");
    cores_.at_step(3);
    cores_.begin_exchange();
  }

  template <class Do>
  static std::string fault(const Do& act) {
    try {
      act();
    } catch (const Fault& f) {
      return f.what();
    }
    return "none";
  }

  std::array<std::byte, 8> bytes_{};
  Cores cores_{2, 64};
};

TEST_F(TwoCores, ReadWhatWasWritten) {
  EXPECT_EQ(fault([&] { cores_.read(0, 4, 3, "T"); }), "none");
  EXPECT_EQ(fault([&] { cores_.read(0, 4, 4, "T"); }),
            "core 0, superstep 3: T: address 7 is read and was never written");
  EXPECT_EQ(cores_.find(0, 4, 4, "T"), nullptr);
  EXPECT_EQ(fault([&] { cores_.send(1, 0, 1, "T"); }),
            "core 1, superstep 3: T: address 0 is read and was never written");
}

TEST_F(TwoCores, HaveEndsOfTheirMemory) {
  EXPECT_EQ(fault([&] { cores_.write(1, 60, bytes_.data(), 4, "T"); }), "none");
  EXPECT_EQ(cores_.used(), 64);
  EXPECT_EQ(fault([&] { cores_.write(1, 61, bytes_.data(), 4, "T"); }),
            "core 1, superstep 3: T: address 61 is outside its memory");
  EXPECT_EQ(fault([&] { cores_.receive(1, -1, 1, "T"); }), "core 1, superstep 3: T: address -1 is outside its memory");
}

// An exchange writes a byte once, and none that it reads; the next one may.
TEST_F(TwoCores, ExchangeBytesOnce) {
  cores_.send(0, 0, 4, "T");
  cores_.receive(1, 0, 4, "U");
  EXPECT_EQ(fault([&] { cores_.receive(1, 3, 2, "U"); }),
            "core 1, superstep 3: U: two writers of address 3 in one exchange");
  EXPECT_EQ(fault([&] { cores_.copy(0, 0, 1, 0, 4, "U"); }), "none");
  EXPECT_EQ(fault([&] { cores_.copy(0, 4, 0, 3, 1, "U"); }),
            "core 0, superstep 3: U: address 3 is read by the exchange that writes it");
  cores_.begin_exchange();
  EXPECT_EQ(fault([&] { cores_.receive(1, 3, 2, "U"); }), "none");
  EXPECT_EQ(fault([&] { cores_.copy(0, 4, 0, 3, 1, "U"); }), "none");
  EXPECT_EQ(fault([&] { cores_.read(1, 0, 4, "U"); }), "none");
}

}  // namespace
}  // namespace tilescope::ipu_sim
