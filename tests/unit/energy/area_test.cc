// SPDX-License-Identifier: Apache-2.0
// The area of dies: its laws, a die recomputed by hand, and what is refused.

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "arch/hierarchy.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/energy/costs.h"

namespace tilescope::tests {
namespace {

using arch::Override;
using testing::ElementsAre;
using testing::HasSubstr;

// Every device with a die.
std::vector<std::string> devices_with_dies() {
  std::vector<std::string> out;
  for (const arch::Device& d : arch::list_devices()) {
    base::Diagnostics diags;
    const auto a = arch::load_arch(d.path, {}, diags, arch::Use::kLook);
    if (a && a->die) out.push_back(d.name);
  }
  return out;
}

double total(const std::string& chip, const std::vector<Override>& overrides = {}) {
  return cost_of(chip, overrides).area.total_mm2;
}

TEST(Area, TheSumOfThePartsIsTheTotal) {
  EXPECT_GE(devices_with_dies().size(), 20U);
  for (const std::string& chip : devices_with_dies()) {
    SCOPED_TRACE(chip);
    const Cost cost = cost_of(chip);
    double mm2 = 0, share = 0, usd = 0;
    for (const energy::AreaPart& p : cost.area.parts) {
      EXPECT_GT(p.mm2, 0) << p.part;
      EXPECT_THAT(p.rule, testing::Not(testing::IsEmpty())) << p.part;
      EXPECT_THAT(p.source, testing::Not(testing::IsEmpty())) << p.part;
      mm2 += p.mm2;
      share += p.share;
    }
    for (const energy::PricePart& p : cost.price.parts) usd += p.usd;
    EXPECT_DOUBLE_EQ(mm2, cost.area.total_mm2);
    EXPECT_NEAR(share, 1, 1e-12);
    EXPECT_DOUBLE_EQ(usd, cost.price.total_usd);
    EXPECT_LE(cost.area.enabled_cores, cost.area.built_cores);
  }
}

// Of an A100 by hand: figures of energy/technology, times what its white paper says is built.
TEST(Area, AnA100ByHand) {
  const energy::DieArea area = cost_of("a100").area;
  const double density = 96.3, cell = 0.170e-6;
  EXPECT_NEAR(part_of(area, "schedulers").mm2, 128 * 4 * 23.886 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "f32 lanes").mm2, 128 * 64 * 0.134071 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "i32 lanes").mm2, 128 * 64 * 0.177690 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "f64 lanes").mm2, 128 * 32 * 0.685300 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "matrix units").mm2, 128 * 1024 * 0.025344 / density, 1e-6);
  const double d = 16384, w = 32, p = 4;
  const double um2 = 3.29e4 - 1.09e3 * d - 883 * w - 5.55e3 * p + 53.5 * d * w + 0.015 * d * d + 0.0108 * w * w +
                     0.586 * p * p + 142 * d * p + 368 * w * p;
  EXPECT_NEAR(part_of(area, "registers").mm2, 128 * 4 * um2 * 1e-6 * 1.6 / density, 1e-6);
  // 192 KiB is midway between 128 KiB at .704 and 256 KiB at .526.
  const double bits = (128 * 8192 / 0.704 + 256 * 8192 / 0.526) / 2;
  EXPECT_NEAR(part_of(area, "l1 and smem").mm2, 128 * bits * cell, 1e-6);
  EXPECT_NEAR(part_of(area, "smem crossbar").mm2, 128.0 * 32 * 32 * 32 * 16e-6 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "ports of the cores").mm2, 128 * 44.3 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "l2").mm2, 48.0 * 1024 * 8192 / 0.602 * cell, 1e-6);
  EXPECT_NEAR(part_of(area, "memory PHYs").mm2, 6 * 10.45, 1e-9);
  EXPECT_NEAR(part_of(area, "memory controllers").mm2, 6 * 552.743 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "NVLink3 PHYs").mm2, 12 * 1.888, 1e-9);
  EXPECT_NEAR(part_of(area, "PCIe4 controllers").mm2, 16 * 3.9625 / density, 1e-6);
  EXPECT_NEAR(part_of(area, "other").mm2, 22, 1e-9);
  EXPECT_DOUBLE_EQ(area.die_mm2 / 826 - 1, area.difference.value());
}

