// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of sweep files, under a validator that shares no code with the reader.

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/document.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

bool is_valid(const std::filesystem::path& file) {
  const json text = json::parse(text_of_file(source_path("experiments/sweep/schema.json")));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(Adapter(text), schema);
  base::Diagnostics diags;
  const auto document = base::read_yaml(text_of_file(file), diags.add_source(file.string()), diags);
  const json read = json::parse(base::to_json(document.value()));
  return valijson::Validator().validate(schema, Adapter(read), nullptr);
}

TEST(SweepSchema, TakesEveryExample) {
  std::size_t examples = 0;
  for (const auto& study : std::filesystem::directory_iterator(source_path("experiments/studies")))
    for (const std::string& name : names_in(study.path(), ".yaml")) {
      const std::filesystem::path file = study.path() / (name + ".yaml");
      EXPECT_TRUE(is_valid(file)) << file;
      ++examples;
    }
  EXPECT_GE(examples, 5U);
}

// Mistakes that only the reader can see: paths and values that the base does not have, expressions, and their effects.
const std::set<std::string> kWellFormed = {"escalation_cost",
                                           "escalation_no_number",
                                           "escalation_of_nothing",
                                           "followers",
                                           "formulas",
                                           "lacking",
                                           "negative_follower",
                                           "program_lines",
                                           "refused",
                                           "other_class",
                                           "too_many",
                                           "unmet",
                                           "unmet_together"};

TEST(SweepSchema, RefusesWhatIsMalformed) {
  for (const std::string& name : names_in(source_path("tests/error/sweep"), ".yaml"))
    EXPECT_EQ(is_valid(source_path("tests/error/sweep/" + name + ".yaml")), kWellFormed.contains(name)) << name;
}

}  // namespace
}  // namespace tilescope::tests
