// SPDX-License-Identifier: Apache-2.0
// How energies follow the geometry of levels and the process: by hand from the tables, and laws over random arrays.

#include "energy/scaling.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "energy/array_energy.h"
#include "energy/energy.h"
#include "energy/figures.h"
#include "tests/unit/energy/costs.h"
#include "tests/unit/energy/parts.h"

namespace tilescope::tests {
namespace {

using base::Bytes;
using energy::Counts;

constexpr std::int64_t kKiB = 1024;

TEST(ArrayEnergy, IsThatOfTheGrid) {
  EXPECT_NEAR(energy::cache_byte_pj({128 * kKiB}), 19.9 / 32, 1e-9);
  EXPECT_NEAR(energy::cache_byte_pj({8192 * kKiB}), 131 / 93.9 * 131 / 32, 1e-9) << "as from 2 to 4 MiB";
  const double wires = 8 * 0.2 * 32 * std::sqrt(32) * 0.000918;
  EXPECT_NEAR(energy::scratchpad_byte_pj({128 * kKiB}, 32, {4}), 1.03 / 4 + wires, 1e-9);
  EXPECT_NEAR(energy::scratchpad_byte_pj({64 * kKiB}, 32, {4}), 0.56 / 4 + wires, 1e-9);
  EXPECT_NEAR(energy::scratchpad_byte_pj({128 * kKiB}, 32, {8}), 1.26 / 8 + wires * std::sqrt(2), 1e-9);
}

RC_GTEST_PROP(ArrayEnergy, NeverFallsWithTheCapacity, ()) {
  const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 27), more = *rc::gen::inRange(1, 1 << 27);
  RC_ASSERT(energy::cache_byte_pj({bytes}) <= energy::cache_byte_pj({bytes + more}));
  const std::int64_t banks = *rc::gen::inRange(1, 129), width = *rc::gen::element(2, 4, 8, 16);
  const double pj = energy::scratchpad_byte_pj({bytes}, banks, {width});
  RC_ASSERT(std::isfinite(pj) && pj > 0);
  RC_ASSERT(pj <= energy::scratchpad_byte_pj({bytes + more}, banks, {width}));
}

std::string_view name_in(const arch::ArchSpec& a, std::string_view level) {
  return arch::spec_of(*arch::level_named(a, level)).name;
}

Counts counts_on(const arch::ArchSpec& a) {
  Counts out;
  out.instructions = 1e6;
  for (const char* level : {"dram", "l2", "l1", "smem"}) out.levels.push_back({name_in(a, level), 1e8, 1e7});
  out.activates = 1e4;
  return out;
}

energy::Energy energy_with(const std::vector<arch::Override>& overrides) {
  const arch::ArchSpec a = chip_of("a100", overrides);
  EXPECT_THAT(energy::missing_keys(a, counts_on(a)), testing::IsEmpty());
  return energy::energy_of(a, counts_on(a), a.clock, 100);
}

RC_GTEST_PROP(Scaling, OfALevelMovesItsOwnPartAloneByTheRatioOfItsArrays, ()) {
  const std::int64_t mib = 5 * *rc::gen::inRange<std::int64_t>(1, 80);  // whole sets of every slice
  const energy::Energy before = energy_with({}),
                       after = energy_with({{"memory.l2.capacity", fmt::format("{} MiB", mib)}});
  const double ratio = energy::cache_byte_pj({mib << 20}) / energy::cache_byte_pj({40 << 20});
  for (std::size_t i = 0; i < before.parts.size(); ++i)
    RC_ASSERT(std::abs(after.parts[i].uj / before.parts[i].uj / (before.parts[i].name == "l2" ? ratio : 1) - 1) < 1e-9);
}

TEST(Scaling, OfTheProcessLeavesBoardAndDram) {
  const energy::Energy at7 = energy_with({}), at5 = energy_with({{"die.node", "5nm"}});
  for (const char* part : {"leakage", "clock tree", "instructions", "l2", "l1", "smem"})
    EXPECT_NEAR(part_of(at5, part) / part_of(at7, part), 0.70, 1e-9) << part;
  EXPECT_EQ(part_of(at5, "rest"), part_of(at7, "rest"));
  const double on_chip = 1.1e8 * 14 * std::pow(0.894 / 0.694, 2) * 1e-6;
  EXPECT_NEAR(part_of(at7, "dram") - part_of(at5, "dram"), 0.30 * on_chip, 1e-6 * on_chip);
}

TEST(Scaling, NamesAProcessWithoutARule) {
  const arch::ArchSpec a = chip_of("a100", {{"die.node", "9nm"}});
  EXPECT_THAT(energy::missing_keys(a, counts_on(a)),
              testing::ElementsAre(testing::StartsWith("die.node: no energy of '9nm'; energy/technology/energy.yaml "
                                                       "knows 5nm")));
}

TEST(Figures, SayRuleAndSourceWhereTheyFollow) {
  const arch::ArchSpec a = chip_of("a100", {{"memory.smem.banks", "64"}});
  base::Diagnostics diags;
  const auto figures = energy::figures_of(a, {}, diags);
  ASSERT_TRUE(figures);
  const arch::PowerAtRest rest = arch::power_at_rest(a, *a.power, a.clock).value();
  EXPECT_NEAR(figures->rest_w, rest.sum().v, 1e-9);
  int followed = 0;
  for (const energy::EnergyFigure& f : figures->figures) {
    EXPECT_NE(f.source, "") << f.key;
    if (f.factor == 1) {
      EXPECT_EQ(f.stated, f.figure) << f.key;
      continue;
    }
    ++followed;
    EXPECT_EQ(f.key, "energy.levels.smem.byte");
    EXPECT_THAT(f.rule, testing::HasSubstr("164 KiB in 64 banks of 4 B over 164 KiB in 32 banks of 4 B"));
    EXPECT_THAT(f.source, testing::HasSubstr("CACTI 7 [C]"));
  }
  EXPECT_EQ(followed, 1);
}

TEST(Figures, AreRefusedWhereTheChipStatesNone) {
  base::Diagnostics diags;
  EXPECT_FALSE(energy::figures_of(chip_of("mi300x"), {diags.add_source("mi300x")}, diags));
  EXPECT_THAT(diags.formatted_errors(), testing::ElementsAre(testing::StartsWith("mi300x: power: what the board"),
                                                             testing::StartsWith("mi300x: energy: what")));
}

}  // namespace
}  // namespace tilescope::tests
