// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of suite files and the reader know the same; tests/contract/schemas_test.py says what it takes.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/suites.h"
#include "base/dtype.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

TEST(SuiteSchema, IsThatOfEverySuiteThatComesAlong) {
  const auto known = api::suite_names();
  EXPECT_THAT(names_in(source_path("expr/suites"), ".yaml"),
              testing::UnorderedElementsAreArray(known.begin(), known.end()));
}

TEST(SuiteSchema, KnowsEveryDtype) {
  const auto schema = nlohmann::json::parse(text_of_file(api::suite_schema_path()));
  const auto known = base::dtype_names();
  EXPECT_THAT(schema["definitions"]["dtype"]["enum"].get<std::vector<std::string>>(),
              testing::UnorderedElementsAreArray(known.begin(), known.end()));
}

}  // namespace
}  // namespace tilescope::tests
