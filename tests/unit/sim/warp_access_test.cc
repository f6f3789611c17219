// SPDX-License-Identifier: Apache-2.0
// Passes, sectors and lines of one access against their definitions, spelled out lane by lane.

#include "sim/memory/detail/warp_access.h"

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::sim {
namespace {

std::int64_t passes_by_definition(const LaneAddresses& a, const Banks& banks) {
  const std::int64_t group = std::max<std::int64_t>(1, banks.count * banks.width / a.bytes);
  std::int64_t passes = 0;
  for (std::int64_t first = 0; first < a.lanes; first += group) {
    std::map<std::int64_t, std::set<std::int64_t>> words_of_bank;
    for (std::int64_t l = first; l < std::min(first + group, a.lanes); ++l)
      for (std::int64_t byte = 0; a.active[static_cast<std::size_t>(l)] && byte < a.bytes; ++byte) {
        const std::int64_t word = (a.at[static_cast<std::size_t>(l)] + byte) / banks.width;
        words_of_bank[word % banks.count].insert(word);
      }
    std::size_t worst = 0;
    for (const auto& [bank, words] : words_of_bank) worst = std::max(worst, words.size());
    passes += static_cast<std::int64_t>(worst);
  }
  return passes;
}

LaneAddresses any_access() {
  LaneAddresses a;
  a.lanes = *rc::gen::element(32, 64);
  a.bytes = *rc::gen::element(1, 2, 4, 8, 16);
  const auto stride = *rc::gen::inRange<std::int64_t>(0, 70), start = *rc::gen::inRange<std::int64_t>(0, 1000);
  const bool scattered = *rc::gen::arbitrary<bool>();
  for (std::int64_t l = 0; l < a.lanes; ++l) {
    const auto i = static_cast<std::size_t>(l);
    a.active[i] = *rc::gen::inRange(0, 5) > 0;
    const std::int64_t element = scattered ? *rc::gen::inRange<std::int64_t>(0, 2000) : start + l * stride;
    a.at[i] = element * a.bytes;
  }
  return a;
}

RC_GTEST_PROP(WarpAccess, PassesAreAsDefined, ()) {
  const LaneAddresses a = any_access();
  const Banks banks{*rc::gen::element<std::int64_t>(8, 16, 32, 64), *rc::gen::element<std::int64_t>(4, 8)};
  RC_ASSERT(bank_passes(a, banks) == passes_by_definition(a, banks));
}

RC_GTEST_PROP(WarpAccess, LinesHoldExactlyTheSectorsOfActiveLanes, ()) {
  const LaneAddresses a = any_access();
  const LineShape shape{128, *rc::gen::element<std::int64_t>(32, 64, 128)};
  std::vector<std::int64_t> addresses;
  for (std::size_t l = 0; l < static_cast<std::size_t>(a.lanes); ++l)
    if (a.active[l]) addresses.push_back(a.at[l]);
  std::set<std::int64_t> expected, found;
  for (const std::int64_t at : addresses)
    for (std::int64_t byte = at; byte < at + a.bytes; ++byte) expected.insert(byte / shape.sector);
  std::set<std::int64_t> lines;
  const std::vector<Touch> touches = touched_lines(addresses, a.bytes, shape);
  for (const Touch& t : touches) {
    RC_ASSERT(lines.insert(t.line).second);
    for (std::int64_t s = 0; s < shape.line / shape.sector; ++s)
      if ((t.sectors >> s & 1u) != 0) found.insert(t.line * (shape.line / shape.sector) + s);
  }
  RC_ASSERT(found == expected);
  RC_ASSERT(sectors_of(touches) == static_cast<std::int64_t>(expected.size()));
}

// The memory of a line: the exclusive or of its number's digits where there are a power of two of them.
RC_GTEST_PROP(WarpAccess, TagPassesAreThoseOfTheFullestMemory, ()) {
  const auto banks = *rc::gen::element<std::int64_t>(2, 3, 4, 8, 16, 32, 64);
  const auto first = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50);
  std::vector<Touch> touches;
  std::map<std::int64_t, std::int64_t> lines_of;
  for (const std::int64_t l : *rc::gen::unique<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4096))) {
    if (touches.size() == 64) break;
    touches.push_back({l, 1});
    std::int64_t memory = 0;
    if (banks == 3)
      memory = (first + l) % banks;
    else
      for (std::int64_t rest = first + l; rest != 0; rest /= banks) memory ^= rest % banks;
    ++lines_of[memory];
  }
  std::int64_t fullest = 0;
  for (const auto& [memory, lines] : lines_of) fullest = std::max(fullest, lines);
  RC_ASSERT(tag_passes(first, touches, banks) == fullest);
}

TEST(WarpAccess, ColumnsOfA32WideTileConflictAndPaddingHelps) {
  LaneAddresses a;
  a.lanes = 32;
  a.bytes = 4;
  for (std::size_t l = 0; l < 32; ++l) {
    a.active[l] = true;
    a.at[l] = static_cast<std::int64_t>(l) * 32 * 4;
  }
  EXPECT_EQ(bank_passes(a, {32, 4}), 32);
  EXPECT_EQ(bank_passes(a, {8, 4}), 32);  // four groups of eight lanes, one bank each
  for (std::size_t l = 0; l < 32; ++l) a.at[l] = static_cast<std::int64_t>(l) * 33 * 4;
  EXPECT_EQ(bank_passes(a, {32, 4}), 1);
}

}  // namespace
}  // namespace tilescope::sim
