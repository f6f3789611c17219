// SPDX-License-Identifier: Apache-2.0
// Memory against one that keeps a record for each byte.

#include "backends/ipu_sim/detail/memory.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/random_program.h"

namespace tilescope::ipu_sim {
namespace {

using tests::any_of_range;

// The exchanges that a byte took part in last.
struct Exchanged {
  std::int64_t sent = 0, received = 0;
};

struct Plain {
  std::map<std::int64_t, std::byte> written;
  std::map<std::int64_t, Exchanged> marks;
};

template <class Holds>
std::optional<std::int64_t> first(std::int64_t address, std::int64_t bytes, const Holds& holds) {
  for (std::int64_t a = address; a < address + bytes; ++a)
    if (holds(a)) return a;
  return std::nullopt;
}

RC_GTEST_PROP(Memory, IsWhatARecordForEachByteSays, ()) {
  const std::int64_t capacity = any_of_range(1, 20000);
  const std::int64_t page = any_of_range(0, 1) == 0 ? capacity : any_of_range(1, 9000);
  Memory memory(capacity, page);
  Plain plain;
  std::int64_t exchange = 1, end = 0;
  for (int step = 0; step < 40; ++step) {
    const std::int64_t address = any_of_range(0, capacity - 1);
    const std::int64_t bytes = any_of_range(1, std::min<std::int64_t>(capacity - address, any_of_range(1, 6000)));
    RC_ASSERT(memory.has(address, bytes));
    RC_ASSERT(memory.first_unwritten(address, bytes) ==
              first(address, bytes, [&](std::int64_t a) { return !plain.written.contains(a); }));
    RC_ASSERT(memory.first_sent(address, bytes, exchange) ==
              first(address, bytes, [&](std::int64_t a) { return plain.marks[a].sent == exchange; }));
    switch (any_of_range(0, 4)) {
      case 0: {
        std::vector<std::byte> values;
        for (std::int64_t i = 0; i < bytes; ++i) {
          values.push_back(static_cast<std::byte>(any_of_range(0, 255)));
          plain.written[address + i] = values.back();
        }
        memory.write(address, values.data(), bytes);
        end = std::max(end, address + bytes);
        break;
      }
      case 1:
        memory.send(address, bytes, exchange);
        for (std::int64_t i = 0; i < bytes; ++i) plain.marks[address + i].sent = exchange;
        break;
      case 2: {
        const auto twice = first(address, bytes, [&](std::int64_t a) { return plain.marks[a].received == exchange; });
        RC_ASSERT(memory.receive(address, bytes, exchange) == twice);
        for (std::int64_t i = 0; i < bytes; ++i) plain.marks[address + i].received = exchange;
        break;
      }
      case 3:
        ++exchange;
        break;
      default:
        if (memory.first_unwritten(address, bytes)) break;
        Memory other(capacity, any_of_range(1, capacity));
        other.copy(0, memory, address, bytes);
        std::vector<std::byte> values(static_cast<std::size_t>(bytes));
        other.read(0, values.data(), bytes);
        for (std::int64_t i = 0; i < bytes; ++i)
          RC_ASSERT(values[static_cast<std::size_t>(i)] == plain.written[address + i]);
        RC_ASSERT(!other.first_unwritten(0, bytes).has_value());
    }
    RC_ASSERT(memory.end() == end);
  }
}

// What stays empty takes no memory: of a terabyte, the two pages that are touched.
TEST(Memory, OfManyPagesKeepsThoseThatAreTouched) {
  constexpr std::int64_t kCapacity = std::int64_t{1} << 40, kPage = 1 << 24;
  Memory memory(kCapacity, kPage);
  const std::vector<std::byte> two(2, std::byte{7});
  memory.write(kPage - 1, two.data(), 2);
  EXPECT_FALSE(memory.first_unwritten(kPage - 1, 2).has_value());
  EXPECT_EQ(memory.first_unwritten(kPage - 1, 3), kPage + 1);
  EXPECT_EQ(memory.first_unwritten(kCapacity - 1, 1), kCapacity - 1);
  EXPECT_TRUE(memory.has(kCapacity - 1, 1));
  EXPECT_FALSE(memory.has(kCapacity - 1, 2));
  EXPECT_FALSE(memory.has(-1, 1));
}

}  // namespace
}  // namespace tilescope::ipu_sim
