// SPDX-License-Identifier: Apache-2.0
// Energies of counts and the clock under a limit: against a board at rest, the formula by hand, and laws over random
// counts.

#include "energy/energy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "tests/support/build.h"
#include "tests/unit/energy/parts.h"

namespace tilescope::tests {
namespace {

using arch::Hertz;
using energy::Counts;
using energy::Energy;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const arch::ArchSpec& a100_pcie() {
  static const arch::ArchSpec kChip = chip("a100_pcie");
  return kChip;
}

// Names live in the chip.
std::string_view name_of(const arch::ArchSpec& a, std::string_view level) {
  return arch::spec_of(*arch::level_named(a, level)).name;
}
std::string_view unit_of(const arch::ArchSpec& a, std::string_view instruction) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == instruction) return c.name;
  return {};
}

Counts counts_on(const arch::ArchSpec& a, double instructions, double products, double dram_bytes, double l2_bytes) {
  Counts out;
  out.instructions = instructions;
  out.add_operations(unit_of(a, "mma.bf16"), products);
  out.levels.push_back({name_of(a, "dram"), dram_bytes, 0});
  out.levels.push_back({name_of(a, "l2"), l2_bytes / 2, l2_bytes / 2});
  out.activates = dram_bytes / 1024;
  return out;
}

// yifueve/energaizer-ispass26-artifact, config/dvfs, board yz8 (MIT): measured watts of the board with nothing running.
TEST(Energy, OfABoardAtRestIsTheMeasuredOne) {
  for (const auto& [mhz, watts] : {std::pair{510, 45.3},
                                   {765, 46.4},
                                   {960, 48.0},
                                   {1050, 49.2},
                                   {1140, 51.8},
                                   {1230, 55.1},
                                   {1320, 60.6},
                                   {1410, 67.3}}) {
    const auto rest = arch::power_at_rest(a100_pcie(), *a100_pcie().power, {std::int64_t{mhz} * 1'000'000});
    ASSERT_TRUE(rest);
    EXPECT_NEAR(rest->sum().v, watts, 1.2) << mhz << " MHz";
  }
}

