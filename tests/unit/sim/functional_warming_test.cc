// SPDX-License-Identifier: Apache-2.0
// Touches bring into the device's cache what no request has asked for in time: they take none and count nothing.

#include <gtest/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

struct Touched : testing::Test {
  Machine machine = machine_of(v100());
  Statistics statistics;
  DeviceMemory memory{machine.memory, statistics};
  std::int64_t lines = memory.bytes_of_caches().front() / machine.memory.shape.line,
               sector = machine.memory.shape.sector;

  MemoryReply read(std::int64_t line, Cycle at) {
    std::vector<MemoryReply> replies;
    const MemoryRequest r{.line = line, .sectors = 1, .at = at};
    memory.run({&r, 1}, {}, replies);
    if (replies.empty()) memory.run({}, at + 100000_cycles, replies);
    return replies.at(0);
  }
};

TEST_F(Touched, LinesAreThereAndNothingIsCounted) {
  memory.touch(0, 7, 1, false);
  EXPECT_EQ(statistics, Statistics{});
  EXPECT_EQ(memory.next(), std::nullopt);
  const MemoryReply hit = read(7, 1000_cycles);
  EXPECT_EQ(hit.from, Stall::kL2);
  EXPECT_LE(hit.at - 1000_cycles, machine.memory.cache_latency);
  EXPECT_EQ(statistics.level(LevelRole::kDeviceCache).hits, 1);
  EXPECT_EQ(read(7 + 1, 5000_cycles).from, Stall::kDram);
}

TEST_F(Touched, LinesHaveToLeaveForOthers) {
  memory.touch(0, 7, 1, false);
  for (std::int64_t l = 0; l < 3 * lines; ++l) memory.touch(0, 100 + l, 1, false);
  EXPECT_EQ(read(7, 1000_cycles).from, Stall::kDram);
}

// What they write waits in the cache until others drive it out, once.
TEST_F(Touched, WhatBecomesDirtyIsCleanedOnce) {
  memory.touch(0, 7, 3, true);
  memory.touch(0, 7, 1, true);
  EXPECT_EQ(memory.take_cleaned(), -2 * sector);
  for (std::int64_t l = 0; l < 3 * lines; ++l) memory.touch(0, 100 + l, 1, false);
  EXPECT_EQ(memory.take_cleaned(), 2 * sector);
  EXPECT_EQ(statistics.level(LevelRole::kDram).written_bytes, 0);
}

// Stores count what they make dirty, and what is dirty already only once.
TEST_F(Touched, StoresCountWhatTheyMakeDirty) {
  std::vector<MemoryReply> replies;
  const MemoryRequest r{.write = true, .line = 7, .sectors = 3};
  for (int i = 0; i < 2; ++i) memory.run({&r, 1}, {}, replies);
  EXPECT_EQ(statistics.dirtied_bytes, 2 * sector);
  EXPECT_EQ(statistics.level(LevelRole::kDeviceCache).written_bytes, 4 * sector);
}

}  // namespace
}  // namespace tilescope::sim
