// SPDX-License-Identifier: Apache-2.0
// Tags and addresses: the cache against one that is written down plainly, the map as what it promises to be.

#include <algorithm>
#include <bit>
#include <list>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/sector_cache.h"
#include "tests/support/build.h"

namespace tilescope::sim {
namespace {

class WaysOfASet : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(SectorCache, WaysOfASet, testing::Values(1, 8, 24, 64, 256));

TEST_P(WaysOfASet, AreLeftByTheLeastRecentlyUsed) {
  const std::size_t ways = GetParam();
  SectorCache cache({static_cast<std::int64_t>(ways), static_cast<std::int64_t>(ways)});
  std::list<std::int64_t> recent;  // latest first
  std::map<std::int64_t, std::uint32_t> valid, dirty;
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t line = static_cast<std::int64_t>(random() % (ways + ways / 2 + 1)) * 1000;
    const auto sectors = static_cast<std::uint32_t>(1 + random() % 15);
    const SectorCache::Result r = cache.touch(line, sectors);
    const bool known = valid.contains(line);
    EXPECT_EQ(r.allocated, !known);
    EXPECT_EQ(r.missing, sectors & ~(known ? valid[line] : 0u));
    recent.remove(line);
    recent.push_front(line);
    valid[line] |= sectors;
    if (recent.size() > ways) {
      const std::int64_t out = recent.back();
      recent.pop_back();
      EXPECT_EQ(static_cast<bool>(r.victim), dirty[out] != 0);
      if (r.victim) {
        EXPECT_EQ(r.victim.line, out);
        EXPECT_EQ(r.victim.dirty, dirty[out]);
      }
      valid.erase(out);
      dirty.erase(out);
    }
    if (random() % 3 == 0) r.line->write(sectors), dirty[line] = r.line->dirty();
  }
}

TEST(SectorCache, HoldsARunOfItsOwnSizeAndNamesVictimsRightly) {
  constexpr std::int64_t kFirst = 160 * 32;  // a whole number of its 32 sets
  SectorCache cache({768, 24});
  for (std::int64_t line = kFirst; line < kFirst + 768; ++line) cache.touch(line, 1).line->write(1);
  for (std::int64_t line = kFirst; line < kFirst + 768; ++line) EXPECT_EQ(cache.touch(line, 1).missing, 0u);
  std::set<std::int64_t> out;
  for (std::int64_t line = 96000; line < 96768; ++line) out.insert(cache.touch(line, 1).victim.line);
  EXPECT_EQ(out.size(), 768u);
  EXPECT_EQ(*out.begin(), kFirst);
  EXPECT_EQ(*out.rbegin(), kFirst + 767);
}

TEST(SectorCache, OfNoLinesHoldsNothing) {
  SectorCache cache({0, 4});
  EXPECT_EQ(cache.touch(3, 5).missing, 5u);
  EXPECT_EQ(cache.touch(3, 5).missing, 5u);
}

class AddressMaps : public testing::TestWithParam<AddressMapSpec> {};

TEST_P(AddressMaps, GiveEveryLineAPlaceOfItsOwn) {
  const AddressMapSpec spec = GetParam();
  const AddressMap map(spec);
  const std::int64_t lines = spec.channels * spec.banks * spec.lines_per_row * 8 * spec.slices;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> in_row;
  std::vector<std::int64_t> in_slice(static_cast<std::size_t>(spec.slices)), in_channel;
  in_channel.resize(static_cast<std::size_t>(spec.channels));
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t slice = map.slice(line);
    EXPECT_EQ(map.line_of(slice, map.in_slice(line)), line);
    ++in_slice[static_cast<std::size_t>(slice)];
    const DramPlace p = map.dram(line);
    ++in_channel[static_cast<std::size_t>(p.channel)];
    EXPECT_LE((++in_row[{p.channel, p.bank, p.row}]), spec.lines_per_row);
  }
  for (const std::int64_t n : in_slice) EXPECT_EQ(n, lines / spec.slices);
  for (const std::int64_t n : in_channel) EXPECT_EQ(n, lines / spec.channels);
}

// Of 16 Ki lines any power of two apart, no channel has twice its share.
TEST_P(AddressMaps, KeepNoStrideInFewChannels) {
  const AddressMap map(GetParam());
  constexpr std::int64_t kLines = 1 << 14;
  for (std::int64_t stride = 1; stride <= 1 << 12; stride *= 2) {
    std::vector<std::int64_t> lines(static_cast<std::size_t>(GetParam().channels));
    for (std::int64_t n = 0; n < kLines; ++n) ++lines[static_cast<std::size_t>(map.dram(n * stride).channel)];
    EXPECT_LT(*std::max_element(lines.begin(), lines.end()), 2 * kLines / GetParam().channels) << stride;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, AddressMaps,
                         testing::Values(AddressMapSpec{64, 64, 16, 8}, AddressMapSpec{16, 64, 16, 16},
                                         AddressMapSpec{12, 12, 16, 1}, AddressMapSpec{96, 32, 4, 2},
                                         AddressMapSpec{10, 4, 2, 2}));

// Of a chip with a mapping: its bits, and slices as without one.
TEST(AddressMap, LinesLieWhereTheChipsMappingSays) {
  const arch::ArchSpec plain = tests::chip("v100");
  const arch::ArchSpec c = tests::chip(
      "v100", {{"memory.dram.mapping", "off[0+5] co[5+2] ch[7+6] co[13+3] bg[16+2] ba[18+2] ro[20+14] ch^[20+6]"}});
  std::int64_t line_bytes = 0;
  const AddressMap map(address_map_of(arch::hierarchy_of(c), line_bytes));
  const AddressMap hashed(address_map_of(arch::hierarchy_of(plain), line_bytes));
  EXPECT_EQ(line_bytes, 128);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto line = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 27)), address = line * 128;
    const DramPlace p = map.dram(line);
    EXPECT_EQ(p.channel, (address >> 7 & 63) ^ (address >> 20 & 63));
    EXPECT_EQ(p.bank, (address >> 16 & 3) * 4 + (address >> 18 & 3));
    EXPECT_EQ(p.row, address >> 20);
    EXPECT_EQ(map.slice(line), hashed.slice(line));
  }
}

TEST(AddressMap, NoPowerOfTwoStrideStaysInOneSlice) {
  const AddressMap map({64, 64, 16, 8});
  for (std::int64_t stride = 1; stride <= 1 << 16; stride *= 2) {
    std::vector<int> hits(64);
    for (std::int64_t i = 0; i < 4096; ++i) ++hits[static_cast<std::size_t>(map.slice(i * stride))];
    EXPECT_LT(*std::max_element(hits.begin(), hits.end()), 3 * 4096 / 64) << "stride " << stride;
  }
}

}  // namespace
}  // namespace tilescope::sim
