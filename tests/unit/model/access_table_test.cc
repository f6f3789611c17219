// SPDX-License-Identifier: Apache-2.0
// What strides say of banks and granules, and what a table remembers, against looking at every lane.

#include "model/simt/access_table.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "model/simt/cached_costs.h"
#include "tests/support/build.h"

namespace tilescope::model {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t power_of_two(std::int64_t most) { return std::int64_t{1} << in(0, most); }

 private:
  std::mt19937_64 engine_;
};

// Loops as they are drawn; the lanes are looked at by these alone.
struct Drawn {
  std::int64_t bytes = 1, lanes = 1, first = 0;
  std::vector<LaneLoop> loops;

  AccessPattern pattern() const {
    AccessPattern access(bytes, lanes, first);
    for (const LaneLoop& l : loops) access.add(l.times, l.apart);
    return access;
  }
  std::int64_t offset(std::int64_t lane) const {
    std::int64_t at = first;
    for (const LaneLoop& l : loops) {
      at += lane % l.times * l.apart;
      lane /= l.times;
    }
    return at;
  }
};

Drawn any_pattern(Draw& draw) {
  Drawn d{draw.power_of_two(4), 1, draw.in(0, 2) == 0 ? draw.in(0, 200) : 0, {}};
  const auto apart = [&] {
    switch (draw.in(0, 6)) {
      case 0:
        return std::int64_t{0};
      case 1:
        return d.bytes * draw.in(1, 4);
      case 2:
        return draw.power_of_two(12);
      case 3:
        return draw.power_of_two(40) + 4 * draw.in(0, 3);
      case 4:
        return draw.in(1, 600);
      default:
        return 4 * draw.in(1, 300);
    }
  };
  for (std::int64_t n = draw.in(0, 3); n > 0 && d.lanes <= 64; --n) {
    const std::int64_t most = 128 / d.lanes, times = draw.in(0, 1) == 0 ? draw.in(2, most) : 2 * draw.in(1, most / 2);
    d.loops.push_back({times, draw.in(0, 4) == 0 ? -apart() : apart()});
    d.lanes *= times;
  }
  if (draw.in(0, 9) == 0) d.lanes = draw.in(1, d.lanes);  // the last loops end early
  return d;
}

std::int64_t floor_of(std::int64_t a, std::int64_t n) { return a >= 0 ? a / n : -((-a + n - 1) / n); }

