// SPDX-License-Identifier: Apache-2.0
// Which threads may touch what of a block's memory, and when mbarriers say so.

#include "lower/detail/block_memory.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/detail/mbarriers.h"

namespace tilescope::lower {
namespace {

using testing::HasSubstr;

// A scratchpad array of four elements, one in memory that overlaps nothing, and a thread's registers.
Kernel small_kernel() {
  Kernel k;
  k.name = "small";
  k.threads = 2;
  k.indices = {{"block", IndexKind::kBlock, {0, 0}, {}, 1, 0}, {"thread", IndexKind::kThread, {0, 1}, {}, 1, 0}};
  k.buffers = {{"s", Space::kShared, base::Dtype::kF32, 4, -1, 0, 0},
               {"over", Space::kShared, base::Dtype::kF16, 4, -1, 0, 0},
               {"r", Space::kRegister, base::Dtype::kF32, 1, -1, 0, 0}};
  k.mbarriers = {{"full", 1, 1, 16}};
  return k;
}

class Memory : public testing::Test {
 protected:
  Memory() { memory_.begin_block(); }

  Crew crew(bool of_role, std::size_t number, std::int64_t first, std::int64_t end) const {
    return {number, of_role, first, end, Lanes(kernel_, 0, kernel_.threads), Clock(2, 0)};
  }
  template <class Do>
  static std::string mistake(const Do& what) {
    try {
      what();
    } catch (const Mistake& m) {
      return m.what();
    }
    return "";
  }

  const Kernel kernel_ = small_kernel();
  std::vector<Array> globals_;
  BlockMemory memory_{kernel_, globals_};
  Crew all_ = crew(false, 0, 0, 2);
};

TEST_F(Memory, OfAnotherThreadIsReadBehindABarrier) {
  EXPECT_THAT(mistake([&] { memory_.read(0, 1, all_, 0); }), HasSubstr("s[1] is read and no thread wrote it"));
  memory_.write(0, 1, all_, 0, 5);
  EXPECT_EQ(memory_.read(0, 1, all_, 0), 5);
  EXPECT_THAT(mistake([&] { memory_.read(0, 1, all_, 1); }), HasSubstr("without a barrier after thread 0 wrote it"));
  EXPECT_THAT(mistake([&] { memory_.write(0, 1, all_, 1, 6); }), HasSubstr("is written without a barrier"));
  memory_.synchronize(all_);
  EXPECT_EQ(memory_.read(0, 1, all_, 1), 5);
}

TEST_F(Memory, OfOverlappingArraysTheLastWrittenHolds) {
  memory_.write(0, 1, all_, 0, 5);
  memory_.write(1, 0, all_, 0, 1);
  EXPECT_EQ(memory_.read(0, 1, all_, 0), 5) << "its bytes are others";
  memory_.write(1, 2, all_, 0, 1);
  EXPECT_THAT(mistake([&] { memory_.read(0, 1, all_, 0); }), HasSubstr("no thread wrote it"));
}

TEST_F(Memory, ACopyLandsAtItsWait) {
  memory_.launch({0, 2, 0, {7, 8}}, all_);
  memory_.commit(all_);
  EXPECT_THAT(mistake([&] { memory_.read(0, 2, all_, 0); }), HasSubstr("while a copy to it is in flight"));
  memory_.wait(1, all_);
  EXPECT_THAT(mistake([&] { memory_.end_block(); }), HasSubstr("no thread waited for"));
  memory_.wait(0, all_);
  memory_.end_block();
  EXPECT_EQ(memory_.read(0, 3, all_, 0), 8);
}

TEST_F(Memory, RegistersAreAThreadsOwn) {
  memory_.write(2, 0, all_, 0, 3);
  EXPECT_EQ(memory_.sum(2, 0, 0, true), 3);
  EXPECT_THAT(mistake([&] { memory_.sum(2, 0, 1, true); }), HasSubstr("no thread wrote it"));
  all_.products_of = 2;
  EXPECT_THAT(mistake([&] { memory_.read(2, 0, all_, 0); }), HasSubstr("while products are added to it"));
}

TEST_F(Memory, OfARoleIsReadBehindThePhaseOfAnMbarrier) {
  Mbarriers mbarriers(kernel_, memory_);
  mbarriers.begin(2);
  Crew writer = crew(true, 0, 0, 1), reader = crew(true, 1, 1, 2);
  memory_.write(0, 0, writer, 0, 4);
  const MbarrierWait wait{0, {}};
  EXPECT_FALSE(mbarriers.is_over(wait, reader));
  mbarriers.arrive(MbarrierArrive{0, {}, 0}, writer);
  ASSERT_TRUE(mbarriers.is_over(wait, reader));
  EXPECT_EQ(reader.seen, (Clock{0, 0}));
  mbarriers.wait(wait, reader);
  EXPECT_EQ(reader.seen, (Clock{1, 0}));
  EXPECT_THAT(mistake([&] { mbarriers.arrive(MbarrierArrive{0, {}, 0}, writer); }), HasSubstr("phase 0 of full"));
}

TEST_F(Memory, ATmaLoadLandsWithItsPhase) {
  Mbarriers mbarriers(kernel_, memory_);
  mbarriers.begin(2);
  Crew producer = crew(true, 0, 0, 1), consumer = crew(true, 1, 1, 2);
  const TmaLoad load{{}, 0, {}};
  mbarriers.arrive(MbarrierArrive{0, {}, 8}, producer);
  mbarriers.start(load, producer);
  memory_.deliver(0, 0, producer);
  memory_.deliver(0, 1, producer);
  EXPECT_FALSE(mbarriers.is_over({0, {}}, consumer));
  mbarriers.add(load, {0, 0, 0, {1, 2}}, 8, producer);
  EXPECT_THAT(mistake([&] { mbarriers.end(); }), HasSubstr("a TMA load that no warp waited for"));
  ASSERT_TRUE(mbarriers.is_over({0, {}}, consumer));
  mbarriers.end();
  EXPECT_EQ(memory_.read(0, 1, consumer, 1), 2);
}

}  // namespace
}  // namespace tilescope::lower
