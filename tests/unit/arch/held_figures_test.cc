// SPDX-License-Identifier: Apache-2.0
// What the figures of energies held for, while files and overrides change the chip beside them.

#include <gmock/gmock.h>

#include "arch/detail/places.h"
#include "arch/load.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using arch::HeldLevel;
using base::Bytes;
using testing::ElementsAre;
using testing::HasSubstr;

std::optional<HeldLevel> held(const arch::ArchSpec& a, const std::string& level) {
  return a.energy.value().levels.at(level).holds_for;
}

constexpr std::int64_t kMiB = 1 << 20;

TEST(HeldFigures, KeepTheGeometryThatAnOverrideChanges) {
  const arch::ArchSpec a = chip_of("a100", {{"memory.l2.capacity", "80 MiB"}, {"memory.smem.banks", "64"}});
  EXPECT_EQ(held(a, "l2"), (HeldLevel{Bytes{40 * kMiB}, {}, {}}));
  EXPECT_EQ(held(a, "smem"), (HeldLevel{{}, {}, 32}));
  EXPECT_EQ(held(a, "l1"), std::nullopt);
  EXPECT_EQ(held(chip_of("a100", {{"memory.dram.capacity", "80 GiB"}}), "dram"), std::nullopt) << "follows nothing";
}

TEST(HeldFigures, AreThoseOfTheFileWhereAChangeChangesNothing) {
  EXPECT_EQ(chip_of("a100", {{"memory.l2.capacity", "40 MiB"}, {"die.node", "7nm"}}), chip_of("a100"));
  const auto twice = chip_of("a100", {{"memory.l2.capacity", "80 MiB"}, {"memory.l2.capacity", "20 MiB"}});
  EXPECT_EQ(held(twice, "l2"), (HeldLevel{Bytes{40 * kMiB}, {}, {}}));
}

TEST(HeldFigures, AreOfTheNewLevelWhereTheyAreStatedWithIt) {
  const arch::Override capacity{"memory.l2.capacity", "80 MiB"}, byte{"energy.levels.l2.byte", "14 pJ/B"};
  for (const auto& sets : {std::vector{capacity, byte}, std::vector{byte, capacity}})
    EXPECT_EQ(held(chip_of("a100", sets), "l2"), std::nullopt);
}

TEST(HeldFigures, KeepTheProcess) {
  const arch::ArchSpec a = chip_of("a100", {{"die.node", "5nm"}});
  EXPECT_EQ(a.power.value().node, "7nm");
  EXPECT_EQ(a.energy.value().node, "7nm");
  const arch::ArchSpec own = chip_of("a100", {{"die.node", "5nm"}, {"energy.source", "mine, of 5 nm"}});
  EXPECT_EQ(own.power.value().node, "7nm");
  EXPECT_EQ(own.energy.value().node, std::nullopt) << "a source is of all figures";
  EXPECT_EQ(own.energy->residual, std::nullopt) << "it was that of the others";
  const arch::ArchSpec one = chip_of("tilescope_one");
  EXPECT_EQ(one.energy.value().node, "12FFN") << "a file that extends another one, with a die of its own";
  EXPECT_EQ(held(one, "l2"), (HeldLevel{Bytes{6 * kMiB}, {}, {}}));
}

TEST(HeldFigures, MayBeStatedByAFileItself) {
  const LoadedChip mine = load_text(
      "extends: a100\nname: mine\nmemory: {l2: {capacity: 80 MiB}}\ndie: {name: M, node: 7nm}\n"
      "energy: {node: 5nm, source: mine, levels: {l2: {byte: 9 pJ/B, holds_for: {capacity: 20 MiB}}}}\n");
  ASSERT_TRUE(mine.chip) << testing::PrintToString(mine.errors);
  EXPECT_EQ(held(*mine.chip, "l2"), (HeldLevel{Bytes{20 * kMiB}, {}, {}}));
  EXPECT_EQ(mine.chip->energy->node, "5nm");
  EXPECT_EQ(mine.chip->power->node, std::nullopt);
  const base::Value document = arch::to_document(*mine.chip);
  const base::Value* level = arch::find_at(document, {"energy", "levels", "l2", "holds_for"});
  ASSERT_NE(level, nullptr) << "what tells stored chips apart says it";
  EXPECT_EQ(base::to_json(*level), R"({"capacity_bytes":20971520})");
}

TEST(HeldFigures, AreRefusedWhereNothingFollowsFromThem) {
  const auto errors_with = [](const std::string& path, const std::string& value) {
    return load("a100", {{path, value}}).errors;
  };
  EXPECT_THAT(errors_with("energy.levels.l2.holds_for.banks", "2"), ElementsAre(HasSubstr("the level has no banks")));
  EXPECT_THAT(errors_with("energy.levels.dram.holds_for.capacity", "1 GiB"), ElementsAre(HasSubstr("of a DRAM")));
  const arch::Override energy{"energy", "{voltage: 1 V, instruction: 1 pJ, levels: {}, source: me, node: 7nm}"};
  EXPECT_THAT(load("mi300x", {energy}).errors,
              ElementsAre(HasSubstr("energy.node: the chip states no `die`, whose node")));
}

}  // namespace
}  // namespace tilescope::tests