// Distinct units of so many bytes that some lanes touch, in order.
void touched(const Drawn& d, std::int64_t from, std::int64_t to, std::int64_t unit, std::vector<std::int64_t>& out) {
  out.clear();
  for (std::int64_t lane = from; lane < to; ++lane) {
    const std::int64_t at = d.offset(lane), last = floor_of(at + d.bytes - 1, unit);
    for (std::int64_t u = floor_of(at, unit); u <= last; ++u) out.push_back(u);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

BankUse lane_by_lane(const Drawn& d, std::int64_t banks, std::int64_t width, std::int64_t together) {
  const std::int64_t group = std::max<std::int64_t>(1, banks * width / d.bytes * together);
  BankUse use;
  std::vector<std::int64_t> words, asked;
  for (std::int64_t from = 0; from < d.lanes; from += group) {
    touched(d, from, std::min(d.lanes, from + group), width, words);
    asked.assign(static_cast<std::size_t>(banks), 0);
    for (const std::int64_t w : words) ++asked[static_cast<std::size_t>(w - floor_of(w, banks) * banks)];
    use.passes += *std::max_element(asked.begin(), asked.end());
    ++use.groups;
    use.words += static_cast<std::int64_t>(words.size());
  }
  return use;
}

std::ostream& operator<<(std::ostream& os, const Drawn& d) {
  os << d.lanes << " lanes of " << d.bytes << " B from " << d.first;
  for (const LaneLoop& l : d.loops) os << ", " << l.times << " x " << l.apart;
  return os;
}

constexpr int kPatterns = 250000;  // in each of the four parts

// A seed that is printed where nothing is wrong too.
std::uint64_t fresh_seed() {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed=" << seed << '\n';
  return seed;
}

class AccessTablePart : public testing::TestWithParam<int> {};

TEST_P(AccessTablePart, StridesSayWhatLanesAsk) {
  Draw draw(fresh_seed());
  int by_strides = 0;
  std::vector<std::int64_t> units;
  for (int i = 0; i < kPatterns; ++i) {
    const Drawn d = any_pattern(draw);
    const AccessPattern access = d.pattern();
    if (i % 4 == 0) {
      const std::int64_t granule = draw.in(0, 3) == 0 ? draw.in(1, 200) : draw.power_of_two(8);
      const auto granules = granules_of_strides(access, granule);
      by_strides += granules.has_value();
      if (!granules) continue;
      touched(d, 0, d.lanes, granule, units);
      ASSERT_EQ(*granules, static_cast<std::int64_t>(units.size())) << d << ", granules of " << granule;
      continue;
    }
    const std::int64_t banks = draw.in(0, 1) == 0 ? draw.power_of_two(9) : draw.in(1, 512);
    const std::int64_t width = draw.in(0, 3) == 0 ? draw.power_of_two(4) : 4, together = draw.in(0, 4) == 0 ? 2 : 1;
    const auto use = bank_use_of_strides(access, banks, width, together);
    by_strides += use.has_value();
    if (!use) continue;
    const BankUse expected = lane_by_lane(d, banks, width, together);
    ASSERT_TRUE(*use == expected) << d << ", " << banks << " banks of " << width << " B, " << together
                                  << " together: " << use->passes << " passes of " << use->words << " words in "
                                  << use->groups << " groups, not " << expected.passes << " of " << expected.words;
  }
  EXPECT_GT(by_strides, kPatterns / 3) << "else little has been compared";
}
INSTANTIATE_TEST_SUITE_P(AccessTable, AccessTablePart, testing::Range(0, 4));

TEST(AccessTable, RemembersWhatLanesAsk) {
  Draw draw(fresh_seed());
  for (const char* name : {"v100", "h200", "k80", "mi50"}) {
    const arch::ArchSpec chip = tests::chip(name);
    const Geometry g = make_geometry(chip);
    AccessTable table(g);
    std::vector<Drawn> all;
    std::vector<std::int64_t> units;
    for (int i = 0; i < 2000; ++i) all.push_back(any_pattern(draw));
    std::size_t after_once = 0;
    for (int times = 0; times < 2; ++times) {
      for (const Drawn& d : all) {
        const AccessPattern access = d.pattern();
        const PortUse port = table.port_use(access);
        ASSERT_TRUE(port.use == lane_by_lane(d, g.banks, g.bank_width_bytes, 1)) << name << ": " << d;
        ASSERT_EQ(port.served_passes, port_use(access, g).served_passes) << name << ": " << d;
        touched(d, 0, d.lanes, 32, units);
        ASSERT_EQ(table.granules_touched(access, 32), static_cast<std::int64_t>(units.size())) << name << ": " << d;
      }
      if (times == 0) after_once = table.enumerated();
    }
    EXPECT_GT(after_once, 0U);
    EXPECT_EQ(table.enumerated(), after_once) << "what was asked before is not looked at again";
  }
}

// Lanes that lie in no loops, and those of turned rows, are patterns of their own.
TEST(AccessTable, TellsPatternsApart) {
  const arch::ArchSpec chip = tests::chip("v100");
  AccessTable table(make_geometry(chip));
  AccessPattern column(4, 32);
  column.add(32, 128);
  EXPECT_EQ(table.port_use(column).use.passes, 32);
  AccessPattern turned = column;
  turned.turn_rows({128, 128, 4});  // each row begins a bank further on
  EXPECT_EQ(table.port_use(turned).use.passes, 1);
  turned.turn_rows({128, 128, 8});
  EXPECT_EQ(table.port_use(turned).use.passes, 2);
  WarpAccess listed{{}, 4};
  for (std::int64_t lane = 0; lane < 32; ++lane) listed.offset.push_back(lane * lane * 4);
  const BankUse squares = bank_use(listed, 32, 4);
  EXPECT_EQ(table.port_use(AccessPattern(listed)).use, squares);
  listed.offset[31] = listed.offset[30];
  EXPECT_EQ(table.port_use(AccessPattern(listed)).use.words, squares.words - 1);
}

// Loops are told from listed lanes of the same numbers; on a chip that looks at addresses where groups share words.
TEST(AccessTable, TellsLoopsFromListedLanes) {
  const arch::ArchSpec chip = tests::chip("k80");
  AccessTable table(make_geometry(chip));
  AccessPattern looped(8, 2);
  looped.add(2, 64);
  const AccessPattern listed(WarpAccess{{2, 64}, 8});
  for (const AccessPattern& access : {looped, listed}) {
    const PortUse fresh = port_use(access, make_geometry(chip));
    EXPECT_EQ(table.port_use(access).use, fresh.use);
    EXPECT_EQ(table.port_use(access).served_passes, fresh.served_passes);
  }
}

}  // namespace
}  // namespace tilescope::model
