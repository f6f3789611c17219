// SPDX-License-Identifier: Apache-2.0
// Slots of requests, and responses to initiators one at a time.

#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/detail/port_responses.h"
#include "platform/detail/slots.h"

namespace tilescope::systemc {
namespace {

using testing::ElementsAre;

struct Asked {
  int number = 0;
  int next = kNoSlot;
};

TEST(Slots, AreGivenAnewOnceClosed) {
  Slots<Asked> slots;
  const int a = slots.open({.number = 1}), b = slots.open({.number = 2});
  EXPECT_NE(a, b);
  slots[a].next = b;
  std::vector<int> numbers;
  slots.visit_all_of(a, [&](int slot, const Asked& asked) {
    numbers.push_back(asked.number);
    slots.close(slot);
  });
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  const int c = slots.open({.number = 3});
  EXPECT_TRUE(c == a || c == b);
  EXPECT_EQ(slots[c].next, kNoSlot);
}

// Port 0's initiator ends its responses itself, port 1's at once.
TEST(PortResponses, WaitForTheEndOfTheOneBefore) {
  tlm::tlm_generic_payload payloads[4];
  std::vector<std::pair<int, std::ptrdiff_t>> begun;
  PortResponses<int> responses([&](int port, tlm::tlm_generic_payload& p) {
    begun.emplace_back(port, &p - payloads);
    return port == 0 ? std::nullopt : std::optional(sc_core::SC_ZERO_TIME);
  });
  responses.resize(2);
  EXPECT_EQ(responses.next(), std::nullopt);
  responses.push({5, 1, &payloads[1]}, 0);
  responses.push({5, 0, &payloads[0]}, 0);  // asked first
  responses.push({6, 2, &payloads[2]}, 1);
  responses.push({9, 3, &payloads[3]}, 1);
  EXPECT_EQ(responses.next(), 5);
  responses.run(6);
  EXPECT_THAT(begun, ElementsAre(std::pair(0, 0), std::pair(1, 2)));
  EXPECT_EQ(responses.next(), 9);
  EXPECT_EQ(responses.until_freed(), std::nullopt);
  responses.end(0, sc_core::SC_ZERO_TIME);
  EXPECT_EQ(responses.until_freed(), std::optional(sc_core::SC_ZERO_TIME));
  responses.run(7);
  EXPECT_THAT(begun, ElementsAre(std::pair(0, 0), std::pair(1, 2), std::pair(0, 1)));
}

}  // namespace
}  // namespace tilescope::systemc