// LLMCompass reads 476, 76, 119, 58 and 32 mm2 from a die photograph (ae/figure6).
TEST(Area, TheGroupsOfAnA100AreThoseOfItsPhotograph) {
  const energy::DieArea area = cost_of("a100").area;
  EXPECT_NEAR(energy::area_of_group(area, "cores") / 476.25, 1, 0.02);
  EXPECT_NEAR(energy::area_of_group(area, "interconnect") / 76.44, 1, 0.25);
  EXPECT_NEAR(energy::area_of_group(area, "caches") / 119.31, 1, 0.06);
  EXPECT_NEAR(energy::area_of_group(area, "memory") / (58 + 31.77), 1, 0.10);
}

TEST(Area, MoreNeverShrinksADie) {
  struct More {
    std::string path;
    std::vector<std::string> values;  // each at least the one before
  };
  const std::vector<More> all = {
      {"core.count", {"64", "96", "107", "108", "109", "116", "128", "129", "160", "256"}},
      {"memory.smem.banks", {"16", "32", "64", "128"}},
      {"memory.reg.capacity", {"64 KiB", "128 KiB", "256 KiB", "257 KiB", "512 KiB", "1 MiB"}},
      {"memory.l2.capacity", {"2560 KiB", "20 MiB", "40 MiB", "60 MiB", "100 MiB"}},
      {"memory.l1.capacity", {"192 KiB", "256 KiB", "320 KiB", "512 KiB", "640 KiB", "1 MiB"}},
      {"memory.dram.channels", {"16", "32", "80", "96", "112"}},
      {"link.width", {"32 B", "64 B", "128 B"}},
      {"core.partitions", {"1", "2", "4", "8"}},
      {"compute.fma.f32.per_core", {"32", "64", "128"}},
      {"compute.mma.f16.per_core", {"1024", "2048", "4096"}},
      {"die.cores", {"108", "120", "128", "144"}},
      {"die.caches.l2.capacity", {"40 MiB", "48 MiB", "96 MiB"}},
      {"die.memory.built", {"5", "6", "8"}},
      {"die.other", {"1 mm2", "22 mm2", "40 mm2"}},
      {"die.links.NVLink3.count", {"4", "12", "18"}},
      {"die.node", {"5nm", "6nm", "7nm", "8nm", "12FFN", "28nm"}},
  };
  for (const More& more : all) {
    double last = 0;
    for (const std::string& value : more.values) {
      const double mm2 = total("a100", {{more.path, value}});
      EXPECT_GE(mm2, last) << more.path << "=" << value;
      last = mm2;
    }
    EXPECT_GT(last, total("a100", {{more.path, more.values.front()}})) << more.path << " changes nothing";
  }
}

TEST(Area, ALargerScratchpadGrowsTheCores) {
  double last = 0;
  for (const char* capacity : {"64 KiB", "96 KiB", "128 KiB", "256 KiB", "260 KiB", "1 MiB"}) {
    const double mm2 = total("mi50", {{"memory.smem.capacity", capacity}});
    EXPECT_GT(mm2, last) << capacity;
    last = mm2;
  }
}

TEST(Area, BanksGrowTheCrossbarBySquare) {
  const double of_32 = part_of(cost_of("a100").area, "smem crossbar").mm2;
  const double of_64 = part_of(cost_of("a100", {{"memory.smem.banks", "64"}}).area, "smem crossbar").mm2;
  EXPECT_DOUBLE_EQ(of_64, 4 * of_32);
}