TEST(Energy, IsTheSumOfItsPartsByTheFormula) {
  const arch::ArchSpec& a = a100_pcie();
  const arch::EnergySpec& e = *a.energy;
  const Counts c = counts_on(a, 1e6, 1e9, 1e7, 3e7);
  const Hertz clock{1'365'000'000};
  const Energy found = energy::energy_of(a, c, clock, 100);
  const double scale = std::pow(a.power->curve.at(clock)->v / e.voltage.v, 2);
  EXPECT_NEAR(part_of(found, "instructions"), 1e6 * 32 * e.instruction.v * scale * 1e-6, 1e-6);
  EXPECT_NEAR(part_of(found, "mma.bf16"), 1e9 * e.operations.at("mma.bf16").operation.v * scale * 1e-6, 1e-6);
  EXPECT_NEAR(part_of(found, "l2"), 3e7 * e.levels.at("l2").byte.v * scale * 1e-6, 1e-6);
  const arch::LevelEnergy& dram = e.levels.at("dram");
  EXPECT_NEAR(part_of(found, "dram"),
              (1e7 * (dram.byte.v + dram.chip->v * scale) + 1e7 / 1024 * dram.activate->v) * 1e-6, 1e-6);
  const double rest = part_of(found, "rest") + part_of(found, "leakage") + part_of(found, "clock tree");
  EXPECT_NEAR(rest, arch::power_at_rest(a, *a.power, clock)->sum().v * 100, 1e-6);
  EXPECT_NEAR(found.power_w(), found.uj() / 100, 1e-9);
}

TEST(Energy, NamesEveryKeyThatIsMissing) {
  arch::ArchSpec a = a100_pcie();
  const Counts c = counts_on(a, 1, 1, 1, 1);
  EXPECT_THAT(energy::missing_keys(a, c), IsEmpty());
  a.energy->operations.erase("mma.bf16");
  a.energy->levels.erase("l2");
  EXPECT_THAT(energy::missing_keys(a, c),
              ElementsAre(HasSubstr("energy.operations.mma.bf16"), HasSubstr("energy.levels.l2")));
  a.clock = {3'000'000'000};
  EXPECT_THAT(energy::missing_keys(a, c), testing::Contains(HasSubstr("power.curve: a voltage at 3000 MHz")));
  a.power.reset();
  a.energy.reset();
  EXPECT_THAT(energy::missing_keys(a, c), ElementsAre(HasSubstr("power:"), HasSubstr("energy:")));
}

// Products of a matrix unit that has no fragments, and bytes between cores.
TEST(Energy, OfCoresThatExchange) {
  arch::ArchSpec a = chip("ipu_gc200");
  Counts c;
  c.add_operations(unit_of(a, "amp.f16"), 1e6);
  c.link_bytes = 1e6;
  ASSERT_THAT(energy::missing_keys(a, c), IsEmpty());
  const Energy found = energy::energy_of(a, c, a.clock, 1);
  EXPECT_NEAR(part_of(found, "amp.f16"), a.energy->operations.at("amp.f16").operation.v, 1e-9);
  EXPECT_NEAR(part_of(found, "link"), a.energy->link->v, 1e-9);
  a.energy->operations.erase("amp.f16");
  a.energy->link.reset();
  EXPECT_THAT(energy::missing_keys(a, c),
              ElementsAre(HasSubstr("energy.operations.amp.f16"), HasSubstr("energy.link")));
}

// Graphcore's page of gc-powertest: 47.5 to 49 W of a GC200 at rest.
TEST(Energy, OfAGc200AtRestIsTheMeasuredOne) {
  const arch::ArchSpec a = chip("ipu_gc200");
  EXPECT_NEAR(arch::power_at_rest(a, *a.power, a.clock)->sum().v, 48.2, 0.8);
}

RC_GTEST_PROP(Energy, EveryFigureMovesItsOwnPartAlone, ()) {
  const arch::ArchSpec& a = a100_pcie();
  const Counts c = counts_on(a, *rc::gen::inRange(1, 1'000'000), *rc::gen::inRange(1, 1'000'000'000),
                             *rc::gen::inRange(1, 100'000'000), *rc::gen::inRange(1, 100'000'000));
  arch::ArchSpec doubled = a;
  arch::EnergySpec& e = *doubled.energy;
  const std::string part = *rc::gen::element<std::string>("instructions", "mma.bf16", "l2", "leakage", "clock tree");
  if (part == "instructions") e.instruction.v *= 2;
  if (part == "mma.bf16") e.operations.at(part).operation.v *= 2;
  if (part == "l2") e.levels.at(part).byte.v *= 2;
  if (part == "leakage") doubled.power->leakage.v *= 2;
  if (part == "clock tree") doubled.power->clock_tree.v *= 2;
  const Energy before = energy::energy_of(a, c, a.clock, 50), after = energy::energy_of(doubled, c, a.clock, 50);
  for (std::size_t i = 0; i < before.parts.size(); ++i) {
    const double factor = before.parts[i].name == part ? 2 : 1;
    RC_ASSERT(std::abs(after.parts[i].uj - factor * before.parts[i].uj) <= 1e-9 * after.parts[i].uj);
  }
}

constexpr double kNear = 0.001;

// At the clock that the limit leaves the board keeps to it; a clock a hundredth higher does not, within what
// the search leaves. Of a time that is a straight line over the period two clocks say all, so that few are judged.
RC_GTEST_PROP(Limit, LeavesTheHighestClock, ()) {
  arch::ArchSpec a = a100_pcie();
  a.power->limit = arch::Watts{static_cast<double>(*rc::gen::inRange(80, 400))};
  const Counts c = counts_on(a, *rc::gen::inRange(1, 20'000'000), 1e9 * *rc::gen::inRange(1, 100),
                             *rc::gen::inRange(1, 100'000'000), *rc::gen::inRange(1, 500'000'000));
  // A part of the time goes with the clock, another does not.
  const double cycles = *rc::gen::inRange(1, 400'000), fixed_us = *rc::gen::inRange(1, 300);
  std::size_t judged = 0;
  const energy::TimeAt time_at = [&](Hertz f) {
    ++judged;
    return fixed_us + cycles / (static_cast<double>(f.n) * 1e-6);
  };
  const Energy own = energy::energy_of(a, c, a.clock, time_at(a.clock));
  judged = 0;
  const auto limited = energy::at_limit(a, c, own, time_at, kNear);
  RC_ASSERT(judged <= 4U);
  if (!limited) {
    const Hertz slowest{a.clock.n / 16};
    RC_ASSERT(energy::energy_of(a, c, slowest, time_at(slowest)).power_w() > (1 - kNear) * a.power->limit->v);
    return;
  }
  RC_ASSERT(limited->power_w() <= a.power->limit->v);
  RC_ASSERT(limited->clock <= a.clock);
  const Hertz higher{limited->clock.n + limited->clock.n / 100};
  if (higher > a.clock) return;
  RC_ASSERT(energy::energy_of(a, c, higher, time_at(higher)).power_w() > (1 - kNear) * a.power->limit->v);
}

// Simulated times have steps: a block more a core, rows that conflict.
RC_GTEST_PROP(Limit, HoldsForTimesWithSteps, ()) {
  constexpr double kNearSteps = 0.01;
  arch::ArchSpec a = a100_pcie();
  a.power->limit = arch::Watts{static_cast<double>(*rc::gen::inRange(120, 400))};
  const Counts c = counts_on(a, *rc::gen::inRange(1, 20'000'000), 1e9 * *rc::gen::inRange(1, 100),
                             *rc::gen::inRange(1, 100'000'000), *rc::gen::inRange(1, 500'000'000));
  const double cycles = *rc::gen::inRange(10'000, 400'000), ripple = 0.01 * *rc::gen::inRange(0, 3);
  const energy::TimeAt time_at = [&](Hertz f) {
    return cycles / (static_cast<double>(f.n) * 1e-6) * (1 + ripple * static_cast<double>(f.n / 30'000'000 % 2));
  };
  const Energy own = energy::energy_of(a, c, a.clock, time_at(a.clock));
  const auto limited = energy::at_limit(a, c, own, time_at, kNearSteps);
  if (!limited) return;
  RC_ASSERT(limited->power_w() <= a.power->limit->v);
  RC_ASSERT(limited->time_us == time_at(limited->clock));
}

TEST(Limit, IsNoneWhereTheFileStatesNone) {
  arch::ArchSpec a = a100_pcie();
  a.power->limit.reset();
  const Counts c = counts_on(a, 1e9, 1e12, 1e9, 1e9);
  const Energy own = energy::energy_of(a, c, a.clock, 10);
  EXPECT_EQ(energy::at_limit(a, c, own, [](Hertz) { return 10.0; }, kNear)->clock, a.clock);
}

TEST(Counts, AddByName) {
  const arch::ArchSpec& a = a100_pcie();
  Counts sum = counts_on(a, 1, 2, 3, 4);
  sum += 2.0 * counts_on(a, 10, 20, 30, 40);
  EXPECT_EQ(sum.instructions, 21);
  ASSERT_EQ(sum.operations.size(), 1U);
  EXPECT_EQ(sum.operations.front().number, 42);
  ASSERT_EQ(sum.levels.size(), 2U);
  EXPECT_EQ(sum.levels[0].read_bytes, 63);
  EXPECT_EQ(sum.levels[1].written_bytes, 42);
}

}  // namespace
}  // namespace tilescope::tests
