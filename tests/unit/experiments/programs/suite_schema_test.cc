// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of suite files, under a validator that shares no code with the reader.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/document.h"
#include "base/dtype.h"
#include "experiments/programs/suites.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

json schema_text() { return json::parse(text_of_file(experiments::suite_schema_path())); }

bool is_valid(const std::filesystem::path& file) {
  const json text = schema_text();
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(Adapter(text), schema);
  base::Diagnostics diags;
  const auto document = base::read_yaml(text_of_file(file), diags.add_source(file.string()), diags);
  if (!document) return false;
  const json read = json::parse(base::to_json(*document));
  return valijson::Validator().validate(schema, Adapter(read), nullptr);
}

TEST(SuiteSchema, TakesEverySuiteThatComesAlong) {
  const std::vector<std::string> files = names_in(source_path("expr/suites"), ".yaml");
  for (const std::string& name : files) EXPECT_TRUE(is_valid(source_path("expr/suites/" + name + ".yaml"))) << name;
  const auto known = experiments::suite_names();
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(known.begin(), known.end()));
}

// Mistakes that only the reader can see: expressions, values of variables, and what they come to.
const std::set<std::string> kWellFormed = {"expressions", "given", "given_to_none"};

TEST(SuiteSchema, RefusesWhatIsMalformed) {
  for (const std::string& name : names_in(source_path("tests/error/suite"), ".yaml"))
    EXPECT_EQ(is_valid(source_path("tests/error/suite/" + name + ".yaml")), kWellFormed.contains(name)) << name;
}

TEST(SuiteSchema, KnowsEveryDtype) {
  const json names = schema_text()["definitions"]["dtype"]["enum"];
  const auto known = base::dtype_names();
  EXPECT_THAT(names.get<std::vector<std::string>>(), testing::UnorderedElementsAreArray(known.begin(), known.end()));
}

}  // namespace
}  // namespace tilescope::tests
