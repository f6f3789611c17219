// SPDX-License-Identifier: Apache-2.0
// Every figure of a chip's file counts: doubled, it moves the part that it names and no other; left out, there is no
// energy, and the key is named.

#include "energy/figures.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "energy/energy.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

// Counts to which each part of the chip's energy adds.
energy::Counts all_counts(const arch::ArchSpec& a) {
  energy::Counts out;
  out.instructions = 1e6;
  for (const auto& [name, unused] : a.energy->operations) out.add_operations(name, 1e7);
  for (const auto& [name, unused] : a.energy->levels) out.levels.push_back({name, 1e6, 2e6});
  out.activates = 1e4;
  if (a.energy->link) out.link_bytes = 1e6;
  return out;
}

energy::Energy energy_on(const arch::ArchSpec& a) { return energy::energy_of(a, all_counts(a), a.clock, 100); }

// The part that a key of `power` or `energy` names; empty where it names none.
std::string part_named_by(const std::string& key) {
  if (key == "power.board" || key == "power.channel") return "rest";
  if (key == "power.leakage") return "leakage";
  if (key == "power.clock_tree") return "clock tree";
  if (key == "energy.instruction") return "instructions";
  if (key == "energy.link") return "link";
  for (const std::string before : {"energy.operations.", "energy.levels."})
    if (key.starts_with(before)) return key.substr(before.size(), key.rfind('.') - before.size());
  return {};
}

std::string doubled(const std::string& figure) {
  std::istringstream in(figure);
  double number = 0;
  std::string unit;
  in >> number >> unit;
  return fmt::format("{} {}", 2 * number, unit);
}

std::vector<energy::EnergyFigure> figures_on(const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto figures = energy::figures_of(a, {}, diags);
  require_no_errors(diags);
  return figures->figures;
}

TEST(Figures, EachMovesThePartThatItNamesAlone) {
  for (const char* name : {"v100", "a100_pcie", "h200", "t4", "ipu_gc200"}) {
    const arch::ArchSpec a = chip(name);
    const energy::Energy before = energy_on(a);
    std::size_t named = 0;
    for (const energy::EnergyFigure& figure : figures_on(a)) {
      SCOPED_TRACE(fmt::format("{}: {} {}", name, figure.key, figure.stated));
      const energy::Energy after = energy_on(chip(name, {{figure.key, doubled(figure.stated)}}));
      const std::string moves = part_named_by(figure.key);
      named += moves.empty() ? 0 : 1;
      ASSERT_EQ(after.parts.size(), before.parts.size());
      for (std::size_t i = 0; i < before.parts.size(); ++i) {
        const energy::Part &was = before.parts[i], &is = after.parts[i];
        ASSERT_EQ(is.name, was.name);
        EXPECT_GT(was.uj, 0) << was.name;
        if (moves == was.name) {
          EXPECT_GT(is.uj, 1.001 * was.uj) << was.name;
        } else if (figure.key != "energy.voltage") {  // at which all figures of the chip are stated
          EXPECT_DOUBLE_EQ(is.uj, was.uj) << was.name;
        }
      }
    }
    EXPECT_GE(named, before.parts.size()) << name << ": a figure for each part at least";
  }
}

// A level or an instruction that programs use; `activate`, `chip` and `channel` may be absent, as the schema says.
TEST(Figures, OfLevelsAndInstructionsAreNeeded) {
  const arch::ArchSpec a = chip("a100_pcie");
  const energy::Counts counts = all_counts(a);
  for (const energy::EnergyFigure& figure : figures_on(a)) {
    arch::ArchSpec without = a;
    const std::string part = part_named_by(figure.key);
    if (without.energy->operations.erase(part) + without.energy->levels.erase(part) == 0) continue;
    const std::vector<std::string> missing = energy::missing_keys(without, counts);
    ASSERT_EQ(missing.size(), 1U) << figure.key;
    EXPECT_NE(missing.front().find(figure.key.substr(0, figure.key.rfind('.'))), std::string::npos) << missing.front();
  }
}

std::string text_of_a100() {
  std::ifstream in(arch::devices_folder() + "/a100.yaml");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Without the only line that begins with two spaces and the key.
std::string without_line(const std::string& text, const std::string& key) {
  const std::string begin = fmt::format("\n  {}: ", key);
  const std::size_t at = text.rfind(begin);
  return at == std::string::npos ? "" : text.substr(0, at) + text.substr(text.find('\n', at + 1));
}

TEST(Figures, ThatAFileLeavesOutAreNamed) {
  const std::string text = text_of_a100();
  const std::vector<std::pair<std::string, std::string>> keys = {{"power", "board"},
                                                                 {"power", "leakage"},
                                                                 {"power", "clock_tree"},
                                                                 {"energy", "voltage"},
                                                                 {"energy", "instruction"}};
  for (const auto& [section, key] : keys) {
    const std::string changed = without_line(text, key);
    ASSERT_FALSE(changed.empty()) << key;
    base::Diagnostics diags;
    EXPECT_FALSE(arch::load_arch_text(changed, "a100.yaml", {}, diags)) << key;
    const std::vector<std::string> errors = diags.formatted_errors();
    ASSERT_EQ(errors.size(), 1U) << key;
    EXPECT_NE(errors.front().find(section), std::string::npos) << errors.front();
    EXPECT_NE(errors.front().find(key), std::string::npos) << errors.front();
  }
}

}  // namespace
}  // namespace tilescope::tests
