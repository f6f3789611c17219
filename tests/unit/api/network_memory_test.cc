// SPDX-License-Identifier: Apache-2.0
// Tensors of a network in one piece of memory.

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/network/memory.h"

namespace tilescope::api {
namespace {

bool live_together(const LivingTensor& a, const LivingTensor& b) { return a.first <= b.last && b.first <= a.last; }

std::vector<LivingTensor> any_tensors() {
  std::vector<LivingTensor> out;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    const auto first = *rc::gen::inRange<std::size_t>(0, 10), length = *rc::gen::inRange<std::size_t>(0, 6);
    out.push_back({"t", *rc::gen::inRange<std::int64_t>(1, 1000), first, first + length});
  }
  return out;
}

RC_GTEST_PROP(Arena, TensorsThatLiveAtATimeDoNotOverlap, ()) {
  const std::vector<LivingTensor> tensors = any_tensors();
  const auto alignment = *rc::gen::element<std::int64_t>(1, 32, 256);
  const Arena arena = arena_of(tensors, alignment);
  std::int64_t end = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RC_ASSERT(arena.offsets[i] % alignment == 0);
    end = std::max(end, arena.offsets[i] + tensors[i].bytes);
    for (std::size_t j = 0; j < i; ++j) {
      if (!live_together(tensors[i], tensors[j])) continue;
      RC_ASSERT(arena.offsets[i] >= arena.offsets[j] + tensors[j].bytes ||
                arena.offsets[j] >= arena.offsets[i] + tensors[i].bytes);
    }
  }
  RC_ASSERT(arena.bytes == end);
}

RC_GTEST_PROP(Arena, HoldsNoLessThanIsNeededAtATime, ()) {
  const std::vector<LivingTensor> tensors = any_tensors();
  const Arena arena = arena_of(tensors, 1);
  std::int64_t most = 0;
  std::size_t at = 0;
  for (std::size_t group = 0; group < 20; ++group) {
    std::int64_t live = 0;
    for (const LivingTensor& t : tensors)
      if (t.first <= group && group <= t.last) live += t.bytes;
    if (live > most) most = live, at = group;
  }
  RC_ASSERT(arena.live_bytes == most);
  RC_ASSERT(arena.at == at);
  RC_ASSERT(arena.bytes >= most);
}

TEST(Arena, GapsAreFilledBeforeItGrows) {
  // The second lives beside both others, which do not live at a time: they share its other side.
  EXPECT_EQ(arena_of({{"a", 100, 0, 1}, {"b", 50, 1, 3}, {"c", 80, 3, 4}}, 1).bytes, 150);
}

}  // namespace
}  // namespace tilescope::api
