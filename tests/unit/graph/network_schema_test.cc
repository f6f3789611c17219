// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of networks names the keys that the reader takes; tests/contract/schemas_test.py says what it takes.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/network/network.h"
#include "graph/description.h"
#include "tests/support/expected.h"

namespace tilescope::tests {
namespace {

// The reader suggests a key for one that is nearly spelt so, and takes none that the schema does not have.
TEST(NetworkSchema, HasTheKeysOfTheReader) {
  const auto schema = nlohmann::json::parse(text_of_file(api::network_schema_path()));
  const auto expect_key = [](const std::string& text, const std::string& key) {
    base::Diagnostics diags;
    graph::described_network_of_text(text, "n.yaml", {}, diags);
    EXPECT_THAT(diags.sentences(), testing::Contains(testing::HasSubstr("did you mean '" + key + "'"))) << text;
  };
  for (const auto& [key, value] : schema["properties"].items()) expect_key(key + "x: 1\n", key);
  for (const auto& [key, value] : schema["properties"]["blocks"]["additionalProperties"]["properties"].items())
    expect_key("blocks: {b: {" + key + "x: 1}}\n", key);
}

}  // namespace
}  // namespace tilescope::tests
