// SPDX-License-Identifier: Apache-2.0
// The reader of energy/technology: every row has a mark and a source; mistakes are reported with their places.

#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/energy/costs.h"

namespace tilescope::tests {
namespace {

using arch::Override;
using energy::Table;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TechnologyData, KnowsEveryProcessWholly) {
  for (const energy::Figure& row : technology().rows(Table::kDensity))
    for (const Table table : {Table::kSramCell, Table::kWafer, Table::kDefects})
      EXPECT_NE(technology().find(table, row.name), nullptr) << row.name;
  for (const energy::Figure& row : technology().rows(Table::kInterfaceBits))
    for (const Table table : {Table::kMemoryPhy, Table::kMemoryController, Table::kMemoryGigabyte, Table::kPackage})
      EXPECT_NE(technology().find(table, row.name), nullptr) << row.name;
  for (const energy::Figure& row : technology().rows(Table::kLinkPhy))
    EXPECT_NE(technology().find(Table::kLinkController, row.name), nullptr) << row.name;
}

TEST(TechnologyData, CarriesUnits) {
  EXPECT_DOUBLE_EQ(technology().find(Table::kSramCell, "7nm")->value, 0.17e-6);
  EXPECT_DOUBLE_EQ(technology().find(Table::kWafer, "5nm")->value, 16988);
  EXPECT_EQ(technology().find(Table::kDensity, "7nm")->cited(),
            "Khan and Mann, AI Chips, in LLMCompass cost_model [R]");
}

// A copy of the folder with one file changed.
class TechnologyFolder : public testing::Test {
 protected:
  ~TechnologyFolder() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_with(const std::string& file, const std::string& text) const {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(source_path("energy/technology"), folder_);
    std::ofstream(folder_ / file) << text;
    return folder_;
  }

  std::vector<std::string> errors_with(const std::string& file, const std::string& was, const std::string& now) {
    std::string text = text_of_file(source_path("energy/technology") / file);
    text.replace(text.find(was), was.size(), now);
    static_cast<void>(folder_with(file, text));
    base::Diagnostics diags;
    const bool read = energy::Technology::read(folder_.string(), diags).has_value();
    EXPECT_EQ(read, diags.ok());
    std::vector<std::string> errors;
    for (const std::string& e : diags.formatted_errors()) errors.push_back(e.substr(folder_.string().size() + 1));
    return errors;
  }

 private:
  std::filesystem::path folder_ = fmt::format("{}tilescope_technology.{}", testing::TempDir(), getpid());
};

TEST_F(TechnologyFolder, MistakesHavePlaces) {
  EXPECT_THAT(errors_with("process.yaml", "mark: R, source: \"Khan", "mark: X, source: \"Khan"),
              ElementsAre(testing::StartsWith("process.yaml:11:37: mark")));
  EXPECT_THAT(errors_with("process.yaml", "138.2", "-1"),
              ElementsAre(HasSubstr("density 5nm: expected a value above 0")));
  EXPECT_THAT(errors_with("process.yaml", "0.125 um2", "0.125"), ElementsAre(HasSubstr("a unit is missing")));
  EXPECT_THAT(errors_with("process.yaml", "name: 6nm", "name: 5nm"),
              ElementsAre(HasSubstr("density: two rows are named '5nm'")));
  EXPECT_THAT(errors_with("logic.yaml", "name: port_bytes", "name: port_byte"),
              ElementsAre(HasSubstr("core lacks the row 'port_bytes'")));
  EXPECT_THAT(errors_with("logic.yaml", "name: 8 KiB", "name: eight"),
              ElementsAre(HasSubstr("array_efficiency eight: the name is no capacity")));
  EXPECT_THAT(errors_with("price.yaml", "package:", "packages:"), testing::Contains(HasSubstr("package")));
}

// A chip whose area or price the row is part of.
struct Listener {
  std::string chip = "a100";
  std::vector<Override> overrides;
};

Listener listener_of(const std::string& table, const std::string& name) {
  for (const char* of_node : {"density", "sram_cell", "wafer", "defects"})
    if (table == of_node) return {"a100", {{"die.node", name}}};
  for (const char* of_memory : {"interface_bits", "memory_phy", "memory_controller", "memory_gigabyte", "package"})
    if (table == of_memory)
      return {source_path("docs/my_chip.yaml"), {{"die.memory.interface", name}, {"memory.dram.channels", "1024"}}};
  for (const char* of_links : {"link_phy", "link_controller"})
    if (table == of_links) return {"a100", {{"die.links." + name + ".count", "2"}}};
  if (table == "array_efficiency") return {"mi50", {{"memory.l1.capacity", name}}};
  if (table == "register_file") return {"mi210", {}};
  return {};
}

// Types of which the A100 has lanes, or the matrix units that need most transistors.
bool is_of_an_a100(const std::string& table, const std::string& name) {
  return table != "multiply_add" || name == "f32" || name == "f64" || name == "i32" || name == "f16";
}

// Whether the chip's area or price changes with the figures in the folder.
bool hears(const std::filesystem::path& folder, const Listener& listener) {
  base::Diagnostics diags;
  const auto changed = energy::Technology::read(folder.string(), diags);
  const auto a = arch::load_arch(listener.chip, listener.overrides, diags);
  for (const std::string& e : diags.formatted_errors()) ADD_FAILURE() << e;
  if (!changed || !a) return true;
  const auto text = [&](const energy::Technology& t) {
    const auto area = energy::area_of(*a, t, {}, diags);
    const auto price = area ? energy::price_of(*a, *area, t, diags) : std::nullopt;
    return area && price ? fmt::format("{} {}", area->total_mm2, price->total_usd) : std::string("refused");
  };
  EXPECT_NE(text(technology()), "refused") << listener.chip;
  return text(*changed) != text(technology());
}

// Every figure, doubled, changes an area or a price: no row is without effect.
TEST_F(TechnologyFolder, EveryFigureCounts) {
  std::size_t rows = 0;
  for (const char* file : {"process.yaml", "logic.yaml", "interfaces.yaml", "price.yaml"}) {
    const std::string whole = text_of_file(source_path("energy/technology") / file);
    const std::regex table("^([a-z_0-9]+):", std::regex::multiline);
    const std::regex row("name: ([^,\\n#]*[^,\\s#])[^\\n]*(?:\\n    )?[^\\n]*value: (-?[0-9.]+)");
    for (auto m = std::sregex_iterator(whole.begin(), whole.end(), row); m != std::sregex_iterator(); ++m, ++rows) {
      std::string of_table;
      const std::string above = whole.substr(0, static_cast<std::size_t>(m->position()));
      for (auto t = std::sregex_iterator(above.begin(), above.end(), table); t != std::sregex_iterator(); ++t)
        of_table = (*t)[1];
      std::string name = (*m)[1];
      name = name.substr(0, name.find("  "));
      if (!is_of_an_a100(of_table, name)) continue;
      std::string text = whole;
      text.replace(static_cast<std::size_t>(m->position(2)), static_cast<std::size_t>(m->length(2)),
                   fmt::format("{}", 2 * std::stod((*m)[2])));
      EXPECT_TRUE(hears(folder_with(file, text), listener_of(of_table, name))) << of_table << ": " << name;
    }
  }
  EXPECT_GT(rows, 100U);
}

}  // namespace
}  // namespace tilescope::tests