TEST(Area, OverridesKeepTheShareOfSpares) {
  EXPECT_EQ(cost_of("a100", {{"core.count", "54"}}).area.built_cores, 64);
  EXPECT_EQ(cost_of("a100", {{"core.count", "54"}, {"die.cores", "60"}}).area.built_cores, 60);
  EXPECT_THAT(part_of(cost_of("a100", {{"memory.l2.capacity", "100 MiB"}}).area, "l2").rule,
              HasSubstr("120 MiB built"));
  EXPECT_THAT(part_of(cost_of("a100", {{"memory.dram.channels", "160"}}).area, "memory PHYs").rule,
              HasSubstr("HBM2 x 12 built"));
  EXPECT_EQ(cost_of("h200").area.built_cores, 144) << "a file that extends another has its die";
}

TEST(Area, ThePublishedAreaIsOfTheChipAsItsFileStatesIt) {
  EXPECT_TRUE(cost_of("a100").area.stated_mm2.has_value());
  EXPECT_FALSE(cost_of("a100", {{"memory.smem.banks", "64"}}).area.stated_mm2.has_value());
  EXPECT_TRUE(cost_of("a100", {{"clock", "1 GHz"}}).area.stated_mm2.has_value()) << "no area follows from a clock";
}

TEST(Area, DiesShareTheParts) {
  const energy::DieArea one = cost_of("a100").area, two = cost_of("a100", {{"die.dies", "2"}}).area;
  EXPECT_DOUBLE_EQ(two.total_mm2 - one.total_mm2, part_of(one, "other").mm2) << "each die has another rest";
  EXPECT_DOUBLE_EQ(two.die_mm2, two.total_mm2 / 2);
}

std::string my_chip(const std::string& die) {
  std::string text = text_of_file(source_path("docs/my_chip.yaml"));
  const std::size_t at = text.find("die: {");
  return text.replace(at, text.find('\n', at) - at, die);
}

TEST(Area, RefusesWhatNoRuleKnows) {
  EXPECT_THAT(cost_errors(my_chip("")), ElementsAre(HasSubstr("has no `die`, which area and price follow from")));
  EXPECT_THAT(cost_errors(my_chip("die: {name: MC1, node: 9nm, memory: {interface: GDDR6}}")),
              ElementsAre(HasSubstr("chip.yaml:29:24: die.node: no density of '9nm'; energy/technology/process.yaml "
                                    "knows 5nm, 4N")));
  EXPECT_THAT(cost_errors(my_chip("die: {name: MC1, node: 7nm, memory: {interface: HBM9}}")),
              ElementsAre(HasSubstr("chip.yaml:29:49: die.memory.interface: no width of an interface of 'HBM9'")));
  EXPECT_THAT(cost_errors(my_chip("die: {name: MC1, node: 7nm}")),
              ElementsAre(HasSubstr("chip.yaml:29:6: die.memory: is missing: the chip has a DRAM, dram")));
  EXPECT_THAT(cost_errors(my_chip("die: {name: MC1, node: 7nm, memory: {interface: GDDR6, built: 4}}")),
              ElementsAre(HasSubstr("die.memory.built: 4 of GDDR6 are built, and the channels of dram need 8")));
  EXPECT_THAT(
      cost_errors(my_chip("die: {name: MC1, node: 7nm, memory: {interface: GDDR6}, links: {NVLink9: {count: 1}}}")),
      ElementsAre(HasSubstr("die.links.NVLink9: no area of a link's PHY of 'NVLink9'")));
  EXPECT_THAT(
      cost_errors("extends: ipu_gc200\nname: x\ndie: {name: GC200, node: 7nm}\n"),
      testing::Contains(HasSubstr("link: cores are linked with each other, and no rule gives the area of that")));
}

TEST(Area, SaysThatPartsAreLargerThanTheDie) {
  const arch::ArchSpec a = chip_of("v100");
  base::Diagnostics diags;
  ASSERT_TRUE(energy::area_of(a, technology(), {}, diags));
  ASSERT_EQ(diags.notes().size(), 1U);
  EXPECT_THAT(diags.notes().front().text, HasSubstr("more than the 815 mm2 that are stated"));
}

}  // namespace
}  // namespace tilescope::tests
