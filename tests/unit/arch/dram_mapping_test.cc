// SPDX-License-Identifier: Apache-2.0
#include "arch/dram_mapping.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/load.h"

namespace tilescope::arch {
namespace {

// A level of 32-byte bursts, rows of 1 KiB, 2 channels, 4 groups of 4 banks.
DramLevel level(const std::string& mapping) {
  DramLevel l;
  l.name = "dram";
  l.channels = 2;
  l.width = Bytes{8};
  l.burst = 4;
  l.bank_groups = 4;
  l.banks = 16;
  l.row = Bytes{1024};
  l.mapping = mapping;
  return l;
}

const char* const kMapping = "off[0+5] ch[5+1] co[6+5] bg[11+2] ba[13+2] ro[15+15]";

std::string complaint(const std::string& mapping) {
  base::Diagnostics diags;
  EXPECT_FALSE(mapping_of(level(mapping), diags)) << mapping;
  return diags.sentences().front();
}

TEST(DramMapping, CutsAnAddressIntoItsParts) {
  base::Diagnostics diags;
  const auto m = mapping_of(level(kMapping), diags);
  ASSERT_TRUE(m) << testing::PrintToString(diags.sentences());
  const std::int64_t address = (1234LL << 15) | (2 << 13) | (3 << 11) | (17 << 6) | (1 << 5) | 9;
  EXPECT_EQ(m->value(DramPart::kRow, address), 1234);
  EXPECT_EQ(m->value(DramPart::kBank, address), 2);
  EXPECT_EQ(m->value(DramPart::kGroup, address), 3);
  EXPECT_EQ(m->value(DramPart::kColumn, address), 17);
  EXPECT_EQ(m->value(DramPart::kChannel, address), 1);
  EXPECT_EQ(m->value(DramPart::kOffset, address), 9);
}

TEST(DramMapping, PartsInSeveralFieldsHaveTheirLowerBitsFirst) {
  base::Diagnostics diags;
  const auto m = mapping_of(level("off[0+5] co[5+2] ch[7+1] bg[8+2] co[10+3] ba[13+2] ro[15+15]"), diags);
  ASSERT_TRUE(m) << testing::PrintToString(diags.sentences());
  EXPECT_EQ(m->value(DramPart::kColumn, (5 << 10) | (2 << 5)), (5 << 2) | 2);
}

// Two controllers of two pseudo-channels each, of which the folds of Ramulator's MOP4CLXOR spread columns: PC by column
// bit 0, groups by 1 and 2, banks by 3 and 4.
TEST(DramMapping, FoldsColumnsOntoSingleBitsOfBanks) {
  DramLevel l = level(
      "off[0+5] ch[5+1] co[6+2] pc[8+1] bg[9+2] ba[11+2] co[13+3] ro[16+15] pc^[6+1] bg^[7+1] bg^1[13+1] ba^[14+2]");
  l.channels = 4;
  l.pseudo_channels = 2;
  base::Diagnostics diags;
  const auto m = mapping_of(l, diags);
  ASSERT_TRUE(m) << testing::PrintToString(diags.sentences());
  std::set<std::vector<std::int64_t>> places;
  for (std::int64_t a = 0; a < 1 << 18; a += 32) {
    const std::int64_t column = (a >> 6 & 3) | (a >> 13 & 7) << 2;
    ASSERT_EQ(m->value(DramPart::kColumn, a), column);
    ASSERT_EQ(m->value(DramPart::kPseudoChannel, a), (a >> 8 & 1) ^ (column & 1));
    ASSERT_EQ(m->value(DramPart::kGroup, a), (a >> 9 & 3) ^ (column >> 1 & 3));
    ASSERT_EQ(m->value(DramPart::kBank, a), (a >> 11 & 3) ^ (column >> 3 & 3));
    std::vector<std::int64_t> place;
    for (std::size_t p = 0; p < kDramParts; ++p) place.push_back(m->value(static_cast<DramPart>(p), a));
    ASSERT_TRUE(places.insert(place).second) << a;
  }
}

// Every byte of a stretch of memory has a place of its own, folded or not.
TEST(DramMapping, IsOneToOne) {
  for (const std::string& mapping : {std::string(kMapping), std::string(kMapping) + " ch^[15+1] ch^[16+1] bg^[17+2]"}) {
    base::Diagnostics diags;
    const auto m = mapping_of(level(mapping), diags);
    ASSERT_TRUE(m) << testing::PrintToString(diags.sentences());
    std::set<std::vector<std::int64_t>> places;
    for (std::int64_t a = 0; a < 1 << 19; a += 32) {
      std::vector<std::int64_t> place;
      for (std::size_t p = 0; p < kDramParts; ++p) place.push_back(m->value(static_cast<DramPart>(p), a));
      EXPECT_TRUE(places.insert(place).second) << a;
    }
  }
}

TEST(DramMapping, FoldedBitsSpreadAStrideOverTheChannels) {
  base::Diagnostics diags;
  const auto m = mapping_of(level(std::string(kMapping) + " ch^[15+1]"), diags);
  ASSERT_TRUE(m) << testing::PrintToString(diags.sentences());
  std::map<std::int64_t, int> accesses;
  for (std::int64_t i = 0; i < 64; ++i) ++accesses[m->value(DramPart::kChannel, i << 15)];
  EXPECT_EQ(accesses[0], 32);
  EXPECT_EQ(accesses[1], 32);
}

// Every fold that is taken changes a place, bit by bit: with one bit of the address other, one bit of the part is.
RC_GTEST_PROP(DramMapping, EveryBitThatIsFoldedChangesAPlace, ()) {
  const std::vector<std::string> parts = {"off", "co", "ch", "bg", "ba", "ro"};
  std::string text = kMapping;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const int onto = *rc::gen::inRange(0, 2);
    text += fmt::format(" {}^{}[{}+{}]", *rc::gen::elementOf(parts), onto == 0 ? "" : std::to_string(onto),
                        *rc::gen::inRange(0, 32), *rc::gen::inRange(0, 3));
  }
  RC_LOG() << text << '\n';
  base::Diagnostics diags;
  const auto m = mapping_of(level(text), diags);
  RC_CLASSIFY(m.has_value(), "taken");
  if (!m) return;
  const auto with = [&](const std::vector<MappingField>& fields, DramPart part, std::int64_t address) {
    DramMapping other;
    other.fields = fields;
    return other.value(part, address);
  };
  for (std::size_t i = 0; i < m->fields.size(); ++i) {
    if (!m->fields[i].folded) continue;
    auto without = m->fields;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    const MappingField& f = m->fields[i];
    RC_ASSERT(f.width > 0);
    for (int bit = f.low; bit < f.low + f.width; ++bit) {
      const std::int64_t burst = std::int64_t{1} << bit;
      RC_ASSERT(burst % 32 == 0);
      RC_ASSERT(burst < std::int64_t{1} << 30);
      RC_ASSERT(m->value(f.part, burst) != with(without, f.part, burst));
    }
    // Together they are not what is left without some pair of them.
    for (std::size_t j = i + 1; j < m->fields.size(); ++j) {
      auto neither = m->fields;
      neither.erase(neither.begin() + static_cast<std::ptrdiff_t>(j));
      neither.erase(neither.begin() + static_cast<std::ptrdiff_t>(i));
      const MappingField& g = m->fields[j];
      if (!g.folded || g.part != f.part) continue;
      for (int bit = std::max(f.low, g.low); bit < std::min(f.low + f.width, g.low + g.width); ++bit)
        RC_ASSERT(m->value(f.part, std::int64_t{1} << bit) != with(neither, f.part, std::int64_t{1} << bit));
    }
  }
}

TEST(DramMapping, SaysWhatIsWrong) {
  EXPECT_EQ(complaint("off[0+5] ch[5+1] co[6+5] bg[11+2] ba[12+2] ro[14+15]"), "bit 12 belongs to bg and to ba");
  EXPECT_EQ(complaint("off[0+5] ch[5+1] co[7+5] bg[12+2] ba[14+2] ro[16+15]"), "bit 6 belongs to nothing");
  EXPECT_EQ(complaint("off[0+5] ch[5+1] co[6+4] bg[10+2] ba[12+2] ro[14+15]"), "co has 4 bits for 32 bursts of a row");
  EXPECT_EQ(complaint("off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+15]"), "ch has 0 bits for 2 channels");
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^[11+1]"),
            "what is folded makes the bit of bg at 11 that of others, so that addresses share a place");
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^[13+2] ba^[11+2]"),
            "what is folded makes the bit of ba at 13 that of others, so that addresses share a place");
  EXPECT_EQ(complaint(std::string(kMapping) + " ch^[15+2]"), "2 bits are folded into the 1 of ch");
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^1[15+2]"), "2 bits are folded into the 2 of bg from bit 1 on");
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^[15+0]"), "bg^[15+0] folds nothing: expected a width of 1 or more");
  EXPECT_EQ(complaint(std::string(kMapping) + " off^[15+2]"),
            "off^[15+2] folds nothing: expected a part that chooses a place, not the bytes of a burst");
  const std::string range = " folds nothing: expected bits 5 to 29, above the bytes of a burst";
  EXPECT_EQ(complaint(std::string(kMapping) + " ch^[31+1]"), "bit 31 of ch^[31+1]" + range);
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^[29+2]"), "bit 30 of bg^[29+2]" + range);
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^1[4+1]"), "bit 4 of bg^1[4+1]" + range);
  EXPECT_EQ(complaint(std::string(kMapping) + " bg^[17+2] bg^1[18+1]"),
            "bg^[17+2] and bg^1[18+1] fold bit 18 into the same bit of bg, twice, which is nothing: expected it once");
  EXPECT_EQ(complaint(std::string(kMapping) + " pc[30+1]"), "pc has 1 bits for 1 pseudo-channels");
  DramLevel half = level(kMapping);
  half.capacity = base::Bytes{std::int64_t{1} << 29};
  base::Diagnostics of_half;
  EXPECT_FALSE(mapping_of(half, of_half));
  EXPECT_EQ(of_half.sentences().front(),
            "ro has rows beyond the capacity of 536870912 B: expected 29 address bits in all, got 30");
  half.capacity.n += 1;
  EXPECT_TRUE(mapping_of(half, of_half)) << "a capacity need not be a power of two";
  EXPECT_TRUE(complaint("off[0+5] ch^x[5+1]").starts_with("'ch^x[5+1]' is no field"));
  EXPECT_TRUE(complaint("off[0+5] xx[5+1]").starts_with("'xx[5+1]' is no field"));
  EXPECT_TRUE(complaint("off[0+99]").starts_with("'off[0+99]' is no field"));
}

}  // namespace
}  // namespace tilescope::arch
