// SPDX-License-Identifier: Apache-2.0
// The reader of energy/technology: every row has a mark and a source; mistakes are reported with their places.

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/energy/costs.h"

namespace tilescope::tests {
namespace {

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

// A copy of the folder with one text replaced by another in one file.
class TechnologyFolder : public testing::Test {
 protected:
  ~TechnologyFolder() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> errors_with(const std::string& file, const std::string& was, const std::string& now) {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(source_path("energy/technology"), folder_);
    std::string text = text_of_file(folder_ / file);
    text.replace(text.find(was), was.size(), now);
    std::ofstream(folder_ / file) << text;
    base::Diagnostics diags;
    const bool read = energy::Technology::read(folder_.string(), diags).has_value();
    EXPECT_EQ(read, diags.ok());
    std::vector<std::string> errors;
    for (const std::string& e : diags.formatted_errors()) errors.push_back(e.substr(folder_.string().size() + 1));
    return errors;
  }

 private:
  std::filesystem::path folder_ = testing::TempDir() + "tilescope_technology";
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

}  // namespace
}  // namespace tilescope::tests
